"""Bounded buffer for a program's output: all of it, or its head and its tail."""

from __future__ import annotations

from collections import deque

MAX_PIECES = 256
"""Maximum number of pieces, beyond which those of the tail are joined: a program that writes single characters costs no
more memory than one that writes pages."""


class KeptOutput:
    """Text that arrives in pieces; the first and the last characters are kept, half each."""

    def __init__(self, max_chars: int) -> None:
        self._head_chars = max_chars // 2
        self._tail_chars = max_chars - self._head_chars
        self._head: list[str] = []
        self._head_left = self._head_chars
        self._tail: deque[str] = deque()
        self._n_tail = 0
        self._n_dropped = 0

    @property
    def omitted_chars(self) -> int:
        """Number of characters that are not kept."""
        return self._n_dropped + max(0, self._n_tail - self._tail_chars)

    def add(self, text: str) -> None:
        """Add the next piece."""
        if self._head_left:
            self._head.append(text[: self._head_left])
            text, self._head_left = text[self._head_left :], max(0, self._head_left - len(text))
        if text:
            self._tail.append(text)
            self._n_tail += len(text)
            self._trim()

    def text(self) -> str:
        """Return all of it, or the head, a line that says how much is left out, and the tail."""
        tail = "".join(self._tail)
        if not self.omitted_chars:
            return "".join(self._head) + tail
        kept = tail[len(tail) - self._tail_chars :]
        return f"{''.join(self._head)}\n[… {self.omitted_chars} characters left out …]\n{kept}"

    def _trim(self) -> None:
        while self._tail and self._n_tail - len(self._tail[0]) >= self._tail_chars:
            self._drop(len(self._tail.popleft()))
        if len(self._tail) > MAX_PIECES:
            joined = "".join(self._tail)
            self._drop(max(0, len(joined) - self._tail_chars))
            self._tail = deque([joined[-self._tail_chars :] if self._tail_chars else ""])
        if len(self._head) > MAX_PIECES:
            self._head = ["".join(self._head)]

    def _drop(self, n_chars: int) -> None:
        self._n_dropped += n_chars
        self._n_tail -= n_chars
