"""Web search that OpenAI runs through the Responses API: its items are shown as searches, and go back with the
reasoning that they belong to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from pygent_ls.agent.events import ToolCall, ToolResult
from pygent_ls.agent.messages import Message
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from pygent_ls.tools.web import web_search
from tests.agent.turns import check_turn, new_turn
from tests.fakes import Rig, bounded, make_rig
from tests.llm.answers import events, whole
from tests.llm.loopback import KEY
from tests.model_server import ModelServer, Received, Step
from tests.providers.official_types import problems

MODEL = "openai/gpt-5.6"
USAGE = {"input_tokens": 100, "output_tokens": 20}

SEARCH: dict[str, Any] = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {
        "type": "search",
        "query": "ripe plums",
        "queries": ["ripe plums"],
        "sources": [{"type": "url", "url": "https://plums.example/1"}, {"type": "api", "name": "oai-weather"}],
    },
}
PAGE = {
    "type": "web_search_call",
    "id": "ws_2",
    "status": "completed",
    "action": {"type": "open_page", "url": "https://plums.example/1"},
}
FAILED = {"type": "web_search_call", "id": "ws_3", "status": "failed", "action": {"type": "search", "query": "plums"}}


def reasoning(name: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": name, "summary": [], "encrypted_content": f"sealed {name}"}


MESSAGE: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "In August.", "annotations": []}],
}
ITEMS: Sequence[dict[str, Any]] = [
    reasoning("rs_1"),
    SEARCH,
    reasoning("rs_2"),
    PAGE,
    reasoning("rs_3"),
    FAILED,
    reasoning("rs_4"),
    MESSAGE,
]


def response(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": "completed", "error": None, "output": items, "usage": USAGE}


def streamed(items: Sequence[dict[str, Any]]) -> Step:
    """The items as events, with those by which a search tells its progress."""
    pieces: list[object] = []
    for index, item in enumerate(items):
        at = {"output_index": index}
        begun = {name: value for name, value in item.items() if name in ("type", "id", "role")}
        pieces.append({"type": "response.output_item.added", **at, "item": {**begun, "status": "in_progress"}})
        if item["type"] == "web_search_call":
            for state in ("in_progress", "searching", "completed"):
                pieces.append({"type": f"response.web_search_call.{state}", **at, "item_id": item["id"]})
        pieces.append({"type": "response.output_item.done", **at, "item": item})
    return events(*pieces, {"type": "response.completed", "response": response(items)})


OK = streamed([reasoning("rs_9"), MESSAGE])


@pytest.fixture
async def resources() -> AsyncGenerator[ModelResources]:
    own = ModelResources()
    yield own
    await own.close()


async def asked(
    resources: ModelResources, script: Sequence[Step], n_turns: int = 1
) -> tuple[Rig, Sequence[Received], list[Message]]:
    """Turns of one session; its rig, the requests, and the history."""
    rig = make_rig(web_search)
    history: list[Message] = []
    async with ModelServer(script) as server:
        model = make_model(MODEL, Endpoint(api_base=server.url, api_key=KEY), resources)
        for number in range(n_turns):
            turn = new_turn(rig, model, history, turn_id=f"turn-{number}", provider_search=True)
            n_before = len(rig.events.stamped)
            check_turn(turn, await bounded(turn.run()), rig.events.stamped[n_before:])
    return rig, server.requests, history


@pytest.mark.parametrize("step", [streamed(ITEMS), whole(response(ITEMS))], ids=["streamed", "whole"])
async def test_searches_go_back_with_their_reasoning_and_without_sources_of_other_kinds(
    resources: ModelResources, step: Step
) -> None:
    _, (first, second), _ = await asked(resources, [step, OK], 2)

    assert first.body["tools"] == [{"type": "web_search"}]
    assert first.body["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]
    sent = second.body["input"][1:-1]
    pages = [{"type": "url", "url": "https://plums.example/1"}]
    assert sent[:-1] == [
        reasoning("rs_1"),
        {**SEARCH, "action": {**SEARCH["action"], "sources": pages}},
        reasoning("rs_2"),
        PAGE,
        reasoning("rs_3"),
        FAILED,
        reasoning("rs_4"),
    ]
    assert sent[-1]["content"] == "In August."
    for request in (first, second):
        assert problems("openai", "responses", request.body) == []


async def test_the_user_sees_each_search_each_page_and_each_failure(resources: ModelResources) -> None:
    rig, *_ = await asked(resources, [streamed(ITEMS)])

    assert [each.title for each in rig.events.of(ToolCall)] == [
        "Search the web for ripe plums",
        "Read https://plums.example/1",
        "Search the web for plums",
    ]
    assert [(each.content, each.is_error) for each in rig.events.of(ToolResult)] == [
        ("https://plums.example/1\noai-weather", False),
        ("Done by the provider.", False),
        ("The provider's search failed.", True),
    ]


@pytest.mark.parametrize(
    "refusal",
    [
        "Hosted tool 'web_search' is not supported with gpt-5.6.",
        "The following tools cannot be used with reasoning.effort 'minimal': web_search.",
    ],
)
async def test_a_refused_search_is_left_out_from_then_on(resources: ModelResources, refusal: str) -> None:
    refused = Step(status=400, error=refusal, error_type="invalid_request_error")
    _, requests, _ = await asked(resources, [refused, OK, OK], 2)

    assert [bool(request.body.get("tools")) for request in requests] == [True, False, False]


async def test_a_server_without_the_responses_api_is_offered_no_search(resources: ModelResources) -> None:
    missing = Step(status=404, error="Not found", error_type="invalid_request_error")
    _, requests, _ = await asked(resources, [missing, Step(text="Hm."), Step(text="Hm.")], 2)

    assert [request.path for request in requests] == ["/v1/responses", "/v1/chat/completions", "/v1/chat/completions"]
    assert not any(request.body.get("tools") for request in requests[1:])
