"""Models that refuse tools over HTTP: their tools become text at once, and the user is told once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

import pytest

from pygent_ls.agent.events import LlmError, Notice, Text
from pygent_ls.agent.ports.model import Model, NoticeChunk
from pygent_ls.errors import ModelError
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_turn_model
from pygent_ls.llm.text_tools.model import TextToolCallsSetting
from tests.agent.abilities import saying
from tests.agent.turns import check_turn, new_turn
from tests.fakes import bounded, make_rig
from tests.llm.loopback import KEY
from tests.llm.model_contract import READ_FILE, chunks_of, joined, request
from tests.model_server import ModelServer, Received, Step

CALL = '```tool\n{"name": "read_file", "input": {"path": "a.py"}}\n```'

OLLAMA = "registry.ollama.ai/library/gemma3:4b does not support tools"
VLLM = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
LLAMA = "tools param requires --jinja flag"


@pytest.fixture
async def resources() -> AsyncGenerator[ModelResources]:
    """Client of one process, whose connections are closed at its end."""
    own = ModelResources()
    yield own
    await own.close()


def toolless(message: str, status: int = 400, answer: str = CALL) -> Callable[[Received, int], Step]:
    """A server that takes no tools."""
    return lambda asked, _: Step(status=status, error=message) if "tools" in asked.body else Step(text=answer)


def model_at(
    server: ModelServer, resources: ModelResources, name: str, setting: TextToolCallsSetting = "auto"
) -> Model:
    return make_turn_model(name, Endpoint(api_base=server.url, api_key=KEY, text_tool_calls=setting), resources)


@pytest.mark.parametrize(
    ("name", "message", "status"),
    [
        ("ollama_chat/gemma3:4b", OLLAMA, 400),
        ("hosted_vllm/m", VLLM, 400),
        ("llamafile/m", LLAMA, 500),
        ("openrouter/m", "No endpoints found that support tool use.", 404),
        ("litellm/openai/m", OLLAMA, 400),
    ],
)
async def test_the_same_call_is_repeated_with_its_tools_as_text(
    resources: ModelResources, name: str, message: str, status: int
) -> None:
    async with ModelServer(toolless(message, status)) as server:
        model = model_at(server, resources, name)
        chunks = await chunks_of(model, request(tools=[READ_FILE]))

        calls = joined(chunks).message("t", ()).tool_calls
        assert [(call.name, dict(call.input)) for call in calls] == [("read_file", {"path": "a.py"})]
        (notice,) = (chunk for chunk in chunks if isinstance(chunk, NoticeChunk))
        assert model.name in notice.content
        assert ["tools" in each.body for each in server.requests] == [True, False]
        assert "read_file" in server.requests[1].texts("system")[0]
        assert model.convert_tools([READ_FILE]) == ()


async def test_what_was_learned_holds_for_the_process(resources: ModelResources) -> None:
    async with ModelServer(toolless(OLLAMA)) as server:
        await chunks_of(model_at(server, resources, "ollama_chat/m"), request(tools=[READ_FILE]))
        chunks = await chunks_of(model_at(server, resources, "ollama_chat/m"), request(tools=[READ_FILE]))

        assert not [chunk for chunk in chunks if isinstance(chunk, NoticeChunk)]
        assert ["tools" in each.body for each in server.requests] == [True, False, False]
        await chunks_of(model_at(server, resources, "ollama_chat/other"), request(tools=[READ_FILE]))
        assert ["tools" in each.body for each in server.requests[3:]] == [True, False]


@pytest.mark.parametrize("name", ["ollama_chat/m", "litellm/openai/m"])
async def test_where_text_is_switched_off_the_error_names_the_setting(resources: ModelResources, name: str) -> None:
    async with ModelServer(toolless(OLLAMA)) as server:
        with pytest.raises(ModelError, match="Set `text_tool_calls` to `auto`") as raised:
            await chunks_of(model_at(server, resources, name, "off"), request(tools=[READ_FILE]))

        assert not raised.value.retryable
        assert len(server.requests) == 1


async def test_a_turn_goes_on_and_the_user_is_told_once(resources: ModelResources) -> None:
    def script(asked: Received, number: int) -> Step:
        if "tools" in asked.body:
            return Step(status=400, error=OLLAMA)
        return Step(text='```tool\n{"name": "look", "input": {}}\n```' if number == 1 else "I have seen it.")

    rig = make_rig(saying("look", "seen"))
    async with ModelServer(script) as server:
        turn = new_turn(rig, model_at(server, resources, "ollama_chat/m"))
        result = await bounded(turn.run())
        check_turn(turn, result, rig.events.stamped)

    assert (result.stop_reason, result.text) == ("end_turn", "I have seen it.")
    assert [each.content for each in rig.events.of(Notice)] == [
        "ollama_chat/m does not support tools. From now on, tools are offered and called as text."
    ]
    assert not rig.events.of(LlmError)
    assert [each.content for each in rig.events.of(Text)] == ["I have seen it."]
    assert len(server.requests) == 3


async def test_a_turn_that_does_not_stream_tells_it_too(resources: ModelResources) -> None:
    rig = make_rig(saying("look", "seen"))
    async with ModelServer(toolless(OLLAMA, answer="Hi.")) as server:
        turn = new_turn(rig, model_at(server, resources, "ollama_chat/m"), stream=False)
        await bounded(turn.run())

    assert len(rig.events.of(Notice)) == 1


async def test_another_refusal_of_a_request_with_tools_is_an_error(resources: ModelResources) -> None:
    async with ModelServer([Step(status=400, error="Invalid schema for function 'read_file'")]) as server:
        with pytest.raises(ModelError, match="Invalid schema"):
            await chunks_of(model_at(server, resources, "ollama_chat/m"), request(tools=[READ_FILE]))

        assert len(server.requests) == 1
