"""Files that define own tools, in a folder of the user or of a workspace."""

from __future__ import annotations

from pathlib import Path

MAX_FILES = 100
"""Maximum number of files in one folder; more are left out."""

MAX_FILE_BYTES = 1_000_000
"""Maximum size of a file."""


def tool_files(folder: Path) -> list[Path]:
    """Return the Python files of the folder, by name, without those whose names begin with `_` or a dot; empty if the
    folder cannot be read. Blocking."""
    try:
        found = sorted(each for each in folder.glob("*.py") if not each.name.startswith(("_", ".")))
    except OSError:
        return []
    return found[:MAX_FILES]
