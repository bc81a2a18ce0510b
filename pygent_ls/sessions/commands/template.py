"""Insertion of arguments into prompt templates. Pure."""

from __future__ import annotations

import re
import shlex

_PLACE = re.compile(r"(?P<escaped>\\)?\$(?P<what>ARGUMENTS\b|[1-9](?![0-9]))")


def takes_arguments(template: str) -> bool:
    """Whether the template has placeholders for arguments."""
    return any(not found["escaped"] for found in _PLACE.finditer(template))


def filled(template: str, text: str) -> str:
    """Return the template with its arguments: `$1` to `$9` become the words of the text (quotes group words), or
    nothing if there are fewer; `$ARGUMENTS` becomes the whole text. A backslash before a placeholder keeps it.

    Inserted text is not expanded again. If the template has no placeholders, the text is appended below it.
    """
    if not takes_arguments(template):
        plain = _PLACE.sub(lambda found: found[0].removeprefix("\\"), template)
        return f"{plain}\n\n{text}" if text else plain
    try:
        words = shlex.split(text)
    except ValueError:  # an unclosed quote
        words = text.split()

    def value(found: re.Match[str]) -> str:
        if found["escaped"]:
            return found[0].removeprefix("\\")
        if found["what"] == "ARGUMENTS":
            return text
        place = int(found["what"]) - 1
        return words[place] if place < len(words) else ""

    return _PLACE.sub(value, template)
