"""The grammar of bash, and texts made fit for it."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u3000\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that the grammar and bash read differently, or that a person does not see."""

_STAND_INS = [chr(code) for code in range(0xA1, 0x100)]


def parse(text: str) -> tuple[Tree, dict[int, str], bytes] | None:
    """The tree of a text, what the stand-ins in it stand for, and its bytes.

    None if there are too many different characters, or if tree-sitter reads too much of the text again and again: where
    the text is no bash, that grows with the square of its length. tree-sitter-bash 0.25 looks characters up in C's
    tables of 256 entries: one beyond them can end the process.
    """
    foreign = dict.fromkeys(each for each in text if ord(each) > 0x7F)
    free = [each for each in _STAND_INS if each not in foreign]
    if len(foreign) > len(free):
        return None
    pairs = dict(zip(foreign, free, strict=False))
    source = text.translate(str.maketrans(pairs)).encode()
    reader = _Reader(source)
    _parser().parse(reader.read)
    if reader.n_left < 0:
        return None
    tree = _parser().parse(source)  # a tree that was read by a function asks it for each node's text, and may crash
    return tree, {ord(stand_in): each for each, stand_in in pairs.items()}, source


CHUNK_BYTES = 64

MAX_READS = 40
"""Of each chunk, on average. Texts that are bash take three."""


class _Reader:
    """Gives a source to tree-sitter in chunks, until it has asked too often; then the source is at its end."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.n_left = (len(source) // CHUNK_BYTES + 10) * MAX_READS

    def read(self, at: int, _position: object) -> bytes:
        self.n_left -= 1
        return self._source[at : at + CHUNK_BYTES] if self.n_left >= 0 else b""


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
