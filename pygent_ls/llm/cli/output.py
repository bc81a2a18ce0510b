"""Output of a command-line program, without terminal control sequences. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, the cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[ -/]+[0-~]|\x1b[0-Z\\^-~]"
)
_OPEN_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,200}[ -/]{0,200}|[\]PX^_][^\x07\x1b]{0,4000}\x1b?|[ -/]{0,200})\Z")
"""Escape sequence whose end has not arrived yet."""

MAX_HELD_CHARS = 2_000
"""Maximum length of white space that is held back because a prompt may follow."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

_LABEL = re.compile(r"\s*(?:>>> |Assistant:|## Assistant\n)")
_LABELS = (">>> ", "Assistant:", "## Assistant\n")
"""Prefixes that programs write before an answer: ollama's prompt, and message headings as the conversation has them."""

_PROMPT = ">>>"


class Cleaner:
    """Extracts the answer from output that arrives in pieces, without escapes and without the prompt before and after
    it.

    Text that may belong to either is held back until it is certain.
    """

    def __init__(self) -> None:
        self._raw = ""
        self._held = ""
        self._has_begun = False
        self._leading: str | None = "\n"
        """Characters stripped before the answer; None strips all white space."""

    def feed(self, piece: str) -> str:
        """Return the text that is certain after this piece."""
        self._raw += piece
        opened = _OPEN_ESCAPE.search(self._raw)
        end = opened.start() if opened else len(self._raw)
        raw, self._raw = self._raw[:end], self._raw[end:]
        self._held += without_escapes(raw)
        if not self._has_begun and not self._begin():
            return ""
        end = _end_of_text(self._held, (_PROMPT, _PROMPT[:2], _PROMPT[:1]))
        if len(self._held) - end > MAX_HELD_CHARS:
            end = len(self._held)
        text, self._held = self._held[:end], self._held[end:]
        return text

    def close(self) -> str:
        """Return the rest after the program has ended."""
        self._held += without_escapes(self._raw)
        if not self._has_begun:
            self._begin()
        return self._held[: _end_of_text(self._held, (_PROMPT,))]

    def _begin(self) -> bool:
        """Strip what precedes the answer, and return whether the answer has begun."""
        while label := _LABEL.match(self._held):
            self._held = self._held[label.end() :]
            self._leading = None
        text = self._held.lstrip(self._leading)
        self._held = text
        is_blank = not text.strip() and len(text) <= MAX_HELD_CHARS
        if is_blank or (text.strip() and any(each.startswith(text.lstrip()) for each in _LABELS)):
            return False
        self._has_begun = True
        return True


def _end_of_text(text: str, prompts: Sequence[str]) -> int:
    """Return where the trailing white space begins, including a prompt after it and one space after that.

    A regular expression would take quadratic time on a long run of spaces within the text.
    """
    ended = text.removesuffix(" ")
    for prompt in prompts:
        before = ended.removesuffix(prompt)
        if before != ended and before[-1:].isspace():
            return len(before.rstrip())
    return len(text.rstrip())


def without_escapes(text: str) -> str:
    """Return the text without escapes and control characters; line breaks and tabs stay."""
    return _CONTROL.sub("", _ESCAPE.sub("", text)) if _CONTROL.search(text) else text


MAX_QUOTED_LINES = 8
MAX_QUOTED_CHARS = 600
"""Maximum length of the output quoted from a failed program; its end names the reason."""


def last_words(text: str, masked: Callable[[str], str] = str) -> str:
    """Return the end of a program's output for an error message, with keys masked by `masked`."""
    lines = [line.rstrip() for line in without_escapes(text).splitlines() if line.strip()]
    said = masked("\n".join(lines[-MAX_QUOTED_LINES:]))  # masked before it is cut: a truncated key is not recognised
    return said if len(said) <= MAX_QUOTED_CHARS else "…" + said[-MAX_QUOTED_CHARS:]
