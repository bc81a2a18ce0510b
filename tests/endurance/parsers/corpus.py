"""Inputs that reach something, kept in small text files that the tests replay: one Python literal a line."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"

MAX_KEPT, MAX_BYTES = 15, 150
"""Inputs that are kept of one parser, and the length of each: the shortest reach most for their length."""


def kept(name: str) -> list[bytes]:
    """The inputs that are kept for a parser."""
    file = FOLDER / f"{name}.txt"
    lines = file.read_text("ascii").splitlines() if file.exists() else []
    return [ast.literal_eval(line) for line in lines if line.startswith("b")]


def keep(name: str, inputs: Iterable[bytes]) -> None:
    """Keep a few of these inputs, and those that are kept already."""
    known = kept(name)
    short = sorted(
        {each for each in inputs if 3 < len(each) <= MAX_BYTES} - set(known), key=lambda each: (len(each), each)
    )
    step = max(1, len(short) // MAX_KEPT)
    chosen = known + short[::step][: max(0, MAX_KEPT - len(known))]
    if chosen:
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{name}.txt").write_text("".join(f"{each!r}\n" for each in chosen), "ascii")
