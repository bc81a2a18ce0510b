"""Results that were cut, kept whole in the state folder: a folder a session, a file a result, for their owner alone."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock

STALE_S = 7 * 24 * 3600.0
"""A session's folder in which nothing was written so long is one that a daemon left behind."""

MAX_ALL_BYTES = 512_000_000
"""Of all sessions together; the ones that were written to longest ago go first."""

N_NAME_CHARS = 32
"""Of a digest, for a name: ids are the provider's, and may be anything."""


class KeptOutputs:
    """The folder of all sessions. What was left behind is removed when the first result is kept."""

    def __init__(
        self, root: Path, *, max_all_bytes: int = MAX_ALL_BYTES, clock: Callable[[], float] = time.time
    ) -> None:
        """`clock` gives seconds since the epoch, as files' times are."""
        self.root = root
        self._max_all_bytes = max_all_bytes
        self._clock = clock
        self._ours: set[Path] = set()
        self._lock = Lock()
        self._has_tidied = False

    def of(self, session_id: str) -> SessionOutputs:
        """One session's, as an `OutputStore`."""
        return SessionOutputs(self, self.root / _name(session_id))

    def prepare(self, folder: Path) -> None:
        """Make a session's folder. Raises OSError."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock:
            self._ours.add(folder)
            if self._has_tidied:
                return
            self._has_tidied = True
        self._tidy()

    def forget(self, folder: Path) -> None:
        """Remove a session's folder, as far as that is possible."""
        with self._lock:
            self._ours.discard(folder)
        shutil.rmtree(folder, ignore_errors=True)

    def _tidy(self) -> None:
        """Remove the folders of others that are stale, and the oldest ones where all of them are too large."""
        found: list[tuple[float, int, Path]] = []
        for folder in self.root.iterdir():
            with suppress(OSError):  # another daemon removed it meanwhile
                if not folder.is_symlink() and folder.is_dir():
                    n_bytes = sum(each.lstat().st_size for each in folder.iterdir())
                    found.append((folder.stat().st_mtime, n_bytes, folder))
        n_all = sum(n_bytes for _, n_bytes, _ in found)
        for written_at, n_bytes, folder in sorted(found):
            with self._lock:
                is_ours = folder in self._ours
            if not is_ours and (n_all > self._max_all_bytes or self._clock() - written_at > STALE_S):
                shutil.rmtree(folder, ignore_errors=True)
                n_all -= n_bytes


class SessionOutputs:
    """The `OutputStore` port on the disk. Files are 0600 and their folder 0700."""

    def __init__(self, all_sessions: KeptOutputs, folder: Path) -> None:
        self._all = all_sessions
        self._folder = folder

    async def write(self, tool_id: str, content: bytes) -> str:
        """See the port."""
        return await asyncio.to_thread(self._write, self._path(tool_id), content)

    async def read(self, tool_id: str) -> bytes | None:
        """See the port."""
        return await asyncio.to_thread(_read, self._path(tool_id))

    async def remove(self, tool_id: str) -> None:
        """See the port."""
        await asyncio.to_thread(_remove, self._path(tool_id))

    async def clear(self) -> None:
        """See the port."""
        await asyncio.to_thread(self._all.forget, self._folder)

    def _path(self, tool_id: str) -> Path:
        return self._folder / f"{_name(tool_id)}.txt"

    def _write(self, path: Path, content: bytes) -> str:
        draft = path.with_suffix(".draft")
        try:
            self._all.prepare(self._folder)
            _remove(draft)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
            draft.replace(path)
        except OSError as error:
            _remove(draft)
            return error.strerror or type(error).__name__
        return ""


def _name(given_id: str) -> str:
    return hashlib.sha256(given_id.encode("utf-8", "surrogatepass")).hexdigest()[:N_NAME_CHARS]


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
