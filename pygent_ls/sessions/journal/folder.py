"""The folder of all journals: making them, taking their locks, finding them."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pygent_ls import __version__
from pygent_ls.agent.messages import now
from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.files import FileJournal, Piece, is_locked, lines_of, locked, read_file
from pygent_ls.sessions.journal.records import Begun, Opened
from pygent_ls.sessions.journal.trash import Belongings, NoBelongings, Trash

if TYPE_CHECKING:  # with it comes pydantic
    from pygent_ls.sessions.journal.recalling import Recalled

LOCK_ATTEMPTS = 5
LOCK_PAUSE_S = 0.02
"""Another process that only looks whether the lock is held has it for a moment."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


class JournalFolder:
    """`ID.jsonl` for each session, for their owner alone. All methods block."""

    def __init__(self, root: Path, belongings: Belongings | None = None) -> None:
        """`belongings` are what is kept of the sessions elsewhere, which goes with their journals."""
        self.root = root
        self.trash = Trash(root, belongings or NoBelongings())

    def path(self, session_id: str) -> Path | None:
        """Where a session's journal is, or would be; None for what is no session's id."""
        return self.root / f"{session_id}.jsonl" if _ID.fullmatch(session_id) else None

    def create(self, begun: Begun) -> FileJournal:
        """A new journal, with its lock. Raises OSError."""
        path = self.path(begun.id)
        if path is None:
            raise ValueError(f"{begun.id!r} is not a valid session id")
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = locked(path, create=True)
        assert descriptor is not None
        journal = FileJournal(path, descriptor)
        try:
            journal.append([begun, opened()])
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink()  # no session begins in it
            journal.close()
            raise
        return journal

    def take(self, session_id: str) -> FileJournal:
        """The session's journal, with its lock. Raises `SessionError`: `unknown_session`, `session_locked`."""
        path = self._file(session_id)
        if path is None:
            raise unknown(session_id)
        for attempt in range(LOCK_ATTEMPTS):
            try:
                descriptor = locked(path)
            except FileNotFoundError:
                raise unknown(session_id) from None
            except OSError as error:
                raise SessionError(
                    f"The session {session_id!r} cannot be written: {error.strerror}. You can still load and fork it.",
                    kind="session_locked",
                ) from None
            if descriptor is not None:
                return FileJournal(path, descriptor)
            if attempt + 1 < LOCK_ATTEMPTS:
                time.sleep(LOCK_PAUSE_S)
        raise SessionError(
            f"The session {session_id!r} is in use by another pygent-ls{_holder(path)}. You can load, attach to and "
            "fork it here. To continue it here, close it there (pygent/session/close).",
            kind="session_locked",
        )

    def check_free(self, session_id: str) -> None:
        """Raises `SessionError` for a session that nobody can go on with here: `unknown_session`, `session_locked`."""
        self.take(session_id).close()

    def recall(self, session_id: str) -> Recalled:
        """The session as its journal has it; while a daemon has it, as it is in this moment. Raises `SessionError`:
        `unknown_session`, `unreadable_session`."""
        return self._recalled(session_id, is_running=self.is_held(session_id))

    def take_up(self, session_id: str) -> tuple[FileJournal, Recalled]:
        """The session and its journal, with its lock. Raises as `take` and `recall` do."""
        journal = self.take(session_id)
        try:
            return journal, self._recalled(session_id, is_running=False)
        except BaseException:
            journal.close()
            raise

    def _recalled(self, session_id: str, *, is_running: bool) -> Recalled:
        from pygent_ls.sessions.journal.recalling import recall

        path = self._file(session_id)
        if path is None:
            raise unknown(session_id)
        try:
            return recall(lines_of(partial(read_file, path)), session_id, is_running=is_running)
        except OSError as error:
            raise SessionError(
                f"The session {session_id!r} cannot be read: {error.strerror}.", kind="unreadable_session"
            ) from None

    def throw_away(self, session_id: str) -> None:
        """Move the session's journal to the trash, of which what has lain there for 30 days is removed; whoever calls
        holds its lock. Raises OSError."""
        path = self.path(session_id)
        if path is None:
            raise unknown(session_id)
        self.trash.add(path)
        self.trash.empty()

    def ids(self) -> set[str]:
        """Of all sessions that are kept, but for those in the trash."""
        with contextlib.suppress(OSError):
            return {each.stem for each in self.root.glob("*.jsonl") if _ID.fullmatch(each.stem)}
        return set()

    def reader(self, session_id: str) -> Callable[[int], Piece]:
        """Reads the session's journal, as `Journal.read` does. Raises `SessionError` (`unknown_session`)."""
        path = self.path(session_id)
        if path is None:
            raise unknown(session_id)
        return partial(read_file, path)

    def is_held(self, session_id: str) -> bool:
        """Whether some daemon holds the session's lock."""
        path = self._file(session_id)
        try:
            return path is not None and is_locked(path)
        except OSError:
            return False

    def exists(self, session_id: str) -> bool:
        """Whether there is such a session."""
        return self._file(session_id) is not None

    def _file(self, session_id: str) -> Path | None:
        """The session's journal; None where there is none, or something else in its place."""
        path = self.path(session_id)
        return path if path is not None and path.is_file() else None


def opened() -> Opened:
    """That this process has taken a session's lock now."""
    return Opened(at=now(), pid=os.getpid(), host=socket.gethostname(), version=__version__)


def unknown(session_id: str) -> SessionError:
    """The error for an id that no session has."""
    return SessionError(
        f"There is no session {session_id!r}. Start one with pygent/session/new.", kind="unknown_session"
    )


def _holder(path: Path) -> str:
    """Who opened the journal last, in words; empty where it does not say."""

    from pygent_ls.sessions.journal.reading import UnreadableError, parsed, record_of

    found = ""
    with contextlib.suppress(OSError):
        for line in lines_of(partial(read_file, path)):
            if b'"type":"opened"' in line.data:
                with contextlib.suppress(UnreadableError):
                    record = record_of(parsed(line.data))
                    if isinstance(record, Opened):
                        found = f" (process {record.pid} on {record.host})"
    return found
