"""Titles of sessions that the user has not named."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.context.attachments import (
    DiagnosticsPart,
    EditorPart,
    FilePart,
    ImagePart,
    PromptPart,
    SelectionPart,
)
from pygent_ls.agent.messages import ImageBlock, Message, TextBlock, ToolResultBlock
from pygent_ls.agent.ports.editor_state import LineRange
from pygent_ls.sessions.titles import MAX_NAME_CHARS, UNNAMED, name_of, name_of_attached, name_of_conversation
from tests.fakes import say
from tests.sessions.conversation import conversation

A = Path("/w/src/a.py")


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("\n  Mend the   parser\nof dates", "Mend the parser"),
        ("Hi,\n\ncan you mend the parser?\nIt fails.", "Hi, can you mend the parser?"),
        ("go", "go"),
        ("", ""),
        (" \n\t\n", ""),
        ("/fix the tests of `dates`", "/fix the tests of dates"),
        ("## Goal of this week:\nmend it", "Goal of this week:"),
        ("> - [x] **Mend** the [parser](https://example.org/x) of `dates`", "Mend the parser of dates"),
        ("1. first mend **this** one\n2. then 2**3**4", "first mend this one"),
        ("---\nMend the whole parser", "Mend the whole parser"),
        ("compute 2**3**4 and more", "compute 2**3**4 and more"),
        ("call __init__ of a * b * c again", "call __init__ of a * b * c again"),
        ("@src/a.py @b.py#L1-L3\nMend these two files", "Mend these two files"),
        ("Explain @src/a.py to me", "Explain @src/a.py to me"),
        ("@src/a.py", "@src/a.py"),
        ("```python\nimport os\n```\nWhy does this fail?", "Why does this fail?"),
        ("```python\nimport os\n```", "import os"),
        ("Mend\x1b[31m the\u202e parser\x00 of dates", "Mend [31m the parser of dates"),
        (
            "Please have a look at the parser of dates, which has been failing since yesterday",
            "Please have a look at the parser of dates, which has been…",
        ),
        ("x" * 100, "x" * 59 + "…"),
        ("y" * 60, "y" * 60),
    ],
)
def test_a_prompt_gives_the_name_that_a_person_would_look_for(prompt: str, name: str) -> None:
    assert name_of(prompt) == name


@given(st.text())
def test_a_name_is_one_short_line_that_can_be_shown(prompt: str) -> None:
    name = name_of(prompt)
    assert len(name) <= MAX_NAME_CHARS
    assert name.isprintable()
    assert name == name.strip()


@given(st.text(alphabet="ab @#*`-\n", max_size=100), st.text(alphabet="ab @#*`-\n", max_size=100))
def test_a_prompt_with_a_word_has_a_name(before: str, after: str) -> None:
    assert name_of(f"{before}word{after}")


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        ([FilePart(path=A)], "a.py"),
        (["", FilePart(path=A, lines=LineRange(first=3, last=3))], "a.py#L3"),
        ([SelectionPart(path=A, lines=LineRange(first=3, last=7), text="x")], "a.py#L3-L7"),
        ([EditorPart(active=A, visible=()), DiagnosticsPart(path=A, lines=("1: no",))], "Problems in a.py"),
        ([FilePart(path=A, is_background=True), ImagePart(path=Path("/w/b.png"), mime_type="image/png")], "b.png"),
        ([ImageBlock(mime_type="image/png", data="")], "A picture"),
        ([EditorPart(active=A, visible=())], ""),
        ([], ""),
    ],
)
def test_what_came_without_a_word_gives_the_name(parts: list[PromptPart], name: str) -> None:
    assert name_of_attached(parts) == name


def test_a_conversation_is_named_by_the_users_first_words() -> None:
    messages = [
        Message(role="user", content=(TextBlock(text="a file", from_outside=True),)),
        Message(role="assistant", content="I see."),
        Message(role="user", content=(ToolResultBlock(tool_use_id="1", content="x"), TextBlock(text="Mend it now"))),
    ]
    assert name_of_conversation(messages) == "Mend it now"
    assert name_of_conversation(messages[:2]) == ""


async def test_a_session_whose_name_is_taken_away_is_named_by_its_first_prompt_again() -> None:
    talk = conversation([say("one"), say("two")])
    await talk.turn("Mend the parser")
    talk.session.rename("Dates")
    await talk.turn("and the tests")

    talk.session.rename(" \n")
    assert talk.session.name == "Mend the parser"
    talk.session.clear()
    talk.session.rename("")
    assert talk.session.name == UNNAMED
