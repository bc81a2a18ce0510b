"""Fields of external JSON, in which any field may be missing or have another type. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

MAX_COUNT = 10**12
"""Maximum plausible token count."""


def obj(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def text(value: object) -> str:
    """Return the value if it is text, else an empty string."""
    return value if isinstance(value, str) else ""


def objects(value: object) -> list[Mapping[str, Any]]:
    """Return the items of a list; an empty list for any other value. An item of another type counts as empty."""
    return [obj(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def texts(value: object) -> list[str]:
    """Return the texts in a list that are not empty; an empty list for any other value."""
    return [each for each in items(value) if each]


def items(value: object) -> list[str]:
    """Return the items of a list; an empty list for any other value. An item that is not text counts as empty."""
    return [text(each) for each in cast("list[object]", value)] if isinstance(value, list) else []


def number(value: object) -> int:
    """Return the value if it is a plausible count, else 0."""
    return value if isinstance(value, int) and 0 < value <= MAX_COUNT else 0


def amount(value: object) -> float | None:
    """Return the value if it is a finite number, at least 0; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0 <= value <= MAX_COUNT else None
