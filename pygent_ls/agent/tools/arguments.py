"""Parser of a call's arguments, which the model sends as JSON text. Slightly broken JSON is repaired; nothing is
guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pygent_ls.agent.tools.tool import ToolRegistry

MAX_NESTING = 64
"""Maximum nesting of lists and objects in arguments: far more than a tool needs, far less than what exhausts the
interpreter's stack in code that walks through them."""

MAX_QUOTED_CHARS = 300
"""Maximum characters of broken arguments that an error quotes: enough to see the mistake."""


def parse_arguments(text: str, *, may_close: bool = False) -> tuple[dict[str, Any], str | None]:
    """Return the arguments object and None, or an empty object and an error message.

    Valid JSON is used as it is. Otherwise a surrounding code fence, commas before a closing bracket, and line breaks in
    strings are repaired, and with `may_close` also brackets that are open at the end. An unterminated string stays an
    error.
    """
    if not text.strip():
        return {}, None
    try:
        value: Any = load_json(text, may_close=may_close)
        check_can_be_sent(value)
    except (ValueError, RecursionError) as error:
        why = f"The arguments are not valid JSON ({error}): {_quoted(text)}"
        return {}, f"{why}\nCall the tool again with one complete JSON object."
    if not isinstance(value, dict):
        return {}, f"The arguments must be one JSON object, not {type(value).__name__}: {_quoted(text)}"
    return value, None  # pyright: ignore[reportUnknownVariableType] - JSON keys are text


def check_can_be_sent(value: Any) -> None:
    """Check that the value may enter the history, which is sent back to the provider. Raises ValueError for NaN,
    unpaired surrogates and too deep nesting."""
    if nests_deeper(value, MAX_NESTING):
        raise ValueError(f"nested deeper than {MAX_NESTING}")
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def readers_of(tools: ToolRegistry) -> frozenset[str]:
    """Return the names of the read-only tools, whose arguments may be completed with closing brackets."""
    return frozenset(tool.name for tool in tools.list_all() if tool.read_only)


def with_schema(problem: str, schema: Mapping[str, Any]) -> str:
    """Return the error message followed by the argument schema."""
    return f"{problem}\nArgument schema: {json.dumps(schema, ensure_ascii=False)}"


def _quoted(text: str) -> str:
    return text if len(text) <= MAX_QUOTED_CHARS else text[:MAX_QUOTED_CHARS] + "…"


def load_json(text: str, *, may_close: bool = False) -> Any:
    """Return the parsed value, with repairs as in `parse_arguments`. Raises ValueError or RecursionError, as for the
    unrepaired text."""
    try:
        return json.loads(text)
    except ValueError as error:
        mended = _mended(text, may_close=may_close)
        if mended is None:
            raise ValueError(f"{error}; the arguments are incomplete") from None
        try:
            return json.loads(mended, strict=False)
        except ValueError:
            raise error from None


_FENCE = re.compile(r"\A\s*+(`{3,}+)[ \t]*+[\w-]*+[ \t]*+\n(.*?)(?:\n[ \t]*\1`*\s*)?\Z", re.DOTALL)


StringState = tuple[bool, bool]
"""State at the end of JSON text: whether a string is open, and whether it ends with an escaping backslash."""


def string_state(text: str, before: StringState = (False, False)) -> StringState:
    """Return the state at the end of text that continues from `before`."""
    in_string, escaped = before
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        else:
            in_string = character == '"'
    return in_string, escaped


def _mended(text: str, *, may_close: bool) -> str | None:
    """Return the text without a fence and trailing commas, with open brackets closed if `may_close`; None if it stays
    incomplete."""
    if fenced := _FENCE.match(text):
        text = fenced[2]
    kept: list[str] = []
    open_brackets: list[str] = []
    in_string = escaped = False
    for at, character in enumerate(text):
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "{[":
            open_brackets.append("}" if character == "{" else "]")
        elif character in "}]" and open_brackets:
            open_brackets.pop()
        elif character == "," and _ends_a_list(text, at + 1):
            continue
        kept.append(character)
    if not open_brackets:
        return "".join(kept)
    return None if in_string or not may_close else "".join((*kept, *reversed(open_brackets)))


_AFTER_LAST = re.compile(r"\s*(?:[}\]]|\Z)")


def _ends_a_list(text: str, at: int) -> bool:
    return _AFTER_LAST.match(text, at) is not None


def nests_deeper(value: Any, limit: int) -> bool:
    """Whether lists and objects are nested deeper than `limit`. Checks level by level, without recursion."""
    level: list[Any] = [value]
    for _ in range(limit + 1):
        level = [inner for outer in level for inner in _members(outer)]
        if not level:
            return False
    return True


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()  # pyright: ignore[reportUnknownVariableType]
    return value if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType]
