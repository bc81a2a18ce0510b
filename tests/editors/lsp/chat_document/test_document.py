"""A chat document is a conversation, whatever those who speak in it write."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent import events as ev
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import now
from pygent_ls.editors.lsp.chat_document.answer import AnswerSection
from pygent_ls.editors.lsp.chat_document.document import (
    OPEN_FENCE,
    ChatMessage,
    escaped_prompt,
    lead_in,
    lead_out,
    read_document,
    trimmed,
)
from pygent_ls.sessions.event_stream import SessionEvent

PIECES = [
    *("## You", "## pygent", "  ## You ##", "    ## You", "##", "# ", "\\", "\\## pygent"),
    *("> tool: ls", "\\> tool: ls", "*The turn ended: cancelled*", "*pygent: note*", OPEN_FENCE),
    *("```", "````", "~~~", "~~~~ python", "   ```", "    ```", "``` `", "```py"),
    *("\n", "\n", "\n\n", "\r\n", "\r", " ", "\t", "text", "é😀", "\u2028", "\x0c"),
]
texts = st.lists(st.sampled_from(PIECES) | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4)).map(
    "".join
)


def told(event: ev.AgentEvent) -> SessionEvent:
    return SessionEvent(event=event, seq=1, turn_id="t", iteration=1, total_tokens=0, timestamp=now())


def call(title: str, tool_id: str = "1") -> ev.ToolCall:
    return ev.ToolCall(
        tool_id=tool_id,
        tool_name="x",
        input={},
        title=title,
        kind="read",
        risk=ToolRisk.LOW,
        read_only=True,
        locations=(),
    )


def answer_of(*blocks: str) -> str:
    """What stands below the heading for texts with a tool call between each two."""
    answer = AnswerSection()
    for number, block in enumerate(blocks):
        if number:
            answer.take(told(call("look\n## You", tool_id=str(number))))
        answer.take(told(ev.Text(item_id=str(number), content=block)))
    answer.end("end_turn")
    return answer.text


def said(text: str) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in read_document(text).conversation]


def words(text: str) -> str:
    """As a document keeps them: lines end alike, and nothing invisible stands around them."""
    return trimmed(text.replace("\x0c", "\ufffd"))


@given(
    exchanges=st.lists(st.tuples(texts.filter(str.strip), texts), max_size=4),
    preamble=st.sampled_from(["", "# Notes\n\nsome\n"]),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_what_was_written_is_what_is_read(exchanges: list[tuple[str, str]], preamble: str, ending: str) -> None:
    text = preamble
    for prompt, answer in exchanges:
        text += lead_in(text, prompt, stands_there=False)
        text += answer_of(answer)
        text += lead_out(text, "")

    read = said(re.sub("\n", ending, text))

    written = [
        ("user", trimmed(prompt)) if role else ("assistant", words(answer))
        for prompt, answer in exchanges
        for role in (1, 0)
    ]
    assert read == [each for each in written if each[1]]


@given(prompt=texts.filter(str.strip), draft=texts)
def test_a_question_that_stands_in_its_document_is_read_as_it_was_once_it_is_answered(prompt: str, draft: str) -> None:
    text = f"## You\n\n{escaped_prompt(prompt)}"
    asked = read_document(text).asking
    assert asked is not None

    text += lead_in(text, asked.said, stands_there=True) + "Yes."
    text += lead_out(text, "")

    assert said(text) == [("user", trimmed(prompt)), ("assistant", "Yes.")]


@given(blocks=st.lists(texts, min_size=1, max_size=4))
def test_lines_of_tools_are_left_out_and_nothing_else(blocks: list[str]) -> None:
    text = f"## pygent\n\n{answer_of(*blocks)}\n\n## You\n"

    expected = "\n\n".join(each for each in map(words, blocks) if each)
    assert said(text) == ([("assistant", expected)] if expected.strip() else [])
    assert [each.role for each in read_document(text).sections] == ["assistant", "user"]


@given(text=texts)
def test_any_text_can_be_read_and_gone_on_with(text: str) -> None:
    document = read_document(text)
    after = text + lead_in(text, "next", stands_there=False) + "answer"
    after += lead_out(after, "")

    assert said(after)[-2:] == [("user", "next"), ("assistant", "answer")]
    last = read_document(after).last
    assert last is not None
    assert (last.role, last.said) == ("user", "")
    assert said(after)[:-2] == [(each.role, each.text) for each in document.conversation]


def test_what_stands_above_the_first_heading_is_nobodys() -> None:
    text = "# Scratch\n\nsome notes\n\n## You\n\nWhy?\n\n## Sub\n\nmore\n"

    assert said(text) == [("user", "Why?\n\n## Sub\n\nmore")]


@pytest.mark.parametrize(
    ("text", "n_sections"),
    [
        ("## You\n", 1),
        ("## You", 1),
        ("   ## You  \t\n", 1),
        ("## You ##\n", 1),
        ("##\tpygent\n", 1),
        ("    ## You\n", 0),
        ("\t## You\n", 0),
        ("## Your\n", 0),
        ("##You\n", 0),
        ("### You\n", 0),
        ("## you\n", 0),
        ("text ## You\n", 0),
        ("\ufeff## You\n", 1),
        ("\ufeff```\n## You\n", 0),
        ("text\n\ufeff## You\n", 0),
        ("\\## You\n", 0),
        ("```\n## You\n```\n## You\n", 1),
        ("~~~\n## You\n```\n## You\n~~~\n", 0),
        ("````\n```\n## You\n````\n## You\n", 1),
        ("```\n## You\n`````\n## You\n", 1),
        ("```\n## You\n``` x\n## You\n", 0),
        ("``` a`b\n## You\n", 1),
        ("~~~ a`b\n## You\n", 0),
        ("  ```\n## You\n   ```\n## You\n", 1),
        ("    ```\n## You\n", 1),
        ("```\n## You\n    ```\n## You\n", 0),
        ("```\n## You\n", 0),
        ("", 0),
    ],
)
def test_headings_are_those_that_markdown_has_outside_of_fences(text: str, n_sections: int) -> None:
    for ending in ("\n", "\r\n", "\r"):
        assert len(read_document(text.replace("\n", ending)).sections) == n_sections


def test_the_last_question_is_asked_and_what_is_above_it_is_its_history() -> None:
    document = read_document("## You\none\n## pygent\ntwo\n## You\nthree\n## pygent\nhalf of\n")

    assert document.asking is not None
    assert (document.asking.said, document.asking.line) == ("three", 4)
    assert document.history == [ChatMessage("user", "one"), ChatMessage("assistant", "two")]


@pytest.mark.parametrize(
    ("text", "stands_there", "written"),
    [
        ("", False, "## You\n\nQ\n\n## pygent\n\n"),
        ("## You\n\n", False, "Q\n\n## pygent\n\n"),
        ("## You", False, "\n\nQ\n\n## pygent\n\n"),
        ("## You\n\na draft", False, "\n\n## You\n\nQ\n\n## pygent\n\n"),
        ("## You\n\nQ", True, "\n\n## pygent\n\n"),
        ("## You\n\nQ\n", True, "\n## pygent\n\n"),
        ("## You\n\nQ\n\n\n", True, "## pygent\n\n"),
        ("## You\n\nQ\n\n## pygent\n", True, "\n"),
        ("## You\n\nQ\n\n## pygent\n\nhalf\n", True, "\n## pygent\n\n"),
        ("## You\n\nother", True, "\n\n## You\n\nQ\n\n## pygent\n\n"),
        ("notes\n```\n", False, f"```\n{OPEN_FENCE}\n\n## You\n\nQ\n\n## pygent\n\n"),
    ],
)
def test_what_is_written_above_an_answer_is_what_is_missing(text: str, stands_there: bool, written: str) -> None:
    assert lead_in(text, "Q", stands_there=stands_there) == written


@pytest.mark.parametrize(
    ("below", "written"),
    [
        ("", "\n\n## You\n\n"),
        ("\n", "\n\n## You\n"),
        ("a draft", "\n\n## You\n\n"),
        ("\n\n## You\nnext\n", ""),
        ("## You\nnext\n", "\n\n"),
        ("a draft\n## You\nnext\n", "\n\n## You\n\n"),
    ],
)
def test_what_the_user_writes_below_an_answer_stands_below_the_next_heading(below: str, written: str) -> None:
    assert lead_out("## pygent\n\nYes.", below) == written
