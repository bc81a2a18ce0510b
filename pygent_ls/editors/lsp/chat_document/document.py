"""Parsing and escaping of chat documents: conversations in Markdown with a heading for each message. Pure.

Text above the first heading belongs to the user and is never sent. Text in a code fence is always code. A line that
would be read as one of the daemon's lines, but is not, starts with a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import NamedTuple

from msgspec import Struct

from pygent_ls.agent.messages import Role

SUFFIX = ".pygent.md"
"""Suffix of the name of a chat document."""

USER_HEADING = "## You"
ANSWER_HEADING = "## pygent"
NEW_DOCUMENT = f"{USER_HEADING}\n\n"

OPEN_FENCE = "*pygent: The code block above was left open.*"
"""Line below a fence that was closed because the code block above was left open."""

_HEADING = re.compile(r" {0,3}##[ \t]+(?P<who>You|pygent)(?:[ \t]+#+)?[ \t]*")
_TOOL_LINE = re.compile(r"> tool: .*")
_SIDE_QUESTION = re.compile(r"\s*/btw\s+\S", re.IGNORECASE)
_STATUS_LINE = re.compile(r"\*(?:The turn ended|The turn failed|pygent): .*\*[ \t]*")
_OWN_LINE = re.compile(rf"(?:{_TOOL_LINE.pattern}|{_STATUS_LINE.pattern})")
_USERS_LINE = re.compile(rf"\\*(?:{_HEADING.pattern}|{re.escape(OPEN_FENCE)}[ \t]*)")
_ANSWERS_LINE = re.compile(rf"\\*(?:{_HEADING.pattern}|{_OWN_LINE.pattern})")
_OPEN_FENCE_LINE = re.compile(rf"{re.escape(OPEN_FENCE)}[ \t]*")
_BEGINNINGS = ("## You", "## pygent", "> tool: ", "*The turn ended: ", "*The turn failed: ", "*pygent: ")
_LINE = re.compile(r"(?P<said>[^\r\n]*)(?P<end>\r\n|\r|\n|\Z)")
_BREAK = re.compile(r"\r\n?|\n")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_ROLES: dict[str, Role] = {"You": "user", "pygent": "assistant"}


class Fences:
    """Tracks code fences line by line, as in CommonMark, but without those in lists and quotes."""

    def __init__(self) -> None:
        self.opened = ""
        """The fence of the block that the last line belongs to; empty outside of a block, and at its closing fence."""

    def takes(self, line: str) -> bool:
        """Whether the next line is code or a fence."""
        found = _FENCE.match(line)
        if not self.opened:
            self.opened = found["fence"] if found else ""
            return found is not None
        if found and found["fence"].startswith(self.opened) and not line[found.end() :].strip(" \t"):
            self.opened = ""
        return True


class Section(Struct, frozen=True, kw_only=True):
    """The text below a heading, from `start` to `end`. The heading begins at offset `heading`, in line `line`, from
    0."""

    role: Role
    line: int
    heading: int
    start: int
    end: int
    said: str
    """The message: the text without lines of the daemon."""


class ChatMessage(NamedTuple):
    """One message of a conversation."""

    role: Role
    text: str


class ChatDocument(Struct, frozen=True, kw_only=True):
    """A chat document, parsed."""

    sections: Sequence[Section]
    open_fence: str
    """The fence of a code block that is not closed at the end of the text; else empty."""

    @property
    def last(self) -> Section | None:
        """The last section."""
        return self.sections[-1] if self.sections else None

    @property
    def asking(self) -> Section | None:
        """The user's last section, which would be sent."""
        return next((each for each in reversed(self.sections) if each.role == "user"), None)

    @property
    def conversation(self) -> list[ChatMessage]:
        """All messages, without empty ones and without side questions."""
        return _said(self.sections)

    @property
    def history(self) -> list[ChatMessage]:
        """The messages above the user's last section."""
        asking = self.asking
        return _said(each for each in self.sections if asking is None or each.line < asking.line)


def read_document(text: str) -> ChatDocument:
    """Parse a text with any line endings."""
    fences = Fences()
    heads: list[tuple[Role, int, int, int]] = []
    for number, (start, line, end) in enumerate(_lines(text)):
        if not fences.takes(line) and (found := _HEADING.fullmatch(line)):
            heads.append((_ROLES[found["who"]], number, start, end))
    ends = [heading for _, _, heading, _ in heads[1:]] + [len(text)]
    sections = [
        Section(role=role, line=line, heading=heading, start=start, end=end, said=_words(role, text[start:end]))
        for (role, line, heading, start), end in zip(heads, ends, strict=False)
    ]
    return ChatDocument(sections=sections, open_fence=fences.opened)


def escaped_prompt(text: str) -> str:
    """Return the user's text as written below its heading: escaped, with an open fence closed."""
    fences = Fences()
    lines = ["\\" + line if not fences.takes(line) and _USERS_LINE.fullmatch(line) else line for line in split(text)]
    return closed(trimmed("\n".join(lines)), fences)


def closed(text: str, fences: Fences) -> str:
    """Return the text with an open fence closed, and a line that notes this."""
    return f"{text}\n{fences.opened}\n{OPEN_FENCE}" if fences.opened else text


def escaped_line(line: str) -> str:
    """Return a line of the model's text outside of a fence, escaped if necessary."""
    return "\\" + line if _ANSWERS_LINE.fullmatch(line) else line


