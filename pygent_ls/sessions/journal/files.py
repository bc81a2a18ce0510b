"""Where records go: a file that only ever grows, or memory."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from pygent_ls.sessions.journal.records import Record, line_of

READ_BYTES = 256_000
"""That are read of a file at once: more is no faster, and the memory that it takes is not given back to the system."""

MEMORY_BYTES = 16_000_000
"""Of the records of a session that is not kept: the oldest go first, and cannot be shown again."""


class Piece(NamedTuple):
    """A part of a journal, and where it begins."""

    begin: int
    data: bytes


class Journal(Protocol):
    """The records of one session. It belongs to the event loop's thread, but for `read`, which blocks and may run in
    any."""

    @property
    def size(self) -> int:
        """Bytes by now; those of records that were forgotten count."""
        ...

    def append(self, records: Sequence[Record]) -> None:
        """Add records, all of them or none. Raises OSError, and then adding them again is right."""
        ...

    async def sync(self) -> None:
        """Return when all that was added will be there after a failure of the power. Raises OSError."""
        ...

    def read(self, offset: int) -> Piece:
        """What stands from there, as far as it is read at once; nothing at the end. It begins later where the records
        there were forgotten. Raises OSError."""
        ...

    n_watchers: int
    """Those who read it as it grows, also where they are behind."""

    async def grown(self, offset: int) -> None:
        """Return when there is more than that many bytes, or the journal is closed."""
        ...

    def close(self) -> None:
        """No record is added any more; where it is a file, others may."""
        ...


class _News:
    """Wakes those who wait for a journal to grow."""

    def __init__(self) -> None:
        self._next: asyncio.Future[None] | None = None

    def tell(self) -> None:
        if self._next is not None and not self._next.done():
            self._next.set_result(None)
        self._next = None

    async def wait(self) -> None:
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._next)


class FileJournal:
    """A journal on the disk, whose lock this process holds until it is closed, or ends in whatever way."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """The descriptor is locked, and opened to read and to append; it is the journal's from now on."""
        self.path = path
        self.has_failed = False
        """The last write did, and what it was to add is nowhere but in memory."""
        self._has_lasting_name = False
        self._descriptor = descriptor
        self._is_open = True
        self._closing = threading.Lock()
        """Held while the descriptor is read in a thread, or closed."""
        self._news = _News()
        self.size = os.fstat(descriptor).st_size
        self.n_watchers = 0
        self._begins_line = self.size == 0 or os.pread(descriptor, 1, self.size - 1) == b"\n"

    def append(self, records: Sequence[Record]) -> None:
        """See `Journal`. Without records, it only makes sure that the file is there."""
        if not self._is_open:
            if records:
                raise OSError("the journal is closed")
            return
        try:
            self._keep_name()
            self._write(b"".join(map(line_of, records)))
        except OSError:
            self.has_failed = True
            raise
        self.has_failed = False
        self._news.tell()

    def _keep_name(self) -> None:
        """Make sure that the name leads to the file: one that was removed or moved away is written again from the
        descriptor, which still has all of it. Raises OSError where another file has the name."""
        try:
            if os.path.samestat(self.path.stat(), os.fstat(self._descriptor)):
                return
            is_there = True
        except FileNotFoundError:
            is_there = False
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = locked(self.path, create=not is_there)
        if descriptor is None:
            raise OSError("another process has a file in the place of its journal")
        try:
            _copy_rest(self._descriptor, descriptor, self.size)
            os.dup2(descriptor, self._descriptor, inheritable=False)  # a thread may use the number
        finally:
            os.close(descriptor)
        self._has_lasting_name = False

    def _write(self, data: bytes) -> None:
        """Add this, or nothing of it. A line that was cut short before stays one: what is added begins on the next."""
        rest = memoryview(data if self._begins_line or not data else b"\n" + data)
        n_bytes = len(rest)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            if len(rest) < n_bytes:
                self._take_back()
            raise
        if n_bytes:
            self.size += n_bytes
            self._begins_line = True

    def _take_back(self) -> None:
        """Remove what a write that failed has added; readers find the same bytes there when it is tried again."""
        try:
            os.ftruncate(self._descriptor, self.size)
        except OSError:
            self.size = os.fstat(self._descriptor).st_size
            self._begins_line = False

    async def sync(self) -> None:
        """See `Journal`."""
        if self._is_open:
            await asyncio.to_thread(self._sync)

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        if not self._has_lasting_name:  # a new file is in its folder when the folder is on the disk, too
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            self._has_lasting_name = True

    def read(self, offset: int) -> Piece:
        """See `Journal`."""
        with self._closing:
            if self._is_open:
                return Piece(offset, os.pread(self._descriptor, READ_BYTES, offset))
        return read_file(self.path, offset)

    async def grown(self, offset: int) -> None:
        """See `Journal`."""
        while self._is_open and self.size <= offset:
            await self._news.wait()

    def close(self) -> None:
        """See `Journal`. Its lock ends with it."""
        with self._closing:
            if not self._is_open:
                return
            self._is_open = False
            os.close(self._descriptor)
        self._news.tell()


