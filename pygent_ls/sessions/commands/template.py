"""Arguments put into a prompt that somebody wrote. Pure."""

from __future__ import annotations

import re
import shlex

_PLACE = re.compile(r"(?P<escaped>\\)?\$(?P<what>ARGUMENTS\b|[1-9](?![0-9]))")


def takes_arguments(template: str) -> bool:
    """Whether the prompt says where its arguments stand."""
    return any(not found["escaped"] for found in _PLACE.finditer(template))


def filled(template: str, text: str) -> str:
    """The prompt with its arguments: `$1` to `$9` are the words of the text (quotes hold one together), nothing where
    there are fewer; `$ARGUMENTS` is the whole text. With a backslash before it such a word stays.

    What is put in is not looked at again. A prompt that does not say where they stand has them below it.
    """
    if not takes_arguments(template):
        plain = _PLACE.sub(lambda found: found[0].removeprefix("\\"), template)
        return f"{plain}\n\n{text}" if text else plain
    try:
        words = shlex.split(text)
    except ValueError:  # a quote that is not closed
        words = text.split()

    def value(found: re.Match[str]) -> str:
        if found["escaped"]:
            return found[0].removeprefix("\\")
        if found["what"] == "ARGUMENTS":
            return text
        place = int(found["what"]) - 1
        return words[place] if place < len(words) else ""

    return _PLACE.sub(value, template)
