"""What the offline model understands, and what it does not take for an order."""

from __future__ import annotations

import os
import re
import shutil
import string
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.llm.offline.grammar import FORMS, NotUnderstood, literal_pattern, parse
from tests.llm.conversation import Conversation, ToolCalled


async def calls_for(prompt: str) -> list[ToolCalled]:
    conversation = Conversation()
    await conversation.ask(prompt)
    return conversation.calls


def replaces(old: str, new: str, path: str) -> list[ToolCalled]:
    return [
        ("read_file", {"path": path}),
        ("edit_file", {"path": path, "old": old, "new": new, "all": True}),
    ]


REQUESTS: Mapping[str, list[ToolCalled]] = {
    "replace `colour` with `color` in `pkg/m.py`": replaces("colour", "color", "pkg/m.py"),
    "Please replace \"a b\" with 'c d' in the file pkg/m.py.": replaces("a b", "c d", "pkg/m.py"),
    "Could you change foo to bar in @m.py?": replaces("foo", "bar", "m.py"),
    "replace `x` with `` in `m.py`": replaces("x", "", "m.py"),
    "replace ``a`b`` with “it's” in `m.py`": replaces("a`b", "it's", "m.py"),
    "replace 'don't' with 'do not' in `m.py`": replaces("don't", "do not", "m.py"),
    "find `a.b(c)`": [("grep_search", {"pattern": r"a\.b\(c\)"})],
    "search for TODO in src": [("grep_search", {"pattern": "TODO", "path": "src"})],
    "look for `then` then find 'x'": [("grep_search", {"pattern": "then"}), ("grep_search", {"pattern": "x"})],
    "find files `*.py`": [("find_files", {"pattern": "*.py"})],
    "find all files named *.py in src": [("find_files", {"pattern": "*.py", "path": "src"})],
    "show `app.py`": [("read_file", {"path": "app.py"})],
    "show me the file app.py.": [("read_file", {"path": "app.py"})],
    "show `app.py` lines 3-9": [("read_file", {"path": "app.py", "start_line": 3, "end_line": 9})],
    "show lines 3 to 9 of app.py": [("read_file", {"path": "app.py", "start_line": 3, "end_line": 9})],
    "show line 3 of app.py": [("read_file", {"path": "app.py", "start_line": 3, "end_line": 3})],
    "list `src`": [("list_files", {"path": "src"})],
    "list files": [("list_files", {})],
    "list .": [("list_files", {"path": "."})],
    "create `a.txt` with `hello`": [("create_file", {"path": "a.txt", "content": "hello"})],
    "create a new file a.py with:\n```python\nif x:\n    then()\n```\n": [
        ("create_file", {"path": "a.py", "content": "if x:\n    then()\n"})
    ],
    "create `a.md` with\n````\n```\ndelete `b`\n```\n````": [
        ("create_file", {"path": "a.md", "content": "```\ndelete `b`\n```\n"})
    ],
    "overwrite `a.txt` with `x`": [("create_file", {"path": "a.txt", "content": "x", "overwrite": True})],
    "rename `a.py` to `b.py`": [("move_file", {"source": "a.py", "destination": "b.py"})],
    "move a.py to lib/b.py": [("move_file", {"source": "a.py", "destination": "lib/b.py"})],
    "copy `a` to `b`": [("copy_file", {"source": "a", "destination": "b"})],
    "Delete `old stuff.txt`.": [("delete_file", {"path": "old stuff.txt"})],
    "run `ls -l | wc`": [("shell", {"command": "ls -l | wc"})],
    "run the command pytest -q tests/a.py.": [("shell", {"command": "pytest -q tests/a.py"})],
    "run\n```sh\nmake all\n```": [("shell", {"command": "make all"})],
    "1. show `a.py`\n2. delete `b.py`\n\n- list src": [
        ("read_file", {"path": "a.py"}),
        ("delete_file", {"path": "b.py"}),
        ("list_files", {"path": "src"}),
    ],
    "first show `a.py`, and then, please, copy `a.py` to `b.py` and then list `.`!": [
        ("read_file", {"path": "a.py"}),
        ("copy_file", {"source": "a.py", "destination": "b.py"}),
        ("list_files", {"path": "."}),
    ],
}


@pytest.mark.parametrize("prompt", REQUESTS)
async def test_a_request_becomes_tool_calls(prompt: str) -> None:
    assert await calls_for(prompt) == REQUESTS[prompt]


