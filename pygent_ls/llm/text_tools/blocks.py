"""Parser of tool calls that a model writes into its text as fenced blocks, while the text arrives. Pure.

    ```tool
    {"name": "read_file", "input": {"path": "a.py"}}
    ```

Also accepted: blocks called `tool_call` or `json` (`json` only if it holds nothing but a call of an offered tool),
`arguments` for `input`, several objects or a list of them in a block, commas before a closing bracket, line breaks in
strings, more backticks, spaces around the name, and a missing closing fence at the end of the answer or before the next
block. Code blocks of any other language are text, whatever they show.

If a model continues after a call with an invented result, or with the user's next message, the answer ends before that:
what follows would build on events that never happened.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Container, Iterator
from typing import Any, Literal, cast

from msgspec import Struct

from pygent_ls.agent.tools.arguments import StringState, load_json, string_state


class FoundCall(Struct, frozen=True):
    """A call; `arguments` is JSON text, or what the model wrote in its place."""

    name: str
    arguments: str


Piece = str | FoundCall

TOOL_WORDS = ("tool", "tool_call")
WORDS = (*TOOL_WORDS, "json")
INPUT_KEYS = ("input", "arguments", "parameters")
KEYS = ("name", *INPUT_KEYS, "id", "type")
"""Keys that a call in a `json` block may have."""

MAX_TRIES = 20
"""Maximum number of lines of one block, ending in brackets and backticks, at which the whole block is parsed."""

_BETWEEN = frozenset(" \t\r\n,")
"""Characters between the values of a block."""

_PARTS = re.compile(r"[^\n]*\n|[^\n]+")

MAX_HEAD = 1000
"""Length of the beginning of a `json` block that decides whether it may hold a call, in characters."""

MAX_FENCE_CHARS = 200
"""Maximum length of a line that may be a fence."""

_OPENING = re.compile(r"(`{3,})[ \t]*(\w+)[ \t]*\Z")
_OPENING_AND_MORE = re.compile(r"(`{3,})[ \t]*(tool|tool_call)[ \t]*(?=[{\[])", re.IGNORECASE)
_OTHER_OPENING = re.compile(r"[ \t]*(?:(`{3,})[^`]*|(~{3,}).*)\Z", re.DOTALL)
_INVENTED = re.compile(
    r"(?:Result|Error) of [\w.:-]{1,100}:|\[Result: |<tool_result>|<message role=\"user\">|## User\b|User: "
)
"""Beginnings of lines found only in a conversation as models see it (`model.py`, `conversation_text`)."""

_BEGINNING = re.compile(r"`{1,2}\Z|`{3,}+[ \t]*+(\w*+)([ \t]*+\r?)\Z")


class ToolBlocks:
    """Parses an answer's text in any pieces; text that cannot be part of a call is passed on at once.

    The same text gives the same result, however it is split into pieces.
    """

    def __init__(self, names: Container[str]) -> None:
        """Start parsing; `names` are those of the offered tools."""
        self._names = names
        self._state: Literal["line", "text", "code", "block", "over"] = "line"
        self._parts: deque[str] = deque()
        """Text to be processed; each part is a line or a piece of one."""
        self._left = ""
        """The beginning of a line whose meaning is not certain yet."""
        self._partial: list[str] = []
        """What follows `_left` in a block's line that has not ended."""
        self._line = ""
        """In code and text: the part of the current line that was passed on, up to the relevant length."""
        self._fence = ""
        """The backticks or tildes that opened the block or code."""
        self._word = ""
        self._opening = ""
        """The block's first line, as received."""
        self._body: list[str] = []
        """The block's lines examined so far."""
        self._is_undecided = False
        """Whether the block may turn out to be code for the user."""
        self._strings: tuple[int, StringState] = (0, (False, False))
        """Number of the block's lines scanned for strings, and the string state there."""
        self._n_tries = 0
        self._in_doubt: int | None = None
        """The number of the line that is the first closing fence which seems to be inside a string."""
        self._has_called = False

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that are certain after this text."""
        self._parts.extend(_PARTS.findall(text))
        return list(self._all_parts())

    def close(self) -> list[Piece]:
        """Return the rest after the answer has ended."""
        pieces: list[Piece] = []
        while self._parts or self._partial or self._left or self._state == "block":
            pieces += self._all_parts()
            pieces += self._advanced(is_end=True)
        return pieces

    def _all_parts(self) -> Iterator[Piece]:
        while self._parts:
            part = self._parts.popleft()
            self._partial.append(part)
            if self._state != "block" or part.endswith("\n") or self._is_undecided:
                yield from self._advanced(is_end=False)

    def _advanced(self, *, is_end: bool) -> Iterator[Piece]:
        self._left += "".join(self._partial)
        self._partial.clear()
        while self._left or (is_end and self._state == "block"):
            before = (self._state, self._left)
            match self._state:
                case "line":
                    yield from self._begun_line(is_end=is_end)
                case "text":
                    yield from self._given_on()
                case "code":
                    yield from self._given_on()
                case "block":
                    yield from self._searched_block(is_end=is_end)
                case "over":
                    self._left = ""
            if (self._state, self._left) == before:
                return

    # Text and other code

    def _begun_line(self, *, is_end: bool) -> Iterator[Piece]:
        """Examine the beginning of a line, which may open a block."""
        rest = self._left.lstrip(" \t")
        if len(rest) < len(self._left):
            yield self._left[: len(self._left) - len(rest)]
            self._left = rest
        line, newline, after = rest.partition("\n")
        if self._has_called and _INVENTED.match(line):
            self._state = "over"
        elif begun := _OPENING_AND_MORE.match(line):
            self._open(begun[1], begun[2], begun[0], rest[begun.end() :])
        elif newline or is_end:
            opened = _OPENING.match(line.rstrip("\r"))
            if opened and opened[2].lower() in WORDS:
                self._open(opened[1], opened[2], line + newline, after)
            else:
                self._state = "text"
        elif not self._may_open(line) and (len(line) > MAX_FENCE_CHARS or not self._has_called):
            self._state = "text"

    def _may_open(self, line: str) -> bool:
        begun = _BEGINNING.match(line)
        if line and (begun is None or len(line) > MAX_FENCE_CHARS):
            return False
        word = (begun[1] or "").lower() if begun else ""
        if word and begun and begun[2]:
            return word in WORDS
        return any(each.startswith(word) for each in WORDS)

    def _open(self, fence: str, word: str, opening: str, body: str) -> None:
        self._state, self._fence, self._word = "block", fence, word.lower()
        self._opening, self._left = opening, body
        self._body, self._in_doubt, self._is_undecided = [], None, self._word == "json"
        self._strings = (0, (False, False))
        self._n_tries = 0

    def _given_on(self) -> Iterator[Piece]:
        """Pass on text up to the end of the line, and check whether the line was a fence."""
        line, newline, after = self._left.partition("\n")
        yield line + newline
        self._left = after
        self._line = (self._line + line)[: MAX_FENCE_CHARS + 1]
        if not newline:
            return
        was, self._line = self._line.rstrip("\r"), ""
        if self._state == "code":
            if _closes(was, self._fence):
                self._state = "line"
        elif opened := _OTHER_OPENING.match(was):
            self._state, self._fence = "code", opened[1] or opened[2]
        else:
            self._state = "line"

    # Blocks

    def _searched_block(self, *, is_end: bool) -> Iterator[Piece]:
        """Search the block's new lines for its end."""
        if self._is_undecided:
            head = "".join((*self._body, self._left))[:MAX_HEAD]
            self._is_undecided = len(head) < MAX_HEAD
            if not self._may_hold_call(head):
                yield from self._taken_as_code()
                return
        while self._state == "block":
            line, newline, after = self._left.partition("\n")
            if not newline and not is_end:
                return
            if not line and not newline:
                yield from self._closed_by_the_end()
                return
            self._left = after
            self._body.append(line + newline)
            yield from self._looked_at_line(line.rstrip("\r"))

    def _looked_at_line(self, line: str) -> Iterator[Piece]:
        """Look at the block's last line."""
        n_before = len(self._body) - 1
        if _closes(line, self._fence):
            if self._word == "json" or not self._is_inside_string(n_before):
                yield from self._closed(n_before)
            elif self._in_doubt is None:
                self._in_doubt = n_before
        elif self._word != "json":
            content = line.rstrip(" \t").rstrip("`")
            may_end = content.rstrip().endswith(("}", "]")) and line.rstrip(" \t").endswith("```")
            self._n_tries += may_end
            if may_end and self._n_tries <= MAX_TRIES and _whole_calls("".join((*self._body[:-1], content))):
                self._body[-1:] = content, self._body[-1][len(content) :]
                yield from self._closed(n_before + 1)
            elif _opens_another(line) and not self._is_inside_string(n_before):
                self._left = self._body.pop() + self._left
                yield from self._closed(n_before)

    def _is_inside_string(self, n_lines: int) -> bool:
        """Whether a string is open after the block's first lines; numbers must be asked for in ascending order."""
        start, state = self._strings
        for line in self._body[start:n_lines]:
            state = string_state(line, state)
        self._strings = (n_lines, state)
        return state[0]

    def _closed(self, n_lines: int) -> Iterator[Piece]:
        """Close the block, which has so many lines; the line after them, if any, is its fence."""
        body, fence, after = self._body[:n_lines], self._body[n_lines : n_lines + 1], self._body[n_lines + 1 :]
        content = "".join(body)
        calls = _calls_of(content)
        if self._word == "json" and not _are_calls_alone(content, self._names):
            calls = []
        if calls:
            self._has_called = True
            yield from calls
        else:
            yield "".join((self._opening, content, *fence))
        self._parts.extendleft((self._left, *reversed(after)))
        self._state, self._left, self._line = "line", "", ""

    def _closed_by_the_end(self) -> Iterator[Piece]:
        doubt = self._in_doubt
        is_in_doubt = doubt is not None and not _whole_calls("".join(self._body))
        yield from self._closed(doubt if doubt is not None and is_in_doubt else len(self._body))

    def _taken_as_code(self) -> Iterator[Piece]:
        yield self._opening
        self._parts.extendleft((self._left, *reversed(self._body)))
        self._state, self._left, self._line = "code", "", ""

    def _may_hold_call(self, body: str) -> bool:
        """Whether a partial `json` block may become a call of an offered tool."""
        rest = body.lstrip()
        if rest.startswith("["):
            rest = rest[1:].lstrip()
        if not rest.startswith("{"):
            return not rest
        rest = rest[1:].lstrip()
        if not rest.startswith('"'):
            return not rest
        key, quote, rest = rest[1:].partition('"')
        if not quote:
            return any(each.startswith(key) for each in KEYS)
        name = re.match(r'\s*:\s*"([^"]*)"', rest) if key == "name" else None
        return key in KEYS and (name is None or name[1] in self._names)


