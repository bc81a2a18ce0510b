"""Index of sessions, built from their journals alone, and rebuilt if it is missing or damaged."""

from __future__ import annotations

import asyncio
import errno
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pygent_ls.errors import SessionError
from pygent_ls.sessions.index.database import LOCK_PAUSE_S, Connect, KeptTables, connect, has_fts5, prepared
from pygent_ls.sessions.index.sources import Source
from pygent_ls.sessions.index.tables import Tables
from pygent_ls.sessions.index.updater import catch_up

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Index:
    """Answers questions according to the journals at that moment.

    It works in a thread, on one question at a time. If its file cannot be used, it is built in memory.
    """

    def __init__(self, path: Path | None, *, connect: Connect = connect) -> None:
        """A `path` of None builds the index in memory."""
        self._connect = connect
        self.is_ending = threading.Event()
        self._kept = path and KeptTables(path, connect=connect, is_ending=self.is_ending.is_set)
        self._path = path
        self._spare: Tables | None = None
        self._one_at_a_time = asyncio.Lock()
        self._one_thread = threading.Lock()
        self._has_fts5: bool | None = None
        self._told: set[str] = set()

    async def ask(self, source: Source, question: Callable[[Tables], T]) -> T:
        """Return what `question` finds in the tables, after they were updated from the source.

        Raises `SessionError` (`ending`) after `close`.
        """
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._answer, source, question)

    async def close(self) -> None:
        """Stop answering, and interrupt a question in progress."""
        self.is_ending.set()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._one_thread:
            if self._kept is not None:
                self._kept.close()
            self._drop_spare()

    def _answer(self, source: Source, question: Callable[[Tables], T]) -> T:
        with self._one_thread:
            self._go_on()
            if self._kept is None or self._path is None or not self._path.parent.is_dir():
                return self._in_memory(source, question)
            import sqlite3

            try:
                answer = self._on_disk(self._kept, source, question)
            except (OSError, sqlite3.Error) as error:
                self._go_on()
                self._tell(error.strerror if isinstance(error, OSError) and error.strerror else str(error))
                return self._in_memory(source, question)
            self._drop_spare()
            return answer

    def _on_disk(self, kept: KeptTables, source: Source, question: Callable[[Tables], T]) -> T:
        """Answer from the index file. Raises OSError and `sqlite3.Error` if it cannot be used."""
        import sqlite3

        if not self._finds_words():
            raise OSError(errno.ENOTSUP, "the SQLite of this Python comes without FTS5")
        try:
            return self._asked(kept, source, question)
        except (sqlite3.Error, ValueError, KeyError, TypeError) as error:
            self._go_on()
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise
            _log.info("The index of sessions is broken, and made anew: %s", type(error).__name__)
            return self._asked(kept, source, question, anew=True)

    def _asked(self, kept: KeptTables, source: Source, question: Callable[[Tables], T], *, anew: bool = False) -> T:
        while True:
            with kept.used(anew=anew) as tables:
                if catch_up(tables, source, is_ending=self.is_ending.is_set):
                    return question(tables)
            self._go_on()
            anew = False
            time.sleep(2 * LOCK_PAUSE_S)  # so that other processes, which poll, can take the lock

    def _in_memory(self, source: Source, question: Callable[[Tables], T]) -> T:
        tables = self._spare
        if tables is None:
            tables = self._spare = Tables(prepared(self._connect(":memory:")))
            tables.make(with_words=self._finds_words())
        try:
            while not catch_up(tables, source, is_ending=self.is_ending.is_set):
                self._go_on()
            return question(tables)
        except BaseException:  # the state of the tables is unknown
            self._drop_spare()
            raise

    def _drop_spare(self) -> None:
        if self._spare is not None:
            self._spare.close()
        self._spare = None

    def _finds_words(self) -> bool:
        if self._has_fts5 is None:
            database = self._connect(":memory:")
            self._has_fts5 = has_fts5(database)
            database.close()
        return self._has_fts5

    def _go_on(self) -> None:
        if self.is_ending.is_set():
            raise SessionError("The program ends.", kind="ending")

    def _tell(self, reason: str) -> None:
        """Log, once for each reason, why the index is not on the disk."""
        if reason not in self._told:
            self._told.add(reason)
            _log.warning(
                "The index of sessions cannot be kept in %s, and is made in memory, which takes longer: %s.",
                self._path,
                reason,
            )
