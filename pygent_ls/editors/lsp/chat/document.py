"""A chat document: a conversation as Markdown, a heading for each who speaks. Pure.

What stands above the first heading is the user's own and is never sent. What stands in a code fence is code, whatever
it looks like. A line that would be read as one of ours, and is not, has a backslash in front of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import NamedTuple

from pygent_ls.agent.messages import Role

SUFFIX = ".pygent.md"
"""What the name of a chat document ends with."""

USER_HEADING = "## You"
ANSWER_HEADING = "## pygent"
NEW_DOCUMENT = f"{USER_HEADING}\n\n"

OPEN_FENCE = "*pygent: The code block above was left open.*"
"""Stands below a fence that was closed for a model that did not."""

_HEADING = re.compile(r" {0,3}##[ \t]+(?P<who>You|pygent)(?:[ \t]+#+)?[ \t]*")
_TOOL_LINE = re.compile(r"> tool: .*")
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
    """Follows the code fences of a text line by line, as CommonMark has them outside of lists and quotes."""

    def __init__(self) -> None:
        self.opened = ""
        """The fence of the block that the last line belongs to; empty outside of one, and at its end."""

    def takes(self, line: str) -> bool:
        """Whether the next line is code, or a fence."""
        found = _FENCE.match(line)
        if not self.opened:
            self.opened = found["fence"] if found else ""
            return found is not None
        if found and found["fence"].startswith(self.opened) and not line[found.end() :].strip(" \t"):
            self.opened = ""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What stands below one heading, from `start` to `end`; the heading begins at `heading`, in line `line`, from 0."""

    role: Role
    line: int
    heading: int
    start: int
    end: int
    said: str
    """The words of the one who speaks."""


class Said(NamedTuple):
    """One message of a conversation."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDocument:
    """What a text says as a conversation."""

    sections: Sequence[Section]
    open_fence: str
    """The fence of the code block that the text ends in; empty where it ends in none."""

    @property
    def last(self) -> Section | None:
        """The last section."""
        return self.sections[-1] if self.sections else None

    @property
    def asking(self) -> Section | None:
        """The last section of the user's: what would be sent."""
        return next((each for each in reversed(self.sections) if each.role == "user"), None)

    @property
    def conversation(self) -> list[Said]:
        """All that was said; those who said nothing are left out."""
        return _said(self.sections)

    @property
    def history(self) -> list[Said]:
        """The same of what stands above that last section of the user's."""
        asking = self.asking
        return _said(each for each in self.sections if asking is None or each.line < asking.line)


def read_document(text: str) -> ChatDocument:
    """The conversation in a text, whichever way its lines end."""
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
    """The user's words as they stand below their heading; a fence that is left open is closed."""
    fences = Fences()
    lines = ["\\" + line if not fences.takes(line) and _USERS_LINE.fullmatch(line) else line for line in split(text)]
    return closed(trimmed("\n".join(lines)), fences)


def closed(text: str, fences: Fences) -> str:
    """The text with a fence at its end where one is open, and a line that says so."""
    return f"{text}\n{fences.opened}\n{OPEN_FENCE}" if fences.opened else text


def escaped_line(line: str) -> str:
    """A line of the model's, outside of a fence, as it stands below its heading."""
    return "\\" + line if _ANSWERS_LINE.fullmatch(line) else line


def may_be_escaped(beginning: str) -> bool:
    """Whether a line that begins so might turn out to be one that is escaped."""
    bare = re.sub(r"[ \t]+", " ", beginning.lstrip(" \\"))
    return any(each.startswith(bare) or bare.startswith(each) for each in _BEGINNINGS)


def said_in_answer(text: str) -> str:
    """The model's own words of what stands below its heading."""
    return _words("assistant", text)


def gap_after(text: str) -> str:
    """The line breaks that are missing for an empty line at the end of a text."""
    n_breaks = len(_BREAK.findall(text[len(text.rstrip(" \t\r\n")) :]))
    return "\n" * max(0, 2 - n_breaks) if text.strip(" \t\r\n") else ""


def line_ending(text: str) -> str:
    """How the lines of a text end; most do so."""
    n_crlf = text.count("\r\n")
    return "\r\n" if n_crlf > text.count("\n") - n_crlf else "\n"


def lead_in(text: str, prompt: str, *, stands_there: bool) -> str:
    """What is written at the end of a document before the answer.

    `stands_there`: the prompt is the document's own last question; it is written where it is gone all the same. The
    user's draft stays as it is, and a code block that was left open is closed.
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
    """What is written between the answer, with all above it, and what the user has written below it meanwhile."""
    first = next(iter(read_document(below).sections), None)
    if first is not None and first.role == "user" and not below[: first.heading].strip():
        return "" if below[:1] in ("\r", "\n") else "\n\n"
    has_break = not below.strip() and bool(_BREAK.search(below))
    return f"{gap_after(above)}{USER_HEADING}\n" + ("" if has_break else "\n")


def question_line(text: str, line: int) -> int:
    """The line in which the paragraph around a line begins, with the code block that it is in; a heading above it makes
    it a question. Lines count from 0."""
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
    """Without empty lines around it, and its lines ending alike."""
    return "\n".join(dropwhile(lambda line: not line.strip(), split(text))).rstrip()


def split(text: str) -> list[str]:
    """Its lines, without what ends them."""
    return _BREAK.split(text)


def _said(sections: Sequence[Section] | Iterator[Section]) -> list[Said]:
    return [Said(each.role, each.said) for each in sections if each.said]


def _lines(text: str) -> Iterator[tuple[int, str, int]]:
    """Each line with where it begins, and where the next one does; without a byte order mark, which some editors take
    for text."""
    for found in _LINE.finditer(text):
        if found.start() < len(text) or not text:
            line = found["said"] if found.start() else found["said"].removeprefix("\ufeff")
            yield found.start(), line, found.end()


def _words(role: Role, text: str) -> str:
    own, escaped = (_OPEN_FENCE_LINE, _USERS_LINE) if role == "user" else (_OWN_LINE, _ANSWERS_LINE)
    return trimmed("\n".join(_without_own(split(text), own, escaped)))


def _without_own(lines: Sequence[str], own: re.Pattern[str], escaped: re.Pattern[str]) -> list[str]:
    """Without our own lines, and the empty ones that separated them from the rest."""
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
    """The last line with words is the fence that closes a block which was left open."""
    while kept and not kept[-1].strip():
        del kept[-1]
    if kept and _FENCE.match(kept[-1]):
        kept[-1] = ""
