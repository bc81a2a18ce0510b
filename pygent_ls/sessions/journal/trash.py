"""Trash: the journals of deleted sessions are kept for 30 days and can be restored. Everything here blocks."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from pygent_ls.errors import SessionError

TRASH = "trash"
"""Name of the folder for deleted journals, beside the others."""

TRASH_DAYS = 30

DAY_S = 24 * 3600.0

EMPTIED = ".emptied"
"""Name of a file in the trash whose time is that of the last clean-up."""


class Belongings(Protocol):
    """Data stored for sessions besides their journals. No method raises."""

    def put_away(self, session_id: str) -> None:
        """Hide the data of a deleted session, without losing any."""
        ...

    def bring_back(self, session_id: str) -> None:
        """Make the data of a restored session available again."""
        ...

    def forget(self, session_id: str) -> None:
        """Delete the data for good."""
        ...


class NoBelongings:
    """Default without data besides journals."""

    def put_away(self, session_id: str) -> None:
        """Return at once."""

    def bring_back(self, session_id: str) -> None:
        """Return at once."""

    def forget(self, session_id: str) -> None:
        """Return at once."""


class Trashed(Struct, frozen=True, kw_only=True):
    """A deleted session."""

    id: str
    path: Path
    deleted_at: datetime

    @property
    def gone_at(self) -> datetime:
        """Time from which the session may be removed for good."""
        return self.deleted_at + timedelta(days=TRASH_DAYS)


class Trash:
    """Trash of one folder of journals."""

    def __init__(self, journals: Path, belongings: Belongings, *, clock: Callable[[], float] = time.time) -> None:
        """`clock` returns seconds since the epoch, like file times."""
        self._journals = journals
        self._belongings = belongings
        self._clock = clock
        self.root = journals / TRASH

    def add(self, journal: Path) -> None:
        """Move a journal to the trash. The caller holds its lock. Trashed journals of the same name stay, too. Raises
        OSError."""
        self.root.mkdir(mode=0o700, exist_ok=True)
        now = self._clock()
        os.utime(journal, (now, now))  # the days are counted from now
        session_id = journal.stem
        for n in count(1):
            with contextlib.suppress(FileExistsError):
                _move(journal, self.root / (f"{session_id}.jsonl" if n == 1 else f"{session_id}.{n}.jsonl"))
                break
        self._belongings.put_away(session_id)

    def listed(self) -> list[Trashed]:
        """Return the trashed sessions, the last deleted first."""
        return sorted(self._all(), key=lambda each: (each.deleted_at, each.path), reverse=True)

    def restore(self, session_id: str) -> None:
        """Restore a session; the last deleted one, if there are several of that id. Raises `SessionError`:
        `unknown_session`, `session_exists`, `not_restored`."""
        found = next((each for each in self.listed() if each.id == session_id), None)
        if found is None:
            raise SessionError(f"There is no session {session_id!r} in the trash.", kind="unknown_session")
        try:
            _move(found.path, self._journals / f"{session_id}.jsonl")
        except FileExistsError:
            raise SessionError(
                f"A session {session_id!r} already exists. Delete it before you restore this one.",
                kind="session_exists",
            ) from None
        except OSError as error:
            raise SessionError(
                f"The session {session_id!r} cannot be restored: {error.strerror}.", kind="not_restored"
            ) from None
        self._belongings.bring_back(session_id)

    def empty(self) -> None:
        """Remove sessions that were deleted more than 30 days ago, with all their data."""
        oldest = datetime.fromtimestamp(self._clock(), UTC) - timedelta(days=TRASH_DAYS)
        for each in self.listed():
            if each.deleted_at < oldest:
                with contextlib.suppress(OSError):
                    each.path.unlink()
                    if not self._is_there(each.id):
                        self._belongings.forget(each.id)

    def empty_daily(self) -> bool:
        """Call `empty` unless that was done within a day; return whether it was called."""
        stamp = self.root / EMPTIED
        with contextlib.suppress(OSError):
            if 0 <= self._clock() - stamp.stat().st_mtime < DAY_S:
                return False
        with contextlib.suppress(OSError):
            if self._journals.is_dir():
                self.root.mkdir(mode=0o700, exist_ok=True)
                stamp.touch(mode=0o600)
                os.utime(stamp, (self._clock(), self._clock()))
        self.empty()
        return True

    def _is_there(self, session_id: str) -> bool:
        """Whether another journal of that id exists, here or as a session."""
        return (self._journals / f"{session_id}.jsonl").exists() or any(each.id == session_id for each in self._all())

    def _all(self) -> Iterator[Trashed]:
        with contextlib.suppress(OSError):
            for path in self.root.glob("*.jsonl"):
                with contextlib.suppress(OSError):
                    deleted_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                    yield Trashed(id=path.name.partition(".")[0], path=path, deleted_at=deleted_at)


def _move(path: Path, to: Path) -> None:
    """Move the file. Raises OSError, or FileExistsError if the target exists, in which case nothing has changed."""
    try:
        os.link(path, to)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if to.exists():
            raise FileExistsError(to) from None
        path.rename(to)
    else:
        path.unlink()
