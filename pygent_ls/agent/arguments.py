"""A call's arguments, from the JSON text that the model sent. What is slightly broken is mended; nothing is guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pygent_ls.agent.tool import ToolRegistry

MAX_NESTING = 64
"""Of lists and objects in arguments: far more than a tool has, far less than what exhausts the interpreter's stack
in whatever walks through them later."""

MAX_QUOTED_CHARS = 300
"""Of broken arguments, what an error quotes: enough to see the mistake."""


def parse_arguments(text: str, *, may_close: bool = False) -> tuple[dict[str, Any], str | None]:
    """The arguments object; where the text is none, an empty one and what is wrong with it.

    Valid JSON is taken as it is. Else a fence around it, commas before a closing bracket, and line breaks in strings
    are mended; where it `may_close`, brackets that are open at the end too. A string that is open stays an error.
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
    """Raises ValueError for what may not get into the history, which goes back to the provider: NaN, half of a
    surrogate pair, what is nested too deep."""
    if nests_deeper(value, MAX_NESTING):
        raise ValueError(f"nested deeper than {MAX_NESTING}")
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def readers_of(tools: ToolRegistry) -> frozenset[str]:
    """The names of the tools that only read, whose arguments may be closed."""
    return frozenset(tool.name for tool in tools.list_all() if tool.read_only)


def with_schema(problem: str, schema: Mapping[str, Any]) -> str:
    """What is wrong with the arguments, and what they should be."""
    return f"{problem}\nArgument schema: {json.dumps(schema, ensure_ascii=False)}"


def _quoted(text: str) -> str:
    return text if len(text) <= MAX_QUOTED_CHARS else text[:MAX_QUOTED_CHARS] + "…"


def load_json(text: str, *, may_close: bool = False) -> Any:
    """The value, mended as `parse_arguments` says. Raises ValueError, or RecursionError, as for the text as it is."""
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
"""Where JSON text ends: inside a string that is still open; and there behind a backslash."""


def string_state(text: str, before: StringState = (False, False)) -> StringState:
    """Where the text ends that goes on from `before`."""
    in_string, escaped = before
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        else:
            in_string = character == '"'
    return in_string, escaped


def _mended(text: str, *, may_close: bool) -> str | None:
    """The text without a fence and trailing commas, and closed where it may be; None where it is open and may not."""
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
    """Whether lists and objects lie deeper than that in each other; told level by level, which takes no stack."""
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
