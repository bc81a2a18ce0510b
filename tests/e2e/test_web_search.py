"""Web search through the real daemon: offered if a service is configured, asked about, and read as data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.raw import raw_client
from tests.llm.answers import named_events
from tests.llm.anthropic.test_web_search import PAUSED, RESUMED, SONNET
from tests.model_server import Call, ModelServer, Step
from tests.workspace.web.test_search_services import KEY, served

SEARCH = Call(name="web_search", arguments={"query": "ripe plums", "count": 2})


def test_a_search_asks_and_its_results_are_marked_as_text_from_outside(folder: Path) -> None:
    with ModelServer([Step(calls=(SEARCH,)), Step(text="Found.")]) as model, served() as address:
        environment = {**model.env(), "PYGENT_MODEL": "openai/mock", "BRAVE_API_KEY": KEY}
        environment |= {"PYGENT_WEB_SEARCH_SERVICE": "brave", "PYGENT_WEB_SEARCH_URL": address}
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder)
            client.begin("turn", "pygent/turn/start", {"prompt": "search"})
            asked = client.until(lambda frame: frame.get("method") == "window/showMessageRequest")
            client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "Allow once"}})
            client.answer("turn")

    assert "Search the web for ripe plums" in asked["params"]["message"]
    result = model.requests[1].texts("tool")[-1]
    assert result.startswith("<untrusted-")
    assert "Plum 1\nhttps://plums.example/1\nripe plums…" in result
    assert "Plum 2" not in result
    assert KEY not in json.dumps(client.frames)


def test_the_provider_searches_instead_where_the_model_has_a_search(folder: Path) -> None:
    script = [named_events(*PAUSED), named_events(*RESUMED)]
    with ModelServer(script) as model, served() as address:
        environment = {"ANTHROPIC_API_KEY": "k", "PYGENT_API_BASE": model.url, "PYGENT_MODEL": SONNET}
        environment |= {"PYGENT_WEB_SEARCH_PROVIDER": "true", "PYGENT_WEB_SEARCH_SERVICE": "brave"}
        environment |= {"BRAVE_API_KEY": KEY, "PYGENT_WEB_SEARCH_URL": address}
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder)
            client.request("turn", "pygent/turn/start", {"prompt": "search", "partialResultToken": "events"})

    tools = [each["name"] for each in model.requests[0].body["tools"] if each["name"] == "web_search"]
    assert tools == ["web_search"]
    assert model.requests[0].body["tools"][-1]["type"] == "web_search_20250305"
    assert [part["type"] for part in model.requests[1].body["messages"][-1]["content"]] == ["text", "server_tool_use"]
    told = json.dumps(client.frames)
    assert "Search the web for ripe plums" in told
    assert "https://plums.example/1" in told
    assert "showMessageRequest" not in told


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, ""),
        ({"PYGENT_WEB_SEARCH_SERVICE": "brave"}, "the variable BRAVE_API_KEY is not set"),
        ({"PYGENT_WEB_SEARCH_SERVICE": "searxng"}, "set the address of your SearXNG instance"),
    ],
)
def test_it_is_not_offered_without_a_service_that_can_be_used(
    settings: dict[str, str], problem: str, folder: Path
) -> None:
    with ModelServer([Step(text="Hello.")]) as model:
        environment = {**model.env(), "PYGENT_MODEL": "openai/mock", **settings}
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder)
            client.request("turn", "pygent/turn/start", {"prompt": "hello", "partialResultToken": "events"})

    assert "web_search" not in [each["function"]["name"] for each in model.requests[0].body["tools"]]
    assert problem in json.dumps(client.frames)
