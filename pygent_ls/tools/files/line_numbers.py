"""Numbered lines for the model."""

from __future__ import annotations

from collections.abc import Sequence

LINE_NUMBER = "{:>6}\t"
"""Prefix of each line; six digits are enough for any file that can be read whole."""


def numbered(lines: Sequence[str], first: int) -> str:
    """Format the lines, without their endings, with their numbers; `first` is the first number."""
    return "\n".join(LINE_NUMBER.format(first + index) + line for index, line in enumerate(lines))
