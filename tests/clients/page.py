"""The set-up of an editor as `docs/editors.md` has it, so that what is written there is what is tested."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "editors.md"


def set_up(heading: str, language: str) -> str:
    """The first block in this language below a heading of the second level. Raises AssertionError."""
    text = PAGE.read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert section, f"{PAGE} has no heading {heading!r}"
    block = re.search(rf"^```{language}\n(.*?)^```$", section[1], re.M | re.S)
    assert block, f"{heading!r} has no block in {language}"
    return block[1]
