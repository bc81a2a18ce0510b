"""What a parser promises, as a function of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """One parser with its contract."""

    check: Callable[[bytes], object]
    """Parses the bytes. Any exception is a broken promise: documented ones are caught in it."""
    seeds: Sequence[bytes]
    """Inputs that reach most of the parser."""
    is_linear: bool = True
    """Whether the time may grow no faster than the input."""


def text_of(data: bytes) -> str:
    """The bytes as a text without halves of characters."""
    return data.decode("utf-8", "replace")


def json_text_of(data: bytes) -> str:
    """The bytes as a text that may hold halves of surrogate pairs, as JSON texts may."""
    return data.decode("utf-8", "surrogateescape")


def sized(data: bytes) -> tuple[int, bytes]:
    """A size of pieces, from the first byte, and the other bytes."""
    return (data[0] % 16 + 1 if data else 1), data[1:]


def pieces_of(given: str, size: int) -> Iterator[str]:
    """The text in pieces of that size."""
    return (given[at : at + size] for at in range(0, len(given), size))


def bytes_in_pieces(given: bytes, size: int) -> Iterator[bytes]:
    """The bytes in pieces of that size."""
    return (given[at : at + size] for at in range(0, len(given), size))
