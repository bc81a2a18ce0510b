"""Check for sed scripts that only print and edit text, by a grammar narrower than that of any sed."""

from __future__ import annotations

import re

_BRACKET = r"\[\^?+\]?+(?:\[[:.=][a-z]*[:.=]\]|[^\]\[])*+\]"
"""A set of characters. It must not contain the delimiter, which ends a pattern inside a set in some programs."""

_BLANKS = re.compile(r"[\s;]*")
_NUMBER = re.compile(r"\d+(?:~\d+)?|\$")
_SECOND = re.compile(r"\s*,\s*(?:[+~]?\d+|\$)")
_REGEX_FLAGS = re.compile(r"[IM]*")
_FLAGS = re.compile(r"[gpiImM0-9]*")
_END = re.compile(r"[ \t]*(?:[;\n]|(?=\})|\Z)")
_LABEL = re.compile(r"[ \t]*[A-Za-z0-9_]*")
_EXIT_CODE = re.compile(r"[ \t]*\d*")
_TEXT = re.compile(r"[ \t]*\\?\n?[^\\\n]*(?=\n|\Z)")

_PLAIN = frozenset("=dDgGhHnNpPxz")
_TEXTS = frozenset("aic")
_JUMPS = frozenset("btT:")
_EXITS = frozenset("qQ")


def is_plain(script: str) -> bool:
    """Whether a sed script reads no file, writes no file and runs nothing, in any sed."""
    position, depth = 0, 0
    while True:
        position = _match(_BLANKS, script, position)
        if position == len(script):
            return depth == 0
        after = _address(script, position)
        if after is None or after == len(script):
            return False
        command, position = script[after], after + 1
        if command == "{":
            depth += 1
            continue
        if command == "}":
            depth -= 1
        elif (end := _command(command, script, position)) is None:
            return False
        else:
            position = end
        if depth < 0 or (found := _END.match(script, position)) is None:
            return False
        position = found.end()


def _command(command: str, script: str, position: int) -> int | None:
    """Return the end of the command whose letter precedes `position`; None if it is not a safe one."""
    if command in _PLAIN:
        return position
    if command in _JUMPS:
        return _match(_LABEL, script, position)
    if command in _EXITS:
        return _match(_EXIT_CODE, script, position)
    if command in _TEXTS:
        found = _TEXT.match(script, position)
        return found.end() if found else None
    if command in "sy":
        first = _section(script, position + 1, script[position : position + 1])
        second = None if first is None else _section(script, first, script[position])
        return second if second is None or command == "y" else _match(_FLAGS, script, second)
    return None


def _address(script: str, position: int) -> int | None:
    """Return the end of the address before a command, if any; None if it is not understood."""
    after = _one_address(script, position)
    if after is None:
        return None
    if after > position:
        if found := _SECOND.match(script, after):
            after = found.end()
        elif found := re.compile(r"\s*,\s*").match(script, after):
            second = _one_address(script, found.end())
            if second is None or second == found.end():
                return None
            after = second
    return _match(re.compile(r"[ \t]*!?[ \t]*"), script, after)


def _one_address(script: str, position: int) -> int | None:
    if found := _NUMBER.match(script, position):
        return found.end()
    if script.startswith("/", position):
        end = _section(script, position + 1, "/")
    elif script.startswith("\\", position):
        end = _section(script, position + 2, script[position + 1 : position + 2])
    else:
        return position
    return None if end is None else _match(_REGEX_FLAGS, script, end)


def _section(script: str, position: int, delimiter: str) -> int | None:
    """Return the index after the delimiter that closes the text at `position`; None if it is not understood."""
    if not delimiter or delimiter in "\\\n" or delimiter.isalnum() or delimiter.isspace() or delimiter in "[];{}":
        return None
    end = position
    while end < len(script) and script[end] != delimiter:
        end += 2 if script[end] == "\\" else 1
    text = script[position:end]
    if end >= len(script) or "\n" in re.sub(r"\\\n", "", text):
        return None
    return end + 1 if re.fullmatch(rf"(?:{_BRACKET}|\\.|[^\\\[])*+", text, re.DOTALL) else None


def _match(pattern: re.Pattern[str], script: str, position: int) -> int:
    found = pattern.match(script, position)
    return found.end() if found else position
