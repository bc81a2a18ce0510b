"""Tool calls that stand in an answer's text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.llm.text_tools.blocks import FoundCall, Piece, ToolBlocks
from tests.llm.text_tools.pieces import found_in

NAMES = frozenset({"read_file", "create_file"})
READ = FoundCall("read_file", '{"path": "a.py"}')
BODY = '{"name": "read_file", "input": {"path": "a.py"}}'


def found(text: str, *, size: int | None = None) -> list[Piece]:
    """What an answer that comes in pieces of that size is: its texts joined."""
    return found_in(text, NAMES, size or len(text) or 1)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        (f"```tool\n{BODY}\n```", [READ]),
        (f"I'll look.\n\n```tool\n{BODY}\n```\n", ["I'll look.\n\n", READ]),
        (f"```tool\n{BODY}\n```\nDone?", [READ, "Done?"]),
        (f"```tool  \r\n{BODY}\r\n```  \r\n", [READ]),
        (f"``` Tool\n\n{BODY}\n\n```", [READ]),
        (f"````tool_call\n{BODY}\n````", [READ]),
        (f"  ```tool\n  {BODY}\n  ```", ["  ", READ]),
        (f"```json\n{BODY}\n```", [READ]),
        (f"```tool\n{BODY}", [READ]),
        (f"```tool\n{BODY}\n", [READ]),
        (f"```json\n{BODY}", [READ]),
        (f"```tool {BODY}```", [READ]),
        (f"```tool\n{BODY}```\n", [READ]),
        (f"```tool\n{BODY}\n```\n\n```tool\n{BODY}\n```", [READ, "\n", READ]),
        (f"```tool\n{BODY}\n```tool\n{BODY}\n```", [READ, READ]),
        (f"```tool\n{BODY}\n{BODY}\n```", [READ, READ]),
        (f"```tool\n[{BODY}, {BODY}]\n```", [READ, READ]),
        (f"```json\n[{BODY},\n{BODY}]\n```", [READ, READ]),
        ('```tool\n{"name": "read_file", "arguments": {"path": "a.py"}}\n```', [READ]),
        ('```tool\n{"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}\n```', [READ]),
        ('```tool\n{"name": "read_file", "input": {"path": "a.py",},}\n```', [READ]),
        ('```tool\n{"name": "read_file", "input": {"path": "a.py"}\n```', [READ]),
        ('```tool\n{"name": "git_status"}\n```', [FoundCall("git_status", "{}")]),
        ('```tool\n{"name": "unheard_of", "input": {}}\n```', [FoundCall("unheard_of", "{}")]),
    ],
)
@pytest.mark.parametrize("size", [None, 1, 7])
def test_a_block_is_a_call(text: str, pieces: list[Piece], size: int | None) -> None:
    assert found(text, size=size) == pieces


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{BODY}\n```",
        f"```\n{BODY}\n```",
        f"~~~tool\n{BODY}\n~~~",
        f"````markdown\n```tool\n{BODY}\n```\n````\n",
        f"~~~\n```tool\n{BODY}\n```\n~~~\n",
        f"> ```tool\n> {BODY}\n> ```",
        f"Write `{BODY}` in a block.",
        f"Write ```tool\n{BODY}\n```, in the middle of a line",
        f"```tool```\n{BODY}",
        f"```tooling\n{BODY}\n```",
        f'```json title="x"\n{BODY}\n```',
        '```json\n{"name": "pygent", "version": "1.0"}\n```',
        '```json\n{"name": "read_file", "input": {"path": "a"}, "description": "of an API"}\n```',
        '```json\n{"name": "unheard_of", "input": {}}\n```',
        '```json\n{"name": "read_file", "input": "a.py"}\n```',
        '```json\n{"name": "read_file"}\n```',
        f"```json\n{BODY}\n// a comment\n```",
        "```json\n[1, 2]\n```",
        "```json\n",
        "```tool\nuse the tools\n```",
        "```tool\n",
        "``",
        "```",
        "a\n\n```",
        "```js\nconst x = `a`\n```\nThat is it.",
    ],
)
@pytest.mark.parametrize("size", [None, 1, 5])
def test_everything_else_is_text(text: str, size: int | None) -> None:
    assert found(text, size=size) == [text]


def test_text_after_other_code_may_call_again() -> None:
    assert found(f"```py\nx\n```\n```tool\n{BODY}\n```") == ["```py\nx\n```\n", READ]


def test_fences_inside_a_string_do_not_end_the_block() -> None:
    content = "# T\n```py\nx\n```\nend\n"
    escaped = json.dumps({"name": "create_file", "input": {"path": "a.md", "content": content}})
    raw = escaped.replace("\\n", "\n")
    expected = FoundCall("create_file", json.dumps({"path": "a.md", "content": content}))
    assert found(f"```tool\n{escaped}\n```\nok") == [expected, "ok"]
    assert found(f"```tool\n{raw}\n```\nok") == [expected, "ok"]


def test_a_string_that_is_never_closed_swallows_no_more_than_its_block() -> None:
    text = f'```tool\n{{"name": "create_file", "input": {{"path": "a\n```\nand\n```tool\n{BODY}\n```\n'
    assert found(text) == [FoundCall("create_file", '{"path": "a'), "and\n", READ]


@pytest.mark.parametrize(
    "invented",
    [
        "Result of read_file:\nx = 1\n",
        "Error of read_file:\nThere is no file a.py.",
        "[Result: x = 1]",
        "<tool_result>x = 1</tool_result>",
        '<message role="user">Thanks</message>',
        "## User\n\n> x = 1\n",
        "User: Thanks",
    ],
)
@pytest.mark.parametrize("size", [None, 1, 7])
def test_an_answer_ends_where_it_invents_what_comes_after_its_call(invented: str, size: int | None) -> None:
    text = f"```tool\n{BODY}\n```\n\nAnd then:\n{invented}\nSo I write it.\n```tool\n{BODY}\n```\n"
    assert found(text, size=size) == [READ, "\nAnd then:\n"]


@pytest.mark.parametrize("text", ["User: is a word.\n## User\nResult of read_file:\n", "[Result: 1]"])
def test_before_a_call_such_words_are_text(text: str) -> None:
    assert found(text) == [text]


def test_a_call_whose_json_is_broken_is_passed_on_as_it_stands() -> None:
    assert found('```tool\n{"name": "create_file", "input": {"content": "say "hi""}}\n```') == [
        FoundCall("create_file", '{"content": "say "hi""}}')
    ]


@pytest.mark.parametrize(
    "text",
    ["Hello", "a `code` b", "`x` at the beginning", "```python\nprint()", "```json\n[1", '```json\n{"a"', "\n\n  - x"],
)
def test_what_can_be_no_call_is_given_on_at_once(text: str) -> None:
    assert "".join(str(piece) for piece in ToolBlocks(NAMES).feed(text)) == text


def test_what_may_be_a_call_is_held_back_only_so_long() -> None:
    blocks = ToolBlocks(NAMES)
    fed = ["``", "`t", "o", "m\n```\n", '```json\n{"na', 'me": "x"', "\n```\n", "```tool\n{", "}\n```\n"]
    given_on = ["".join(map(str, blocks.feed(text))) for text in fed]
    assert given_on == ["", "", "", "```tom\n```\n", "", '```json\n{"name": "x"', "\n```\n", "", "```tool\n{}\n```\n"]


anything = st.text("`~{}\"':,[] \t\r\n\\ajtolns", max_size=60)
parts = st.lists(
    st.one_of(
        anything,
        st.sampled_from(
            [
                "```tool\n",
                "```json\n",
                "```\n",
                "\n```",
                "~~~\n",
                BODY,
                "```tool_call {",
                '{"name": "read_file"',
                "\n",
                "User: ",
            ]
        ),
    ),
    max_size=8,
).map("".join)


@given(parts, st.integers(1, 9))
def test_in_whatever_pieces_it_comes_the_result_is_the_same(text: str, size: int) -> None:
    assert found(text, size=size) == found(text)


@given(parts)
def test_text_without_a_call_passes_unchanged(text: str) -> None:
    pieces = found(text)
    if not any(isinstance(piece, FoundCall) for piece in pieces):
        assert "".join(map(str, pieces)) == text


@given(st.lists(st.text(st.characters(exclude_characters="`")), max_size=5))
def test_text_without_backticks_is_never_held_back(texts: list[str]) -> None:
    blocks = ToolBlocks(NAMES)
    assert ["".join(map(str, blocks.feed(text))) for text in texts] == texts
    assert blocks.close() == []


values = st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text(), max_size=2), max_size=3)


@given(values, st.booleans(), st.sampled_from([None, 2]), st.integers(1, 9))
def test_any_input_comes_through(
    given_input: dict[str, object], ascii_only: bool, indent: int | None, size: int
) -> None:
    body = json.dumps({"name": "read_file", "input": given_input}, ensure_ascii=ascii_only, indent=indent)
    (call,) = found(f"```tool\n{body}\n```\n", size=size)
    assert isinstance(call, FoundCall)
    assert json.loads(call.arguments) == given_input
