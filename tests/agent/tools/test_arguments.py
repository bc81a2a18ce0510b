"""Arguments that the model wrote as JSON, or nearly so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.events import ToolResult
from pygent_ls.agent.messages import Message
from pygent_ls.agent.tools.arguments import MAX_NESTING, MAX_QUOTED_CHARS, parse_arguments, string_state, with_schema
from tests.agent.abilities import edit_file, read_file
from tests.agent.turns import run_turn
from tests.fakes import Call, FakeModel, make_rig, say

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(max_size=8)
json_values = leaves | texts | st.lists(leaves | texts, max_size=3) | st.dictionaries(texts, leaves | texts, max_size=2)
objects = st.dictionaries(texts, json_values, min_size=1, max_size=3)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '"path"',
        "null",
        "7",
        "{broken",
        '{"a": 1} {"b": 2}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": "\\ud83d"}',
        '{"\\udc00": 1}',
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"a": ' + "[" * (MAX_NESTING + 1) + "]" * (MAX_NESTING + 1) + "}",
        '{"a": ' + "9" * 5_000 + "}",
    ],
)
def test_arguments_that_could_not_be_sent_back_are_a_problem(text: str) -> None:
    given_arguments, problem = parse_arguments(text)
    assert given_arguments == {}
    assert problem is not None
    assert text[:5] in problem
    assert len(problem) < MAX_QUOTED_CHARS + 300


def test_no_arguments_at_all_are_an_empty_object() -> None:
    assert parse_arguments("") == ({}, None)
    assert parse_arguments(" \n") == ({}, None)
    assert parse_arguments("{}") == ({}, None)


@given(st.text())
def test_whatever_the_arguments_are_the_history_can_be_sent_again(text: str) -> None:
    given_arguments, problem = parse_arguments(text)
    json.dumps(given_arguments, ensure_ascii=False, allow_nan=False).encode()
    assert problem is None or given_arguments == {}


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"path": "a, }", "lines": [1, 2]}\n```',
        '```\n{"path": "a, }", "lines": [1, 2]}',
        '  ````tool\n{"path": "a, }", "lines": [1, 2]}\n````\n',
        '{"path": "a, }", "lines": [1, 2,],}',
        '{"path": "a, }", "lines": [1, 2 , ] , },',
        '```json\n{"path": "a, }", "lines": [1, 2],\n}\n```',
    ],
)
@pytest.mark.parametrize("may_close", [True, False])
def test_fences_and_trailing_commas_are_mended_for_every_tool(text: str, may_close: bool) -> None:
    assert parse_arguments(text, may_close=may_close) == ({"path": "a, }", "lines": [1, 2]}, None)


def test_line_breaks_and_tabs_in_a_string_are_taken_as_they_are() -> None:
    assert parse_arguments('{"content": "a\n\tb"}') == ({"content": "a\n\tb"}, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"path": "a.py"', {"path": "a.py"}),
        ('{"path": "a.py", ', {"path": "a.py"}),
        ('{"lines": [{"from": 1}, {"from": 2', {"lines": [{"from": 1}, {"from": 2}]}),
        ('```json\n{"path": "a.py"\n```', {"path": "a.py"}),
        ('{"path": "\\"{["', {"path": '"{['}),
    ],
)
def test_open_brackets_are_closed_for_reading_tools_only(text: str, value: dict[str, Any]) -> None:
    assert parse_arguments(text, may_close=True) == (value, None)
    assert parse_arguments(text)[1] is not None


@pytest.mark.parametrize("text", ['{"path": "a.p', '{"path": "a.py\\"', '{"path', '{"path":', '{"path": tru', "{,"])
def test_nothing_is_made_up(text: str) -> None:
    given_arguments, problem = parse_arguments(text, may_close=True)
    assert given_arguments == {} or text == "{,"
    assert problem is not None or text == "{,"


def test_the_error_quotes_what_came_and_what_should_have() -> None:
    _, problem = parse_arguments('{"path": "a.p')
    assert problem == (
        "The arguments are not valid JSON (Unterminated string starting at: line 1 column 10 (char 9); the "
        'arguments are incomplete): {"path": "a.p\nCall the tool again with one complete JSON object.'
    )
    assert with_schema(problem, {"type": "object"}).endswith('\nArgument schema: {"type": "object"}')


@given(objects, st.booleans(), st.sampled_from([None, 1]))
def test_valid_json_is_never_changed(value: dict[str, Any], may_close: bool, indent: int | None) -> None:
    assert parse_arguments(json.dumps(value, indent=indent), may_close=may_close) == (value, None)


@given(objects, st.data())
def test_an_object_that_is_not_whole_never_reaches_a_tool_that_writes(
    value: dict[str, Any], data: st.DataObject
) -> None:
    whole = json.dumps(value)
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    given_arguments, problem = parse_arguments(cut)
    assert given_arguments == {}
    assert problem is not None


@given(objects, st.data())
def test_closing_invents_no_text(value: dict[str, Any], data: st.DataObject) -> None:
    whole = json.dumps(value)
    cut = whole[: data.draw(st.integers(1, len(whole) - 1))]
    given_arguments, _ = parse_arguments(cut, may_close=True)
    assert texts_in(given_arguments) <= texts_in(value)


def texts_in(value: Any) -> set[str]:
    """Every string in it, the keys too."""
    match value:
        case str():
            return {value}
        case dict():
            return set().union(*(texts_in(key) | texts_in(each) for key, each in value.items()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        case list():
            return set().union(*(texts_in(each) for each in value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        case _:
            return set()


@given(objects, st.booleans())
def test_commas_at_the_ends_change_nothing(value: dict[str, Any], fenced: bool) -> None:
    text = "".join(with_commas(value))
    assert parse_arguments(f"```json\n{text}\n```" if fenced else text) == (value, None)


def with_commas(value: Any) -> list[str]:
    """As JSON, with a comma after the last part of everything."""
    match value:
        case dict() if value:
            parts = (f"{json.dumps(key)}: {''.join(with_commas(each))}" for key, each in value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return ["{", ", ".join(parts), " , }"]
        case list() if value:
            return ["[", ", ".join("".join(with_commas(each)) for each in value), ",\n]"]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        case _:
            return [json.dumps(value)]


@given(st.text())
def test_whatever_comes_mending_ends(text: str) -> None:
    parse_arguments(text, may_close=True)


async def test_what_was_mended_stands_in_the_history_and_what_was_not_as_an_empty_object_with_the_schema() -> None:
    rig = make_rig(read_file, edit_file, files={"a.py": "plum"})
    model = FakeModel(
        [
            say("", Call(name="read_file", arguments='```json\n{"path": "a.py"', id="r")),
            say("", Call(name="edit_file", arguments='{"path": "a.py"', id="e")),
            say("ok"),
        ]
    )
    history: list[Message] = []

    await run_turn(rig, model, history)

    assert [(call.id, call.input) for message in history for call in message.tool_calls] == [
        ("r", {"path": "a.py"}),
        ("e", {}),
    ]
    read, edited = rig.events.of(ToolResult)
    assert (read.content, read.is_error) == ("plum", False)
    assert edited.is_error
    assert "Argument schema: {" in edited.content
    assert (rig.workspace.text("a.py"), rig.approver.requests) == ("plum", [])


@given(st.text('"\\{}:a\n'), st.text('"\\{}:a\n'))
def test_strings_are_followed_in_pieces_as_in_one(first: str, second: str) -> None:
    assert string_state(second, string_state(first)) == string_state(first + second)
