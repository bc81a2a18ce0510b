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
    """The tree of a text, what the stand-ins in it stand for, and its bytes; None where there are too many characters.

    tree-sitter-bash 0.25 looks characters up in C's tables of 256 entries: one beyond them can end the process.
    """
    foreign = dict.fromkeys(each for each in text if ord(each) > 0x7F)
    free = [each for each in _STAND_INS if each not in foreign]
    if len(foreign) > len(free):
        return None
    pairs = dict(zip(foreign, free, strict=False))
    source = text.translate(str.maketrans(pairs)).encode()
    return _parser().parse(source), {ord(stand_in): each for each, stand_in in pairs.items()}, source


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
