"""Tools for models that have no calls of their own."""

from __future__ import annotations

import pytest

from pygent_ls.agent.messages import (
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    user_message,
)
from pygent_ls.agent.ports.model import (
    FinishChunk,
    ModelFacts,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)
from pygent_ls.errors import ModelError
from pygent_ls.llm.text_tools.model import TextToolCalls, TextToolCallsSetting, messages_as_text, tools_as_text
from tests.agent.abilities import read_file
from tests.agent.turns import run_turn
from tests.fakes import FakeModel, Gate, Step, bounded, make_rig
from tests.llm.model_contract import READ_FILE, chunks_of, joined, request

CALL = '```tool\n{"name": "read_file", "input": {"path": "a.py"}}\n```'


def model_of(
    *answers: list[Step], setting: TextToolCallsSetting = "on", has_native_tools: bool = False
) -> TextToolCalls:
    inner = FakeModel(answers)
    inner.facts = ModelFacts(has_native_tools=has_native_tools)
    return TextToolCalls(inner, setting)


def inner_of(model: TextToolCalls) -> FakeModel:
    assert isinstance(model.inner, FakeModel)
    return model.inner


def said(*texts: str, finish: str = "stop") -> list[Step]:
    usage = UsageChunk(usage=Usage(input_tokens=7, output_tokens=3))
    return [*(TextChunk(text=text) for text in texts), usage, FinishChunk(reason=finish)]


async def test_a_block_in_the_text_becomes_a_call_and_the_finish_says_so() -> None:
    model = model_of(said("I'll look.\n``", "`tool\n", CALL[8:]))

    chunks = await chunks_of(model)

    calls = [chunk for chunk in chunks if isinstance(chunk, ToolCallChunk)]
    assert [(call.index, call.name, call.arguments) for call in calls] == [(0, "read_file", '{"path": "a.py"}')]
    assert [chunk for chunk in chunks if not isinstance(chunk, ToolCallChunk)] == [
        TextChunk(text="I'll look.\n"),
        UsageChunk(usage=Usage(input_tokens=7, output_tokens=3)),
        FinishChunk(reason="tool_calls"),
    ]


async def test_the_ids_of_all_answers_differ() -> None:
    model = model_of(said(f"{CALL}\n{CALL}"), said(CALL))
    ids = [call.id for _ in range(2) for call in joined(await chunks_of(model)).message("t", ()).tool_calls]
    assert len(set(ids)) == 3


async def test_tools_stand_in_the_system_prompt_and_nowhere_else() -> None:
    model = model_of(said("hi"))

    await chunks_of(model)

    (asked,) = inner_of(model).requests
    assert asked.tools == ()
    assert asked.system == f"You are a test.\n\n{tools_as_text([READ_FILE])}"
    assert "```tool\n" in asked.system
    assert '## read_file\nRead a file.\nInput, as JSON Schema: {"type":"object"' in asked.system
    assert model.convert_tools([READ_FILE]) == ()


async def test_calls_and_results_of_the_history_are_text() -> None:
    history = (
        user_message("What does it say?"),
        Message(
            role="assistant",
            content=(
                ThinkingBlock(thinking="hm"),
                TextBlock(text="I'll look."),
                ToolUseBlock(id="1", name="read_file", input={"path": "a.py"}),
                ToolUseBlock(id="2", name="git_log", input={}),
            ),
        ),
        user_message(
            (
                ToolResultBlock(tool_use_id="1", content="plum"),
                ToolResultBlock(tool_use_id="2", content="Error: no repository", is_error=True),
                TextBlock(text="Hurry."),
            )
        ),
    )

    told = messages_as_text(history)

    assert told[0] is history[0]
    assert [message.content for message in told[1:]] == [
        (
            ThinkingBlock(thinking="hm"),
            TextBlock(text="I'll look."),
            TextBlock(text=f"\n\n{CALL}"),
            TextBlock(text='\n\n```tool\n{"name": "git_log", "input": {}}\n```'),
        ),
        (
            TextBlock(text="Result of read_file:\nplum"),
            TextBlock(text="Error of git_log:\nError: no repository"),
            TextBlock(text="Hurry."),
        ),
    ]