def _closes(line: str, fence: str) -> bool:
    bare = line.strip(" \t")
    return len(bare) >= len(fence) and bare == fence[0] * len(bare)


def _opens_another(line: str) -> bool:
    opened = _OPENING.match(line.lstrip(" \t"))
    return (opened is not None and opened[2].lower() in TOOL_WORDS) or bool(_OPENING_AND_MORE.match(line.lstrip(" \t")))


# Content of a block


def _calls_of(body: str) -> list[FoundCall]:
    """Return the block's calls, including a malformed one whose name is readable: its error informs the model."""
    return _whole_calls(body) or _broken_call(body)


def _whole_calls(body: str) -> list[FoundCall]:
    calls = [_as_call(value) for value in _values_of(body)]
    return [call for call in calls if call is not None] if all(calls) else []


def _values_of(body: str) -> list[Any]:
    """Return the consecutive JSON values in the text, with lists flattened; empty if there is other text."""
    values: list[Any] = []
    rest = body.strip()
    try:
        values = [load_json(rest)] if rest else []
    except (ValueError, RecursionError):
        decoder = json.JSONDecoder(strict=False)
        try:
            end = 0
            while end < len(rest):
                value, end = decoder.raw_decode(rest, end)
                values.append(value)
                while rest[end : end + 1] in _BETWEEN:
                    end += 1
        except (ValueError, RecursionError):
            return []
    return [each for value in values for each in (cast("list[Any]", value) if isinstance(value, list) else [value])]


