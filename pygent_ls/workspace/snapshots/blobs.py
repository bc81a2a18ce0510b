"""File contents by their git object name, stored for restoring files regardless of git's ignore rules."""

from __future__ import annotations

import contextlib
import time
import zlib
from pathlib import Path

from pygent_ls.workspace.snapshots.restore import blob_of
from pygent_ls.workspace.snapshots.store import put

MAX_CONTENT_BYTES = 16 * 1024**2
"""Largest stored content: above what tools edit (`MAX_DOCUMENT_BYTES`), with room for encodings."""

DAY_S = 86_400


class Contents:
    """Store of compressed files in a folder, or in memory without a `root`. Blocking."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._memory: dict[str, bytes] = {}

    def keep(self, data: bytes) -> str:
        """Store the content, unless it is larger than `MAX_CONTENT_BYTES`; return its name. Raises OSError."""
        name = blob_of(data)
        if len(data) > MAX_CONTENT_BYTES:
            return name
        if self._root is None:
            self._memory[name] = zlib.compress(data, 1)
            return name
        file = self._file(self._root, name)
        if file.exists():
            file.touch()  # so that it is pruned by its last use
        else:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            put(file, zlib.compress(data, 1))
        return name

    def get(self, name: str) -> bytes | None:
        """Return the content by name; None if it is missing or damaged."""
        with contextlib.suppress(OSError, KeyError, zlib.error):
            packed = self._memory[name] if self._root is None else self._file(self._root, name).read_bytes()
            data = zlib.decompress(packed)
            return data if blob_of(data) == name else None
        return None

    @staticmethod
    def _file(root: Path, name: str) -> Path:
        return root / name[:2] / name[2:]


def forget_old_contents(root: Path, days: int) -> None:
    """Remove contents not stored again for so many days, and the folder if it is then empty. Blocking."""
    oldest = time.time() - days * DAY_S
    with contextlib.suppress(OSError):
        for folder in root.iterdir():
            for file in folder.iterdir():
                with contextlib.suppress(OSError):
                    if file.stat().st_mtime < oldest:
                        file.unlink()
            with contextlib.suppress(OSError):
                folder.rmdir()
        root.rmdir()
