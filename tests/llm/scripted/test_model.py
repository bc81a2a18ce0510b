"""The model that plays a file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.model import Chunk, FinishChunk, TextChunk, UsageChunk
from pygent_ls.errors import ModelError
from pygent_ls.llm.scripted.model import ScriptedModel, parse_script
from tests.llm.model_contract import (
    ANSWER_INPUTS,
    ANSWER_TEXT,
    check_text_is_streamed,
    check_tool_calls_come_whole,
    chunks_of,
    joined,
    reasons,
    request,
)


def scripted(folder: Path, *lines: dict[str, Any] | str) -> ScriptedModel:
    file = folder / "script.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return ScriptedModel(file)


async def texts_of(model: ScriptedModel, n_calls: int) -> list[str]:
    return [joined(await chunks_of(model)).text for _ in range(n_calls)]


async def listen(model: ScriptedModel, heard: list[Chunk]) -> None:
    async for chunk in model.stream(request()):
        heard.append(chunk)


# What it shares with every model


async def test_text_is_streamed_with_usage_and_reason(tmp_path: Path) -> None:
    await check_text_is_streamed(scripted(tmp_path, {"text": ANSWER_TEXT}))


async def test_tool_calls_come_whole(tmp_path: Path) -> None:
    calls = [{"name": "read_file", "input": given} for given in ANSWER_INPUTS]
    await check_tool_calls_come_whole(scripted(tmp_path, {"text": "I'll read.", "tool_calls": calls}))


# Its own format


async def test_answers_come_in_order_and_then_the_script_is_over(tmp_path: Path) -> None:
    model = scripted(tmp_path, {"text": "one"}, "", {"text": "two"}, "")

    await model.prepare()
    assert (model.ready, model.name) == (True, f"scripted:{tmp_path / 'script.jsonl'}")
    assert await texts_of(model, 2) == ["one", "two"]
    with pytest.raises(ModelError, match=r"script\.jsonl has no more answers: it has 2, and this is call 3"):
        await chunks_of(model)


async def test_a_loop_starts_again(tmp_path: Path) -> None:
    model = scripted(tmp_path, {"loop": True}, {"text": "one"}, {"text": "two"})

    assert await texts_of(model, 5) == ["one", "two", "one", "two", "one"]


async def test_each_model_has_its_own_place_in_the_file(tmp_path: Path) -> None:
    first = scripted(tmp_path, {"text": "one"}, {"text": "two"})
    second = ScriptedModel(first.path)

    assert await texts_of(first, 2) == ["one", "two"]
    assert await texts_of(second, 1) == ["one"]


async def test_everything_that_a_line_may_say_is_played(tmp_path: Path) -> None:
    line = {
        "text": "abcdefgh",
        "thinking": "hm",
        "finish_reason": "length",
        "usage": {"input_tokens": 7, "output_tokens": 3},
        "delay_s": 0,
        "chunk": 3,
    }

    chunks = await chunks_of(scripted(tmp_path, line))

    assert [chunk.text for chunk in chunks if isinstance(chunk, TextChunk)] == ["abc", "def", "gh"]
    answer = joined(chunks)
    assert (answer.thinking, reasons(chunks)) == ("hm", ["length"])
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cost_usd) == (7, 3, 0.0)


async def test_an_empty_line_object_is_an_empty_answer_with_usage(tmp_path: Path) -> None:
    chunks = await chunks_of(scripted(tmp_path, {}))

    assert [type(chunk) for chunk in chunks] == [UsageChunk, FinishChunk]
    assert joined(chunks).usage.total_tokens == 120


async def test_arguments_may_be_text_that_is_no_json(tmp_path: Path) -> None:
    model = scripted(tmp_path, {"tool_calls": [{"name": "f", "input": '{"x": '}]})

    call = joined(await chunks_of(model)).message("t", ()).tool_calls[0]
    assert (call.name, dict(call.input)) == ("f", {})
    assert "not valid JSON" in (call.problem or "")


async def test_a_null_reason_is_a_stream_that_breaks_off(tmp_path: Path) -> None:
    chunks = await chunks_of(scripted(tmp_path, {"text": "half", "finish_reason": None}))

    assert (joined(chunks).text, reasons(chunks)) == ("half", [])


async def test_an_error_comes_after_what_its_line_says(tmp_path: Path) -> None:
    failure = {"type": "rate_limit", "message": "slow down"}
    model = scripted(tmp_path, {"loop": True}, {"text": "half", "error": failure})

    for _ in range(2):
        said: list[Chunk] = []
        with pytest.raises(ModelError, match="slow down") as caught:
            await listen(model, said)
        assert (joined(said).text, caught.value.type, caught.value.retryable) == ("half", "rate_limit", True)


async def test_a_cancel_ends_a_delay(tmp_path: Path) -> None:
    model = scripted(tmp_path, {"text": "late", "delay_s": 3000}, {"text": "next"})
    await model.prepare()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await chunks_of(model)

    assert await texts_of(model, 1) == ["next"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{broken", "Expecting property name"),
        ("[1]", "the line must be an object, not list"),
        ('{"txt": "a"}', "'txt' is unknown; use one of"),
        ('{"loop": true}', "'loop' is unknown"),
        ('{"text": 3}', "text must be text, not int"),
        ('{"chunk": 0}', "chunk must be a whole number, 1 or more, not 0"),
        ('{"delay_s": -1}', "delay_s must be a number of seconds"),
        ('{"usage": {"input_tokens": true}}', "input_tokens must be a whole number"),
        ('{"usage": {"tokens": 1}}', "'tokens' is unknown in usage"),
        ('{"tool_calls": {"name": "f"}}', "tool_calls must be a list"),
        ('{"tool_calls": [{"input": {}}]}', "name must be text, not null"),
        ('{"tool_calls": [{"name": "f", "input": [1]}]}', "input must be an object, not list"),
        ('{"error": {"type": "odd"}}', "the type of an error must be one of rate_limit"),
        ("[" * 100_000, "recursion"),
    ],
)
async def test_a_bad_line_is_named_with_file_number_and_problem(tmp_path: Path, line: str, problem: str) -> None:
    model = scripted(tmp_path, {"text": "fine"}, line)

    with pytest.raises(ModelError) as caught:
        await model.prepare()

    assert f"{model.path}, line 2: " in caught.value.message
    assert problem in caught.value.message
    assert caught.value.type == "invalid_request"


async def test_a_script_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")

    for name in ("missing", "binary", "."):
        with pytest.raises(ModelError, match="cannot be read"):
            await ScriptedModel(tmp_path / name).prepare()


async def test_a_loop_without_answers_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no answer"):
        await scripted(tmp_path, {"loop": True}).prepare()


@given(st.text(max_size=200) | st.recursive(st.none() | st.integers(), st.lists, max_leaves=5).map(json.dumps))
def test_any_text_is_a_script_or_a_problem_that_names_the_file(text: str) -> None:
    try:
        said = ""
        n_answers = len(parse_script(text, "my file").answers)
    except ModelError as error:
        said = error.message
        n_answers = 0

    assert said.startswith("my file") or (not said and n_answers <= text.count("\n") + 1)


@given(st.lists(st.text(max_size=30), max_size=4), st.integers(1, 9))
async def test_any_texts_are_played_as_they_were_written(texts: list[str], size: int) -> None:
    script = parse_script("\n".join(json.dumps({"text": text, "chunk": size}) for text in texts), "f")

    assert await texts_of(ScriptedModel(Path("f"), script), len(texts)) == texts
