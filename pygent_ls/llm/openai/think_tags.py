"""Thinking that a server leaves in the text of an answer, between `<think>` and `</think>`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct, field

from pygent_ls.agent.ports.model import TextChunk, ThinkingChunk

OPEN = "<think>"
CLOSE = "</think>"

_OPENS_IN_PROMPT = re.compile(r"deepseek[-_]?r1|r1[-_]distill|\bqwq\b|qwen3.{0,100}thinking", re.I)
"""Models whose chat template ends the prompt with `<think>`, so that the answer begins inside the tag."""


def opens_in_prompt(model: str) -> bool:
    """Whether the model's answer may begin with thinking without an opening tag."""
    return bool(_OPENS_IN_PROMPT.search(model))


class ThinkTags(Struct, kw_only=True):
    """Splits the text of one answer into text and thinking.

    `off` is called when thinking arrives in its own field, `close` at the end. Only a tag at the very beginning counts:
    later in an answer it is part of the text.
    """

    may_be_open: bool = False
    """Whether the answer may begin inside the tag; the text is then held back until the closing tag arrives."""
    _state: Literal["start", "unopened", "thinking", "gap", "text"] = "start"
    """`unopened`: the answer began without a tag, but a closing tag may still come."""
    _held: list[str] = field(default_factory=list[str])
    """Undecided text, in pieces, joined only when the next one decides: otherwise the time would be quadratic."""

    def feed(self, piece: str) -> Iterator[TextChunk | ThinkingChunk]:
        """Yield the chunks that the next piece of text completes."""
        if self._state == "text":
            yield from _text(piece)
            return
        if not piece:
            return
        if not self._is_decided_by(piece):
            self._held.append(piece)
            return
        text = "".join([*self._held, piece])
        self._held = []
        match self._state:
            case "start":
                yield from self._start(text)
            case "unopened" | "thinking":
                self._state = "thinking"
                yield from self._thinking(text)
            case "gap":
                yield from self._gap(text)

    def off(self) -> Iterator[TextChunk | ThinkingChunk]:
        """Stop looking for tags: thinking arrives separately, so text held back and all later text is plain text."""
        yield from self.close()
        self._state = "text"

    def close(self) -> Iterator[TextChunk | ThinkingChunk]:
        """Yield the text held back, at the end of the answer."""
        held, self._held = "".join(self._held), []
        if self._state == "thinking":
            yield from _thinking(held)
        elif self._state in ("start", "unopened"):
            yield from _text(held)

    def _is_decided_by(self, piece: str) -> bool:
        """Whether the piece may change the state or complete a chunk, instead of only being held back."""
        match self._state:
            case "start":
                return not piece.isspace() or not all(each.isspace() for each in self._held[-1:])
            case "unopened":
                return CLOSE in "".join([*self._held[1 - len(CLOSE) :], piece])
            case _:
                return True

    def _start(self, text: str) -> Iterator[TextChunk | ThinkingChunk]:
        begun = text.lstrip()
        if begun.startswith(OPEN):
            self._state = "thinking"
            yield from self._thinking(begun[len(OPEN) :])
        elif OPEN.startswith(begun):
            self._held = [text]
        elif not self.may_be_open:
            self._state = "text"
            yield from _text(text)
        elif CLOSE in text:
            self._state = "thinking"
            yield from self._thinking(text)
        else:
            self._state = "unopened"
            self._held = [text]

    def _thinking(self, text: str) -> Iterator[TextChunk | ThinkingChunk]:
        thought, tag, rest = text.partition(CLOSE)
        if tag:
            yield from _thinking(thought)
            self._state = "gap"
            yield from self._gap(rest)
            return
        n_held = next((n for n in range(len(CLOSE) - 1, 0, -1) if text.endswith(CLOSE[:n])), 0)
        yield from _thinking(text[: len(text) - n_held])
        self._held = [text[len(text) - n_held :]]

    def _gap(self, text: str) -> Iterator[TextChunk | ThinkingChunk]:
        """Skip empty lines between the thinking and the answer."""
        answer = text.lstrip()
        if answer:
            self._state = "text"
            yield from _text(answer)


def _text(text: str) -> Iterator[TextChunk]:
    if text:
        yield TextChunk(text=text)


def _thinking(text: str) -> Iterator[ThinkingChunk]:
    if text:
        yield ThinkingChunk(thinking=text)