@pytest.mark.parametrize(
    ("setting", "has_native_tools", "as_text"),
    [("auto", True, False), ("auto", False, True), ("on", True, True), ("off", False, False)],
)
async def test_the_setting_and_what_is_known_of_the_model_decide(
    setting: TextToolCallsSetting, has_native_tools: bool, as_text: bool
) -> None:
    model = model_of(said(CALL), setting=setting, has_native_tools=has_native_tools)
    chunks = await chunks_of(model)
    assert joined(chunks).has_calls is as_text
    assert (inner_of(model).requests[0].tools == ()) is as_text


async def test_without_tools_a_block_is_text() -> None:
    model = model_of(said(CALL))
    answer = joined(await chunks_of(model, request(tools=())))
    assert (answer.text, answer.has_calls) == (CALL, False)


@pytest.mark.parametrize(("finish", "passed_on"), [("length", "length"), ("refusal", "refusal"), ("eos", "tool_calls")])
async def test_only_an_ordinary_end_is_a_finish_with_calls(finish: str, passed_on: str) -> None:
    chunks = await chunks_of(model_of(said(CALL, finish=finish)))
    assert chunks[-1] == FinishChunk(reason=passed_on)
    assert joined(chunks).has_calls


async def test_an_answer_without_calls_passes_as_it_is() -> None:
    steps = [ThinkingChunk(thinking="hm"), TextChunk(text="It is"), TextChunk(text=" `plum`."), *said("")[1:]]
    assert await chunks_of(model_of(list(steps))) == steps


async def test_text_is_passed_on_before_the_answer_is_over() -> None:
    gate = Gate()
    stream = model_of([TextChunk(text="Hel"), gate, *said("lo")]).stream(request())
    assert await bounded(anext(stream)) == TextChunk(text="Hel")
    gate.open()
    await stream.aclose()


async def test_leaving_the_stream_closes_the_inner_one() -> None:
    model = model_of([TextChunk(text="Hel"), Gate()])
    stream = model.stream(request())
    await bounded(anext(stream))
    await stream.aclose()
    assert inner_of(model).open_streams == 0


async def test_a_stream_that_breaks_off_keeps_what_was_said() -> None:
    chunks = await chunks_of(model_of([TextChunk(text="a\n```to")]))
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == "a\n```to"
    assert not any(isinstance(chunk, FinishChunk) for chunk in chunks)


async def test_an_error_of_the_inner_model_is_passed_on() -> None:
    with pytest.raises(ModelError, match="slow down"):
        await chunks_of(model_of([TextChunk(text="a"), ModelError("slow down", type="rate_limit")]))


async def test_a_whole_answer_is_asked_for_without_calls_in_the_history() -> None:
    model = model_of(said("A summary."))
    call = Message(role="assistant", content=(ToolUseBlock(id="1", name="read_file", input={"path": "a.py"}),))
    completion = await model.complete(request(user_message("x"), call, tools=()))
    assert completion.text == "A summary."
    assert [message.tool_calls for message in inner_of(model).requests[0].messages] == [(), ()]


async def test_a_whole_turn_runs_on_text_alone() -> None:
    rig = make_rig(read_file, files={"a.py": "plum"})
    model = model_of(said(f"I'll look.\n{CALL}\n"), said("It says plum."), setting="auto")
    history: list[Message] = []

    result = await run_turn(rig, model, history)

    assert (result.stop_reason, result.text, result.iterations) == ("end_turn", "It says plum.", 2)
    (call,) = history[1].tool_calls
    assert (call.name, call.input, history[1].text) == ("read_file", {"path": "a.py"}, "I'll look.\n")
    asked = inner_of(model).requests[1].messages
    assert asked[1].text == f"I'll look.\n\n\n{CALL}"
    assert asked[2].text.startswith("Result of read_file:\n")
    assert "plum" in asked[2].text
