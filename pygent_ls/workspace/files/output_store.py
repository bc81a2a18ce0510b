"""Complete results of truncated outputs, in the state folder: one folder per session, one private file per result."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock

STALE_S = 7 * 24 * 3600.0
"""Age without writes after which a folder without a stored session counts as left behind by a daemon."""

MAX_ALL_BYTES = 512_000_000
"""Maximum total size of all sessions; folders without a stored session are removed first, then the least recently
written.
"""

N_NAME_CHARS = 32
"""Number of digest characters in a file name: ids come from the provider and may contain anything."""


def _none() -> Iterable[str]:
    return ()


class KeptOutputs:
    """Folder of all sessions' results. They are kept as long as the session is, if there is room.

    Leftovers are removed when the first result is stored, and by `tidy`.
    """

    def __init__(
        self,
        root: Path,
        *,
        session_ids: Callable[[], Iterable[str]] = _none,
        max_all_bytes: int = MAX_ALL_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Create the store. `session_ids` returns the stored sessions, including the trash, and may block; `clock`
        returns seconds since the epoch, as file times do.
        """
        self.root = root
        self._session_ids = session_ids
        self._max_all_bytes = max_all_bytes
        self._clock = clock
        self._ours: set[Path] = set()
        self._lock = Lock()
        self._has_tidied = False

    def of(self, session_id: str) -> SessionOutputs:
        """Return the `OutputStore` of one session."""
        return SessionOutputs(self, self.root / _name(session_id))

    def prepare(self, folder: Path) -> None:
        """Create a session's folder. Raises OSError."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock:
            self._ours.add(folder)
            if self._has_tidied:
                return
            self._has_tidied = True
        self.tidy()

    def forget(self, folder: Path) -> None:
        """Remove a session's folder, as far as possible."""
        with self._lock:
            self._ours.discard(folder)
        shutil.rmtree(folder, ignore_errors=True)

    def forget_session(self, session_id: str) -> None:
        """Remove a session's stored results. Blocking."""
        self.forget(self.root / _name(session_id))

    def tidy(self) -> None:
        """Remove stale folders without a session, and the oldest folders above the total limit, except those that this
        daemon has written to. Blocking.
        """
        found: list[tuple[bool, float, int, Path]] = []
        kept = {_name(each) for each in self._session_ids()}
        with suppress(FileNotFoundError):
            for folder in self.root.iterdir():
                with suppress(OSError):  # another daemon removed it meanwhile
                    if not folder.is_symlink() and folder.is_dir():
                        n_bytes = sum(each.lstat().st_size for each in folder.iterdir())
                        found.append((folder.name in kept, folder.stat().st_mtime, n_bytes, folder))
        n_all = sum(n_bytes for *_, n_bytes, _ in found)
        for is_kept, written_at, n_bytes, folder in sorted(found):
            with self._lock:
                is_ours = folder in self._ours
            is_stale = not is_kept and self._clock() - written_at > STALE_S
            if not is_ours and (n_all > self._max_all_bytes or is_stale):
                shutil.rmtree(folder, ignore_errors=True)
                n_all -= n_bytes


class SessionOutputs:
    """Implementation of `OutputStore` on the disk. Files have mode 0600 and their folder 0700."""

    def __init__(self, all_sessions: KeptOutputs, folder: Path) -> None:
        self._all = all_sessions
        self._folder = folder

    async def write(self, tool_id: str, content: bytes, max_bytes: int) -> str:
        """Implement `OutputStore`."""
        return await asyncio.to_thread(self._write, self._path(tool_id), content, max_bytes)

    async def read(self, tool_id: str) -> bytes | None:
        """Implement `OutputStore`."""
        return await asyncio.to_thread(_read, self._path(tool_id))

    async def has(self, tool_id: str) -> bool:
        """Implement `OutputStore`."""
        return await asyncio.to_thread(self._path(tool_id).is_file)

    async def clear(self) -> None:
        """Implement `OutputStore`."""
        await asyncio.to_thread(self._all.forget, self._folder)

    def _path(self, tool_id: str) -> Path:
        return self._folder / f"{_name(tool_id)}.txt"

    def _write(self, path: Path, content: bytes, max_bytes: int) -> str:
        draft = path.with_suffix(".draft")
        try:
            self._all.prepare(self._folder)
            self._make_room(max_bytes - len(content), path)
            _remove(draft)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
            draft.replace(path)
        except OSError as error:
            _remove(draft)
            return error.strerror or type(error).__name__
        return ""

    def _make_room(self, max_bytes: int, path: Path) -> None:
        """Remove the oldest files until all except `path` take at most so many bytes."""
        others: list[tuple[int, int, Path]] = []
        for each in self._folder.glob("*.txt"):
            if each != path:
                about = each.lstat()
                others.append((about.st_mtime_ns, about.st_size, each))
        n_bytes = sum(size for _, size, _ in others)
        for _, size, oldest in sorted(others):
            if n_bytes <= max_bytes:
                return
            _remove(oldest)
            n_bytes -= size


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
