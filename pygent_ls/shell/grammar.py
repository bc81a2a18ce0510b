"""The bash grammar, and preparation of texts for it."""

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
"""Characters that the grammar and bash read differently, or that are invisible."""

_STAND_INS = [chr(code) for code in range(0xA1, 0x100)]


def parse(text: str) -> tuple[Tree, dict[int, str], bytes] | None:
    """Return the tree of a text, the characters replaced by stand-ins, and the parsed bytes.

    Returns None if there are too many different characters, or if tree-sitter reads too much of the text repeatedly:
    for text that is not bash, that grows with the square of its length. tree-sitter-bash 0.25 looks characters up in C
    tables of 256 entries: one beyond them can crash the process.
    """
    foreign = dict.fromkeys(each for each in text if ord(each) > 0x7F)
    free = [each for each in _STAND_INS if each not in foreign]
    if len(foreign) > len(free):
        return None
    pairs = dict(zip(foreign, free, strict=False))
    source = text.translate(str.maketrans(pairs)).encode()
    reader = _SourceReader(source)
    _parser().parse(reader.read)
    if reader.n_left < 0:
        return None
    tree = _parser().parse(source)  # a tree parsed with a callback calls it for each node's text, and may crash
    return tree, {ord(stand_in): each for each, stand_in in pairs.items()}, source


CHUNK_BYTES = 64

MAX_READS = 40
"""Average number of reads allowed per chunk. Bash texts take three."""


class _SourceReader:
    """Passes a source to tree-sitter in chunks; after too many reads it reports the end of the source."""

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
