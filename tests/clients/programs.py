"""Which programs of the system are there for the tests; `.ci/editors` looks, and says what is missing."""

from __future__ import annotations

from pathlib import Path

MISSING = Path(__file__).parents[2] / "build" / "editors-missing"


def are_here(*names: str) -> bool:
    """False where one of `emacs`, `vim`, `tmux`, `luacheck` was found missing: a conftest then leaves out what needs
    it.

    Where nobody has looked they count as here, and their tests say what they do not find.
    """
    missing = MISSING.read_text(encoding="utf-8").split() if MISSING.exists() else []
    return not set(names) & set(missing)