SENTENCES = (
    "please write me a poem about the sea",
    "delete everything",
    "delete `a.py` from the archive",
    "create some tests",
    "create a.py with some tests",
    "make it faster",
    "rename foo to bar",
    "rename `foo` to `bar` in `x.py`",
    "replace foo with bar in all files",
    "replace `a` with `b`",
    "run the linter and fix what it finds",
    "run it again",
    "find the bug in main.py",
    "show me how to delete `x.py`",
    "what does app.py do?",
    "run `a` and `b`",
    "don't delete `a.py`",
    "then",
    "`delete a.py`",
    "why does 'delete `a.py`' fail?",
)


@pytest.mark.parametrize("prompt", SENTENCES)
async def test_a_sentence_is_not_an_order(prompt: str) -> None:
    conversation = Conversation()

    text = await conversation.ask(prompt)

    assert conversation.calls == []
    assert "offline model" in text
    assert "PYGENT_MODEL" in text
    assert "ANTHROPIC_API_KEY" in text


async def test_nothing_is_done_when_a_part_is_not_understood() -> None:
    conversation = Conversation()

    text = await conversation.ask("delete `a.py`\nand make the rest nicer")

    assert conversation.calls == []
    assert "“make the rest nicer”" in text


@pytest.mark.parametrize("form", [form for form, _ in FORMS])
def test_every_documented_form_is_understood(form: str) -> None:
    assert not isinstance(parse(form), NotUnderstood)


def test_a_prompt_of_any_length_and_any_quotes_is_read_quickly() -> None:
    for text in ("'a " * 16_000, '"a' * 25_000, "`a" * 500_000, "```a " * 10_000, "\n```\n" * 10_000):
        assert isinstance(parse(text), NotUnderstood)


def test_what_is_searched_for_is_taken_literally_by_ripgrep() -> None:
    program = shutil.which("rg", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert program is not None, "the package depends on ripgrep's wheel"
    text = string.punctuation + " a\tß"

    command = [program, "--only-matching", "--regexp", literal_pattern(text), "-"]
    found = subprocess.run(command, input=f"x{text}x", capture_output=True, text=True, timeout=20, check=False)

    assert (found.stdout, found.stderr) == (f"{text}\n", "")


# For any words


@given(st.text())
def test_a_literal_pattern_matches_its_text_alone(text: str) -> None:
    assert re.fullmatch(literal_pattern(text), text)


NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="`\n\r", exclude_categories=("Cc", "Zl", "Zp")), min_size=1
)
PATHS = NAMES.filter(lambda name: bool(name.strip()))


@given(NAMES, st.text(st.characters(codec="utf-8", exclude_characters="`\n\r")), PATHS)
async def test_any_quoted_words_are_replaced_as_they_stand(old: str, new: str, path: str) -> None:
    assert await calls_for(f"replace `{old}` with `{new}` in `{path}`") == replaces(old, new, path)


@given(st.lists(PATHS, min_size=1, max_size=4), st.sampled_from(["\n", " then ", ", and then ", "\n- ", "\n2. "]))
async def test_any_steps_come_in_their_order(paths: list[str], joint: str) -> None:
    prompt = joint.join(f"show `{path}`" for path in paths)

    assert await calls_for(prompt) == [("read_file", {"path": path}) for path in paths]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=80))
async def test_any_fenced_text_is_the_files_content(content: str) -> None:
    fence = "`" * (3 + content.count("`"))
    text = content + "\n"

    assert await calls_for(f"create `a.txt` with:\n{fence}\n{text}{fence}") == [
        ("create_file", {"path": "a.txt", "content": text})
    ]


FORM_WORDS = st.sampled_from(
    [
        "replace",
        "with",
        "in",
        "delete",
        "run",
        "the",
        "tests",
        "then",
        "`a.py`",
        "'b'",
        '"',
        "`",
        "```",
        "\n",
        "<context>",
        "</context>",
        "lines",
        "3-9",
        "to",
        "create",
        "?",
        ".",
    ]
)


@given(st.lists(FORM_WORDS | st.text(max_size=8), max_size=15).map(" ".join))
async def test_whatever_is_said_has_an_end_and_an_answer(prompt: str) -> None:
    assert (await Conversation().ask(prompt)).strip()
