"""What is found in an answer that comes in pieces."""

from __future__ import annotations

from collections.abc import Collection

from pygent_ls.llm.text_tools.blocks import Piece, ToolBlocks


def found_in(text: str, names: Collection[str], size: int) -> list[Piece]:
    """Calls of these tools, and the texts between them joined, of an answer in pieces of that size."""
    blocks = ToolBlocks(names)
    pieces: list[Piece] = []
    for start in range(0, len(text), size):
        pieces += blocks.feed(text[start : start + size])
    together: list[Piece] = []
    for piece in [*pieces, *blocks.close()]:
        if isinstance(piece, str) and together and isinstance(together[-1], str):
            together[-1] += piece
        elif piece:
            together.append(piece)
    return together
