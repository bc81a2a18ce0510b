"""Which programs of the system are there for the tests; `.ci/programs` looks, and says what is missing."""

from __future__ import annotations

from pathlib import Path

MISSING = Path(__file__).parents[2] / "build" / "programs-missing"


def are_here(*names: str) -> bool:
    """Return False if one of `emacs`, `vim`, `tmux`, `luacheck`, `espeak-ng`, `initdb`, `podman`, `ssh` is missing: a
    conftest then leaves out its tests. Without a check they count as present, and their tests report what is
    missing."""
    missing = MISSING.read_text(encoding="utf-8").split() if MISSING.exists() else []
    return not set(names) & set(missing)
