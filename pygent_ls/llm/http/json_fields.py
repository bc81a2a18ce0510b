"""Fields of JSON that came from outside, where any field may be missing or of another type. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

MAX_COUNT = 10**12
"""Of tokens; more is no count."""


def obj(value: object) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def text(value: object) -> str:
    """The value where it is text, else none."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """The value where it is a count, else 0."""
    return value if isinstance(value, int) and 0 < value <= MAX_COUNT else 0


def amount(value: object) -> float | None:
    """The value where it is a finite number from 0; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0 <= value <= MAX_COUNT else None
