"""Journals that the index reads: a folder of files, or those of sessions that are only in memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple, Protocol

from pygent_ls.sessions.journal.files import JournalLine, MemoryJournal, lines_of, read_file
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.journal.replay import Recalled

TAIL_BYTES = 64
"""Number of bytes compared before the position up to which a journal was read. They differ if the file was replaced."""


class Stamp(NamedTuple):
    """State of a journal. As long as it is equal, nothing was written."""

    size: int
    mtime_ns: int
    inode: int


class Source(Protocol):
    """Journals to index. All methods block; those with an id raise OSError if the journal is gone."""

    def stamps(self) -> Mapping[str, Stamp]:
        """Return the stamps of all journals, by session id."""
        ...

    def lines(self, session_id: str, offset: int) -> Iterator[JournalLine]:
        """Return the lines of a journal from the offset on."""
        ...

    def tail(self, session_id: str, offset: int) -> bytes:
        """Return the last bytes before the offset."""
        ...

    def recalled(self, session_id: str) -> Recalled | None:
        """Return the session with interrupted turns closed; None if a daemon owns it and may continue them. Also raises
        `SessionError` (`unreadable_session`)."""
        ...


class FolderSource:
    """Journals in a folder, without its subfolders."""

    def __init__(self, journals: JournalFolder) -> None:
        self._journals = journals
        self._ids: set[str] = set()
        """Names known to be session ids, so that each is checked only once."""

    def stamps(self) -> Mapping[str, Stamp]:
        """Implement `Source.stamps`."""
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

    def lines(self, session_id: str, offset: int) -> Iterator[JournalLine]:
        """Implement `Source.lines`."""
        return lines_of(partial(read_file, self._journals.root / f"{session_id}.jsonl"), offset)

    def tail(self, session_id: str, offset: int) -> bytes:
        """Implement `Source.tail`."""
        start = max(0, offset - TAIL_BYTES)
        with (self._journals.root / f"{session_id}.jsonl").open("rb", buffering=0) as file:
            return os.pread(file.fileno(), offset - start, start)

    def recalled(self, session_id: str) -> Recalled | None:
        """Implement `Source.recalled`."""
        return None if self._journals.is_held(session_id) else self._journals.recall(session_id)


class MemorySource:
    """Journals of sessions that are only in memory, copied on construction, which must happen in the event loop's
    thread."""

    def __init__(self, journals: Mapping[str, MemoryJournal], read_to: Mapping[str, int]) -> None:
        """`read_to` is how far each was already read. Lines dropped before they were read are missing."""
        self._stamps = {session_id: Stamp(each.size, 0, id(each)) for session_id, each in journals.items()}
        self._lines = {
            session_id: list(lines_of(each.read, read_to.get(session_id, 0))) for session_id, each in journals.items()
        }

    def stamps(self) -> Mapping[str, Stamp]:
        """Implement `Source.stamps`."""
        return self._stamps

    def lines(self, session_id: str, offset: int) -> Iterator[JournalLine]:
        """Implement `Source.lines`."""
        return (line for line in self._lines[session_id] if line.end > offset)

    def tail(self, session_id: str, offset: int) -> bytes:
        """Return no bytes."""
        return b""

    def recalled(self, session_id: str) -> Recalled | None:
        """Return None, because this daemon owns the sessions."""
        return None
