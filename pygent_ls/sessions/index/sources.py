"""Where the index reads journals: a folder of files, or those of sessions that are in memory alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pygent_ls.sessions.journal.files import Line, MemoryJournal, lines_of, read_file
from pygent_ls.sessions.journal.folder import JournalFolder

if TYPE_CHECKING:  # with it comes pydantic
    from pygent_ls.sessions.journal.recalling import Recalled

TAIL_BYTES = 64
"""Before the place to which a journal was read: another file has others there."""


class Stamp(NamedTuple):
    """A journal as it is now; while it is equal nothing was written."""

    size: int
    mtime_ns: int
    inode: int


class Source(Protocol):
    """The journals that there are. All methods block; those with an id raise OSError where it is gone."""

    def stamps(self) -> Mapping[str, Stamp]:
        """All of them by their session's id."""
        ...

    def lines(self, session_id: str, offset: int) -> Iterator[Line]:
        """The lines of one from there on."""
        ...

    def tail(self, session_id: str, offset: int) -> bytes:
        """What stands before there."""
        ...

    def recalled(self, session_id: str) -> Recalled | None:
        """The session with its cut turns closed; None where a daemon has it, which may go on with them. Raises
        `SessionError` (`unreadable_session`), too."""
        ...


class FolderSource:
    """The journals in a folder; those in folders below it do not count."""

    def __init__(self, journals: JournalFolder) -> None:
        self._journals = journals
        self._ids: set[str] = set()
        """Names of files that are some, so that not each is looked at closely each time."""

    def stamps(self) -> Mapping[str, Stamp]:
        """See `Source`."""
        found: dict[str, Stamp] = {}
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._journals.root) as files:
            for file in files:
                session_id, _, suffix = file.name.rpartition(".")
                if suffix == "jsonl" and self._is_id(session_id):
                    with contextlib.suppress(OSError):
                        if file.is_file():
                            about = file.stat()
                            found[session_id] = Stamp(about.st_size, about.st_mtime_ns, about.st_ino)
        return found

    def _is_id(self, name: str) -> bool:
        if name not in self._ids and self._journals.path(name) is not None:
            self._ids.add(name)
        return name in self._ids

    def lines(self, session_id: str, offset: int) -> Iterator[Line]:
        """See `Source`."""
        return lines_of(partial(read_file, self._journals.root / f"{session_id}.jsonl"), offset)

    def tail(self, session_id: str, offset: int) -> bytes:
        """See `Source`."""
        start = max(0, offset - TAIL_BYTES)
        with (self._journals.root / f"{session_id}.jsonl").open("rb", buffering=0) as file:
            return os.pread(file.fileno(), offset - start, start)

    def recalled(self, session_id: str) -> Recalled | None:
        """See `Source`."""
        return None if self._journals.is_held(session_id) else self._journals.recall(session_id)


class MemorySource:
    """The journals of sessions that are not kept, as they are when it is made, which is done in their thread."""

    def __init__(self, journals: Mapping[str, MemoryJournal], read_to: Mapping[str, int]) -> None:
        """`read_to` is how far each was read already. What was forgotten before it could be read is missing."""
        self._stamps = {session_id: Stamp(each.size, 0, id(each)) for session_id, each in journals.items()}
        self._lines = {
            session_id: list(lines_of(each.read, read_to.get(session_id, 0))) for session_id, each in journals.items()
        }

    def stamps(self) -> Mapping[str, Stamp]:
        """See `Source`."""
        return self._stamps

    def lines(self, session_id: str, offset: int) -> Iterator[Line]:
        """See `Source`."""
        return (line for line in self._lines[session_id] if line.end > offset)

    def tail(self, session_id: str, offset: int) -> bytes:
        """See `Source`."""
        return b""

    def recalled(self, session_id: str) -> Recalled | None:
        """See `Source`: they are this daemon's."""
        return None