def _as_call(value: Any) -> FoundCall | None:
    if not isinstance(value, dict):
        return None
    call = cast("dict[str, Any]", value)
    name = call.get("name")
    if not isinstance(name, str) or not name:
        return None
    given = [call[key] for key in INPUT_KEYS if key in call]
    if given and isinstance(given[0], str):
        return FoundCall(name, given[0])
    return FoundCall(name, json.dumps(given[0], ensure_ascii=False) if given else "{}")


_NAME = re.compile(r'\s*\{\s*"name"\s*:\s*"((?:[^"\\]|\\.)*)"')
_INPUT = re.compile(rf'\s*,\s*"(?:{"|".join(INPUT_KEYS)})"\s*:\s*')


def _broken_call(body: str) -> list[FoundCall]:
    name = _NAME.match(body)
    if name is None:
        return []
    given = _INPUT.match(body, name.end())
    if given is None:
        return [FoundCall(name[1], body[name.end() :].strip(" \t\r\n,}"))]
    arguments = body[given.end() :]
    try:
        _, end = json.JSONDecoder(strict=False).raw_decode(arguments)
    except (ValueError, RecursionError):
        return [FoundCall(name[1], arguments.strip())]
    return [FoundCall(name[1], arguments[:end])]  # the enclosing object is not closed, or more text follows


def _are_calls_alone(body: str, names: Container[str]) -> bool:
    """Whether a `json` block holds only calls of offered tools, each with an object as input."""
    values = _values_of(body)
    return bool(values) and all(_is_call_alone(value, names) for value in values)


def _is_call_alone(value: Any, names: Container[str]) -> bool:
    if not isinstance(value, dict):
        return False
    call = cast("dict[str, Any]", value)
    given = [call[key] for key in INPUT_KEYS if key in call]
    name = call.get("name")
    takes = isinstance(name, str) and name in names and bool(given) and isinstance(given[0], dict)
    return takes and set(call) <= set(KEYS)
