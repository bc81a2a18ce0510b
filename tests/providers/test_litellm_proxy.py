"""Whole conversations through a real LiteLLM proxy, in every dialect that it speaks, with strict servers behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass

import pytest

from pygent_ls.agent.events import LlmError
from pygent_ls.agent.messages import ThinkingBlock
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.llm.resources import ModelResources
from tests.providers.conversations import Prompt, Reply, Stage
from tests.providers.litellm_proxy import Deployment, Proxy, litellm_proxy
from tests.providers.servers.answers import Answer, Body
from tests.providers.servers.families import FAMILIES
from tests.providers.servers.server import StrictServer

CALL = Reply(n_thoughts=1, tools=("look",))
CALLS = Reply(n_thoughts=2, text=True, tools=("look", "change"))
SAY = Reply(n_thoughts=1, text=True)


@dataclass(slots=True)
class Upstreams:
    """The strict servers behind the proxy, and the conversation that is on."""

    openai: StrictServer
    anthropic: StrictServer
    proxy: Proxy
    stage: Stage | None = None


@pytest.fixture(scope="module")
def upstreams(tmp_path_factory: pytest.TempPathFactory) -> Generator[Upstreams]:
    """One proxy for all tests: it takes 10 s of a core to start."""
    folder = tmp_path_factory.mktemp("proxy")
    found: list[Upstreams] = []

    def openais(body: Body, _number: int) -> Answer:
        return next_answer("openai", body)

    def anthropics(body: Body, _number: int) -> Answer:
        return next_answer("anthropic", body)

    def next_answer(server: str, body: Body) -> Answer:
        conversation = found[0].stage
        assert conversation is not None
        return conversation.next_answer(server, body)

    with (
        StrictServer(FAMILIES["openai"], openais) as openai,
        StrictServer(FAMILIES["anthropic"], anthropics) as anthropic,
        litellm_proxy(folder, deployments(openai, anthropic)) as proxy,
    ):
        found.append(Upstreams(openai=openai, anthropic=anthropic, proxy=proxy))
        yield found[0]


def deployments(openai: StrictServer, anthropic: StrictServer) -> list[Deployment]:
    return [
        *(
            Deployment(name=name, model=f"openai/{name}", api_base=f"{openai.root}/v1")
            for name in ("gpt-4.1", "gpt-5.6")
        ),
        *(
            Deployment(name=name, model=f"anthropic/{name}", api_base=anthropic.root)
            for name in ("claude-sonnet-4-5", "claude-sonnet-5-5")
        ),
    ]


@pytest.fixture
async def conversation(upstreams: Upstreams) -> AsyncGenerator[Stage]:
    """A conversation with nothing in it, whose models are behind the proxy."""
    for server in (upstreams.openai, upstreams.anthropic):
        server.refusals.clear()
        server.losses.clear()
        server.http.requests.clear()
    proxy = upstreams.proxy
    resources = ModelResources()
    upstreams.stage = Stage(
        servers={"openai": upstreams.openai, "anthropic": upstreams.anthropic},
        resources=resources,
        addresses={"litellm_proxy": proxy.url, "anthropic": proxy.url, "openai": f"{proxy.url}/v1"},
        key=proxy.key,
    )
    yield upstreams.stage
    await resources.close()


async def two_prompts(conversation: Stage, model: str, *, thinking: int = 0) -> list[TurnResult]:
    """Two turns with tools; no server refuses a request of theirs."""
    prompts = [
        Prompt(model=model, replies=(CALL, CALLS, SAY), thinking=thinking),
        Prompt(model=model, replies=(CALLS, SAY), thinking=thinking),
    ]
    results = [await conversation.take(each) for each in prompts]
    for server in conversation.servers.values():
        refused = [str(each) for each in server.refusals if each.broken.about == "history"]
        assert refused == []
    assert [each.stop_reason for each in results] == ["end_turn", "end_turn"], results[0].error or results[1].error
    assert len(conversation.history) == 10
    return results


PATHS = {
    "litellm_proxy/gpt-4.1": "/chat/completions",
    "litellm_proxy/claude-sonnet-4-5": "/messages",
    "litellm_proxy/claude-sonnet-5-5": "/messages",
    "anthropic/claude-sonnet-4-5": "/messages",
    "anthropic/claude-sonnet-5-5": "/messages",
    "openai/gpt-5.6": "/responses",
}
"""Models by the names that we call them, and what the proxy asks its upstream for."""


@pytest.mark.parametrize("model", PATHS)
async def test_tools_run_in_two_turns_through_the_proxy(conversation: Stage, model: str) -> None:
    results = await two_prompts(conversation, model)
    assert all(each.usage.input_tokens >= 200 and each.usage.output_tokens >= 40 for each in results)
    paths = {each.path for server in conversation.servers.values() for each in server.http.requests}
    assert all(PATHS[model] in path for path in paths), paths


@pytest.mark.parametrize(
    "model",
    [
        "litellm_proxy/claude-sonnet-4-5",
        "litellm_proxy/claude-sonnet-5-5",
        "anthropic/claude-sonnet-4-5",
        "anthropic/claude-sonnet-5-5",
        "openai/gpt-5.6",
    ],
)
async def test_thoughts_come_through_the_proxy_and_go_back(conversation: Stage, model: str) -> None:
    await two_prompts(conversation, model, thinking=2_000)
    thoughts = [block for each in conversation.history for block in each.blocks if isinstance(block, ThinkingBlock)]
    assert len(thoughts) >= 5
    for server in conversation.servers.values():
        assert server.losses == []


@pytest.mark.parametrize("model", ["litellm_proxy/gpt-4.1", "anthropic/claude-sonnet-4-5", "openai/gpt-5.6"])
async def test_a_provider_that_fails_behind_the_proxy_is_asked_again(conversation: Stage, model: str) -> None:
    result = await conversation.take(Prompt(model=model, replies=(CALL, Reply(status=529), SAY)))
    assert result.stop_reason == "end_turn", result.error
    (error,) = conversation.rig.events.of(LlmError)
    assert error.will_retry
    assert error.error_type in ("overloaded", "server")  # the proxy makes 500 of Anthropic's 529


@pytest.mark.parametrize("model", ["litellm_proxy/gone", "anthropic/gone", "openai/gpt-9"])
async def test_a_model_that_the_proxy_does_not_have_is_named_in_the_error(conversation: Stage, model: str) -> None:
    result = await conversation.take(Prompt(model=model, replies=()))
    assert result.stop_reason == "error"
    assert result.error is not None
    assert model.partition("/")[2] in result.error.message
    assert conversation.key not in result.error.message


async def test_a_session_changes_its_model_behind_the_proxy(conversation: Stage) -> None:
    for model in ("litellm_proxy/gpt-4.1", "anthropic/claude-sonnet-4-5", "openai/gpt-5.6", "litellm_proxy/gpt-4.1"):
        result = await conversation.take(Prompt(model=model, replies=(CALLS, CALL, SAY), thinking=2_000))
        assert result.stop_reason == "end_turn", result.error
    refused = [str(each) for server in conversation.servers.values() for each in server.refusals]
    assert [each for each in refused if "temperature" not in each] == []
