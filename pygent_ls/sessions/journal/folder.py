"""Folder of all journals: creates, locks and finds them."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pygent_ls import __version__
from pygent_ls.agent.messages import now
from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.decoder import UnreadableError, parsed, record_of
from pygent_ls.sessions.journal.files import FileJournal, Piece, is_locked, lines_of, locked, read_file
from pygent_ls.sessions.journal.records import Begun, Opened
from pygent_ls.sessions.journal.replay import Recalled, recall
from pygent_ls.sessions.journal.trash import Belongings, NoBelongings, Trash

LOCK_ATTEMPTS = 5
LOCK_PAUSE_S = 0.02
"""Delay between attempts. Another process that only checks whether the lock is held has it for a moment."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


class JournalFolder:
    """Folder with `ID.jsonl` for each session, readable only by their owner. All methods block."""

    def __init__(self, root: Path, belongings: Belongings | None = None) -> None:
        """`belongings` are other data stored for the sessions, which follow their journals."""
        self.root = root
        self.trash = Trash(root, belongings or NoBelongings())

    def path(self, session_id: str) -> Path | None:
        """Return the path of a session's journal, which need not exist; None for an invalid session id."""
        return self.root / f"{session_id}.jsonl" if _ID.fullmatch(session_id) else None

    def create(self, begun: Begun) -> FileJournal:
        """Create a journal and lock it. Raises OSError."""
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
                path.unlink()  # do not leave a journal without a session
            journal.close()
            raise
        return journal

    def take(self, session_id: str) -> FileJournal:
        """Lock the session's journal and return it. Raises `SessionError`: `unknown_session`, `session_locked`."""
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
        """Raise `SessionError` if the session cannot be resumed here: `unknown_session`, `session_locked`."""
        self.take(session_id).close()

    def recall(self, session_id: str) -> Recalled:
        """Load the session from its journal; if a daemon owns it, its current state. Raises `SessionError`:
        `unknown_session`, `unreadable_session`."""
        return self._recalled(session_id, is_running=self.is_held(session_id))

    def take_up(self, session_id: str) -> tuple[FileJournal, Recalled]:
        """Lock and load the session. Raises like `take` and `recall`."""
        journal = self.take(session_id)
        try:
            return journal, self._recalled(session_id, is_running=False)
        except BaseException:
            journal.close()
            raise

    def _recalled(self, session_id: str, *, is_running: bool) -> Recalled:
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
        """Move the session's journal to the trash, and remove what has been there for 30 days. The caller holds the
        journal's lock. Raises OSError."""
        path = self.path(session_id)
        if path is None:
            raise unknown(session_id)
        self.trash.add(path)
        self.trash.empty()

    def ids(self) -> set[str]:
        """Return the ids of all stored sessions, without those in the trash."""
        with contextlib.suppress(OSError):
            return {each.stem for each in self.root.glob("*.jsonl") if _ID.fullmatch(each.stem)}
        return set()

    def reader(self, session_id: str) -> Callable[[int], Piece]:
        """Return a function that reads the session's journal like `Journal.read`. Raises `SessionError`
        (`unknown_session`)."""
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
        """Whether the session exists."""
        return self._file(session_id) is not None

    def _file(self, session_id: str) -> Path | None:
        """Return the session's journal; None if it is missing or not a file."""
        path = self.path(session_id)
        return path if path is not None and path.is_file() else None


def opened() -> Opened:
    """Return the record that this process has taken a session's lock now."""
    return Opened(at=now(), pid=os.getpid(), host=socket.gethostname(), version=__version__)


def unknown(session_id: str) -> SessionError:
    """Return the error for an unknown session id."""
    return SessionError(
        f"There is no session {session_id!r}. Start one with pygent/session/new.", kind="unknown_session"
    )


def _holder(path: Path) -> str:
    """Return a description of the process that last opened the journal; empty if the journal does not say."""

    found = ""
    with contextlib.suppress(OSError):
        for line in lines_of(partial(read_file, path)):
            if b'"type":"opened"' in line.data:
                with contextlib.suppress(UnreadableError):
                    record = record_of(parsed(line.data))
                    if isinstance(record, Opened):
                        found = f" (process {record.pid} on {record.host})"
    return found
