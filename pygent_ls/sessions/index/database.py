"""The index's file: used by one process at a time, and containing only what this program wrote."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pygent_ls.sessions.index.tables import Tables

if TYPE_CHECKING:  # imported with the first use of the index
    import sqlite3

Connect = Callable[[str], "sqlite3.Connection"]

LOCK_WAIT_S = 10.0
"""Time to wait for other daemons, which hold the lock for less than a second at a time."""

LOCK_PAUSE_S = 0.005

BUSY = b"busy\n"
"""Content of the lock file while the index may be written. After a crash, SQLite's own journal restores the index."""

CACHE_KIB = 16_000


def connect(path: str) -> sqlite3.Connection:
    """Open a database: a file, or `:memory:`."""
    import sqlite3

    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def prepared(database: sqlite3.Connection) -> sqlite3.Connection:
    """Return the connection with the pragmas set. Raises `sqlite3.Error`."""
    for pragma in (
        "journal_mode = TRUNCATE",
        "synchronous = NORMAL",
        "temp_store = MEMORY",
        f"cache_size = -{CACHE_KIB}",
    ):
        database.execute(f"PRAGMA {pragma}")
    return database


def has_fts5(database: sqlite3.Connection) -> bool:
    """Whether this SQLite can index words."""
    import sqlite3

    try:
        database.execute("CREATE VIRTUAL TABLE temp.probe USING fts5(text)")
        database.execute("DROP TABLE temp.probe")
    except sqlite3.Error:
        return False
    return True


class KeptTables:
    """Tables in a file, readable only by the owner, which several daemons use in turn. All methods block.

    The lock is a separate file beside it and is held for every use, so a broken index can be replaced while others have
    it open. The lock file records the size and time of the index after its last use. An index that differs was written
    by something else or only in part, and is replaced.
    """

    def __init__(self, path: Path, *, connect: Connect, is_ending: Callable[[], bool]) -> None:
        self._path = path
        self._connect = connect
        self._is_ending = is_ending
        self._tables: Tables | None = None
        self._file: os.stat_result | None = None

    @contextmanager
    def used(self, *, anew: bool = False) -> Generator[Tables]:
        """Lock the tables for this daemon and yield them; with `anew` they are empty.

        Raises `sqlite3.Error` and OSError if they cannot be used. They may be usable with `anew`.
        """
        with self._locked() as lock:
            if anew or os.pread(lock, 200, 0) not in (BUSY, self._seal()):
                self._remove()
            self._write(lock, BUSY)
            try:
                yield self._opened()
            except BaseException:  # the state of the tables is unknown
                self.close()
                raise
            self._write(lock, self._seal())

    def close(self) -> None:
        """Close the file. It can be used again."""
        if self._tables is not None:
            self._tables.close()
        self._tables = self._file = None

    @contextmanager
    def _locked(self) -> Generator[int]:
        lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            until = time.monotonic() + LOCK_WAIT_S
            while not _try_to_lock(lock):
                if self._is_ending() or time.monotonic() > until:
                    raise TimeoutError(errno.ETIMEDOUT, "another process does not let go of it")
                time.sleep(LOCK_PAUSE_S)
            yield lock
        finally:
            os.close(lock)

    def _seal(self) -> bytes:
        """Return what identifies the file after its use; empty if it does not exist."""
        try:
            about = self._path.stat()
        except FileNotFoundError:
            return b""
        return f"{about.st_size} {about.st_mtime_ns} {about.st_ino}\n".encode()

    def _write(self, lock: int, seal: bytes) -> None:
        os.ftruncate(lock, 0)
        os.pwrite(lock, seal, 0)

    def _remove(self) -> None:
        self.close()
        for suffix in ("", "-journal", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _opened(self) -> Tables:
        if self._tables is not None and self._file is not None and self._is_same(self._file):
            return self._tables
        self.close()
        tables = self._connected()
        if not tables.are_current():
            tables.close()
            self._remove()
            tables = self._connected()
            tables.make()
        self._tables, self._file = tables, self._path.stat()
        return tables

    def _is_same(self, file: os.stat_result) -> bool:
        try:
            return os.path.samestat(file, self._path.stat())
        except FileNotFoundError:
            return False

    def _connected(self) -> Tables:
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        return Tables(prepared(self._connect(str(self._path))))


def _try_to_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
