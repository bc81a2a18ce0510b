"""Two tools: one reads a file as the editor has it, the other runs a program."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from pydantic import Field

from pygent_ls.api import Context, ToolError, tool


@tool(risk="low", read_only=True)
def word_counts(
    context: Context,
    path: Annotated[str, Field(description="File in the workspace.")],
    most: Annotated[int, Field(ge=1, le=100, description="Number of words to return.")] = 5,
) -> dict[str, int]:
    """Count the most frequent words of a file, unsaved changes included."""
    words = Counter(context.read(path).lower().split())
    if not words:
        raise ToolError(f"{path} has no words.")
    return dict(words.most_common(most))


@tool(risk="medium", read_only=True)
def word_total(context: Context, path: str) -> str:
    """Count all words of a file on the disk with `wc`."""
    done = context.run(["wc", "-w", path])
    if done.exit_code:
        raise ToolError(done.output)
    return done.output.split()[0]
