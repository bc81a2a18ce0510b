"""Lines with their numbers, as the model reads them."""

from __future__ import annotations

from collections.abc import Sequence

LINE_NUMBER = "{:>6}\t"
"""What stands before each line; six digits are enough for any file that can be read whole."""


def numbered(lines: Sequence[str], first: int) -> str:
    """The lines, without their endings, each after its number; `first` is the number of the first."""
    return "\n".join(LINE_NUMBER.format(first + index) + line for index, line in enumerate(lines))
