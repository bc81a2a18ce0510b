"""What a command-line program writes, without what is meant for a terminal. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, the cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[ -/]+[0-~]|\x1b[0-Z\\^-~]"
)
_OPEN_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]{0,4000}\x1b?|[ -/]*)\Z")
"""One whose end has not come yet."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

_LABEL = re.compile(r"\s*(?:>>> |Assistant:|## Assistant\n)")
_LABELS = (">>> ", "Assistant:", "## Assistant\n")
"""What programs write before an answer: ollama's prompt, and the beginning of a message as they were given others."""

_PROMPT = ">>>"


class Cleaner:
    """Takes output in any pieces; gives back the answer in it: without escapes, and without the prompt before and after
    it. What may belong to either is held back until that is certain."""

    def __init__(self) -> None:
        self._raw = ""
        self._held = ""
        self._has_begun = False
        self._leading: str | None = "\n"
        """What is left out before the answer; None: all white space."""

    def feed(self, piece: str) -> str:
        """What is certain now."""
        self._raw += piece
        opened = _OPEN_ESCAPE.search(self._raw)
        end = opened.start() if opened else len(self._raw)
        raw, self._raw = self._raw[:end], self._raw[end:]
        self._held += without_escapes(raw)
        if not self._has_begun and not self._begin():
            return ""
        end = _end_of_text(self._held, (_PROMPT, _PROMPT[:2], _PROMPT[:1]))
        text, self._held = self._held[:end], self._held[end:]
        return text

    def close(self) -> str:
        """The rest, once the program has ended."""
        self._held += without_escapes(self._raw)
        if not self._has_begun:
            self._begin()
        return self._held[: _end_of_text(self._held, (_PROMPT,))]

    def _begin(self) -> bool:
        """Whether the answer has begun; takes away what stands before it."""
        while label := _LABEL.match(self._held):
            self._held = self._held[label.end() :]
            self._leading = None
        text = self._held.lstrip(self._leading)
        self._held = text
        if not text.strip() or any(each.startswith(text.lstrip()) for each in _LABELS):
            return False
        self._has_begun = True
        return True


def _end_of_text(text: str, prompts: Sequence[str]) -> int:
    """Where the white space at the end begins, with a prompt behind it that may be followed by a space. No regular
    expression: those take forever for a long run of spaces within the text."""
    ended = text.removesuffix(" ")
    for prompt in prompts:
        before = ended.removesuffix(prompt)
        if before != ended and before[-1:].isspace():
            return len(before.rstrip())
    return len(text.rstrip())


def without_escapes(text: str) -> str:
    """The text without escapes and control characters; line breaks and tabs stay."""
    return _CONTROL.sub("", _ESCAPE.sub("", text)) if _CONTROL.search(text) else text


MAX_QUOTED_LINES = 8
MAX_QUOTED_CHARS = 600
"""Of what a program said when it failed: its last words name the reason."""


def last_words(text: str, masked: Callable[[str], str] = str) -> str:
    """The end of what a program said, for an error, without the keys that `masked` knows."""
    lines = [line.rstrip() for line in without_escapes(text).splitlines() if line.strip()]
    said = masked("\n".join(lines[-MAX_QUOTED_LINES:]))  # before it is cut: half a key is not known as one
    return said if len(said) <= MAX_QUOTED_CHARS else "…" + said[-MAX_QUOTED_CHARS:]