class MemoryJournal:
    """A journal that ends with its session."""

    def __init__(self, *, max_bytes: int = MEMORY_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lines: list[bytes] = []
        self._ends: list[int] = []
        """Of each line, as an offset."""
        self._is_open = True
        self._news = _News()
        self.size = 0
        self.n_watchers = 0

    def append(self, records: Sequence[Record]) -> None:
        """See `Journal`."""
        for record in records:
            line = line_of(record)
            self.size += len(line)
            self._lines.append(line)
            self._ends.append(self.size)
        if self._lines and self.size - (self._ends[0] - len(self._lines[0])) > self._max_bytes:
            n_old = bisect_right(self._ends, self.size - self._max_bytes // 2)  # by half, for it is rare then
            del self._lines[:n_old], self._ends[:n_old]
        self._news.tell()

    async def sync(self) -> None:
        """See `Journal`."""

    def read(self, offset: int) -> Piece:
        """See `Journal`. It gives whole lines from their beginning, but for the first."""
        first = bisect_right(self._ends, offset)
        if first == len(self._lines):
            return Piece(offset, b"")
        begins = self._ends[first] - len(self._lines[first])
        n_bytes, last = 0, first
        while last < len(self._lines) and n_bytes < READ_BYTES:
            n_bytes += len(self._lines[last])
            last += 1
        data = b"".join(self._lines[first:last])
        return Piece(max(begins, offset), data[max(0, offset - begins) :])

    async def grown(self, offset: int) -> None:
        """See `Journal`."""
        while self._is_open and self.size <= offset:
            await self._news.wait()

    def close(self) -> None:
        """See `Journal`."""
        self._is_open = False
        self._news.tell()


def read_file(path: Path, offset: int) -> Piece:
    """What stands in a journal's file from there; see `Journal.read`."""
    with path.open("rb") as file:
        file.seek(offset)
        return Piece(offset, file.read(READ_BYTES))


def _copy_rest(source: int, to: int, size: int) -> None:
    """Add to a file what it lacks of the first `size` bytes of another. Raises OSError where it begins otherwise."""
    n_there = os.fstat(to).st_size
    at = 0
    while at < size:
        end = n_there if at < n_there else size
        data = os.pread(source, min(READ_BYTES, end - at), at)
        if not data:
            break
        if at >= n_there:
            data = data[: os.write(to, data)]
        elif os.pread(to, len(data), at) != data:
            break
        at += len(data)
    if at != size or n_there > size:
        raise OSError("another file is in the place of its journal")


class Line(NamedTuple):
    """A line without its line break, and where the next one begins."""

    data: bytes
    end: int
    is_whole: bool
    """False for the last one where no line break follows: it is being written, or was cut short."""


def lines_of(read: Callable[[int], Piece], offset: int = 0) -> Iterator[Line]:
    """The lines from there to the end; `read` is as `Journal.read`. Empty lines are left out."""
    pieces: list[bytes] = []
    at = offset
    while (piece := read(at)).data:
        end = piece.begin
        at = end + len(piece.data)
        *whole, rest = piece.data.split(b"\n")
        for each in whole:
            end += len(each) + 1
            line = b"".join([*pieces, each])
            pieces = []
            if line:
                yield Line(line, end, is_whole=True)
        pieces.append(rest)
    if last := b"".join(pieces):
        yield Line(last, at, is_whole=False)


def locked(path: Path, *, create: bool = False) -> int | None:
    """A descriptor of the file that is locked, to read and to append; None where another process holds the lock.

    Raises OSError; FileExistsError where it is to be created, and there.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if create else 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    raise FileNotFoundError(path)  # it was moved away in this moment


def is_locked(path: Path) -> bool:
    """Whether some process holds the file's lock, this one included. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