def may_be_escaped(beginning: str) -> bool:
    """Whether a line with this beginning may need to be escaped."""
    bare = re.sub(r"[ \t]+", " ", beginning.lstrip(" \\"))
    return any(each.startswith(bare) or bare.startswith(each) for each in _BEGINNINGS)


def said_in_answer(text: str) -> str:
    """Return the model's own text in an answer section."""
    return _words("assistant", text)


def gap_after(text: str) -> str:
    """Return the line breaks needed to end a text with an empty line."""
    n_breaks = len(_BREAK.findall(text[len(text.rstrip(" \t\r\n")) :]))
    return "\n" * max(0, 2 - n_breaks) if text.strip(" \t\r\n") else ""


def line_ending(text: str) -> str:
    """Return the line break that most lines of a text end with."""
    n_crlf = text.count("\r\n")
    return "\r\n" if n_crlf > text.count("\n") - n_crlf else "\n"


def lead_in(text: str, prompt: str, *, stands_there: bool) -> str:
    """Return the text to add to the end of a document before the answer.

    `stands_there`: the prompt is the document's last question; it is added if it is no longer there. A draft of the
    user is kept, and an open code block is closed.
    """
    document = read_document(text)
    asking, last = document.asking, document.last
    if stands_there and asking is not None and asking.said == trimmed(prompt):
        awaits = last is not None and last.role == "assistant" and not text[last.start : last.end].strip()
        parts = [] if awaits else [ANSWER_HEADING]
    elif last is not None and last.role == "user" and not last.said:
        parts = [escaped_prompt(prompt), ANSWER_HEADING]
    else:
        parts = [USER_HEADING, escaped_prompt(prompt), ANSWER_HEADING]
    above = gap_after(text)
    if document.open_fence:
        above = ("" if text[-1] in "\r\n" else "\n") + f"{document.open_fence}\n{OPEN_FENCE}\n\n"
    return above + "".join(f"{part}\n\n" for part in parts)


def lead_out(above: str, below: str) -> str:
    """Return the text between the answer, with all text above it, and the text that the user has written below it
    meanwhile."""
    first = next(iter(read_document(below).sections), None)
    if first is not None and first.role == "user" and not below[: first.heading].strip():
        return "" if below[:1] in ("\r", "\n") else "\n\n"
    has_break = not below.strip() and bool(_BREAK.search(below))
    return f"{gap_after(above)}{USER_HEADING}\n" + ("" if has_break else "\n")


def question_line(text: str, line: int) -> int:
    """Return the first line of the paragraph around a line, including a code block in it; a heading above it makes it a
    question. Lines count from 0."""
    fences, lines, begin = Fences(), split(text.removeprefix("\ufeff")), 0
    is_between = True
    for number, each in enumerate(lines[: line + 1]):
        was_open = bool(fences.opened)
        fences.takes(each)
        if not was_open and (is_between or not each.strip()):
            begin = number
        is_between = not was_open and not each.strip()
    return begin


def trimmed(text: str) -> str:
    """Return the text without empty lines at both ends, with line feeds only."""
    return "\n".join(dropwhile(lambda line: not line.strip(), split(text))).rstrip()


def split(text: str) -> list[str]:
    """Return the lines without their line endings."""
    return _BREAK.split(text)


def without_asides(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the messages without side questions and their answers, which are not part of the conversation."""
    kept: list[ChatMessage] = []
    is_aside = False
    for each in messages:
        is_aside = _SIDE_QUESTION.match(each.text) is not None if each.role == "user" else is_aside
        if not is_aside:
            kept.append(each)
    return kept


def _said(sections: Sequence[Section] | Iterator[Section]) -> list[ChatMessage]:
    return without_asides([ChatMessage(each.role, each.said) for each in sections if each.said])


def _lines(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield each line with its start and the start of the next line, without a byte order mark, which some editors
    treat as text."""
    for found in _LINE.finditer(text):
        if found.start() < len(text) or not text:
            line = found["said"] if found.start() else found["said"].removeprefix("\ufeff")
            yield found.start(), line, found.end()


def _words(role: Role, text: str) -> str:
    own, escaped = (_OPEN_FENCE_LINE, _USERS_LINE) if role == "user" else (_OWN_LINE, _ANSWERS_LINE)
    return trimmed("\n".join(_without_own(split(text), own, escaped)))


def _without_own(lines: Sequence[str], own: re.Pattern[str], escaped: re.Pattern[str]) -> list[str]:
    """Remove lines of the daemon, and the empty lines that separated them from the rest; unescape the others."""
    fences = Fences()
    kept: list[str] = []
    is_below_own = False
    for line in lines:
        if fences.takes(line):
            kept.append(line)
            is_below_own = False
        elif own.fullmatch(line):
            if _OPEN_FENCE_LINE.fullmatch(line):
                _drop_fence(kept)
            is_below_own = True
        elif line.strip() or not is_below_own or (kept and kept[-1].strip()):
            kept.append(line[1:] if line.startswith("\\") and escaped.fullmatch(line) else line)
            is_below_own = is_below_own and not line.strip()
    return kept


def _drop_fence(kept: list[str]) -> None:
    """Remove the closing fence that was added to an open code block."""
    while kept and not kept[-1].strip():
        del kept[-1]
    if kept and _FENCE.match(kept[-1]):
        kept[-1] = ""
