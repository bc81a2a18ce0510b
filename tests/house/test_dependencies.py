"""What is installed is listed with its reasons."""

from __future__ import annotations

import re
from importlib.metadata import distribution

from benchmarks.installed_size import NAME, required_by, size_mb
from tests.house.test_invariants import ROOT

LARGE_MB = 5.0


def listed_in(page: str) -> set[str]:
    """The names in the first column of the tables of a decision."""
    text = (ROOT / "docs/decisions" / page).read_text(encoding="utf-8")
    return {name for cell in re.findall(r"^\| ([^|]+) \|", text, re.M) for name in cell.replace("`", "").split(", ")}


def test_each_large_distribution_is_listed_with_what_needs_it() -> None:
    large = {name for name in required_by(NAME) if size_mb(distribution(name)) > LARGE_MB}

    assert large - listed_in("077-installed-size.md") == set()
