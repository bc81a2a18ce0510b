"""Storage of records: an append-only file, or memory."""

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
"""Number of bytes read from a file at once. Larger reads are not faster, and their memory is not returned to the
system."""

MEMORY_BYTES = 16_000_000
"""Maximum size of the records of a session that is only in memory. The oldest are dropped first and cannot be shown
again."""


class Piece(NamedTuple):
    """A part of a journal, and its offset."""

    begin: int
    data: bytes


class Journal(Protocol):
    """Records of one session. Must be used from the event loop's thread, except `read`, which blocks and may run in
    any."""

    @property
    def size(self) -> int:
        """Number of bytes so far, including dropped records."""
        ...

    def append(self, records: Sequence[Record]) -> None:
        """Append all the records, or none. Raises OSError, after which they may be appended again."""
        ...

    async def sync(self) -> None:
        """Return when everything appended would survive a power failure. Raises OSError."""
        ...

    def read(self, offset: int) -> Piece:
        """Return the bytes from the offset on, up to the size of one read; none at the end. If the records there were
        dropped, the piece begins later. Raises OSError."""
        ...

    n_watchers: int
    """Number of readers that follow the journal, including those that lag behind."""

    async def grown(self, offset: int) -> None:
        """Return when there are more than `offset` bytes or the journal is closed."""
        ...

    def close(self) -> None:
        """Stop appending records. A file is then free for other processes."""
        ...


class _News:
    """Wakes the tasks that wait for a journal to grow."""

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
    """A journal on the disk. This process holds its lock until the journal is closed or the process ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take over the descriptor, which must be locked and open for reading and appending."""
        self.path = path
        self.has_failed = False
        """Whether the last write failed, so that its records are only in memory."""
        self._has_lasting_name = False
        self._descriptor = descriptor
        self._is_open = True
        self._closing = threading.Lock()
        """Held while a thread reads from the descriptor, or while it is closed."""
        self._news = _News()
        self.size = os.fstat(descriptor).st_size
        self.n_watchers = 0
        self._begins_line = self.size == 0 or os.pread(descriptor, 1, self.size - 1) == b"\n"

    def append(self, records: Sequence[Record]) -> None:
        """Implement `Journal.append`. Without records, only make sure that the file exists."""
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
        """Make sure that the path leads to the file. If it was removed or moved away, write it again from the
        descriptor, which still has all its content. Raises OSError if another file has the path."""
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
        """Append all the data, or none. If the last line was cut short before, the data starts on a new line."""
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
        """Remove what a failed write has appended. Readers find the same bytes there when it is retried."""
        try:
            os.ftruncate(self._descriptor, self.size)
        except OSError:
            self.size = os.fstat(self._descriptor).st_size
            self._begins_line = False

    async def sync(self) -> None:
        """Implement `Journal.sync`."""
        if self._is_open:
            await asyncio.to_thread(self._sync)

    def _sync(self) -> None:
        os.fsync(self._descriptor)
        if not self._has_lasting_name:  # a new file is durable only once its folder is synced, too
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            self._has_lasting_name = True

    def read(self, offset: int) -> Piece:
        """Implement `Journal.read`."""
        with self._closing:
            if self._is_open:
                return Piece(offset, os.pread(self._descriptor, READ_BYTES, offset))
        return read_file(self.path, offset)

    async def grown(self, offset: int) -> None:
        """Implement `Journal.grown`."""
        while self._is_open and self.size <= offset:
            await self._news.wait()

    def close(self) -> None:
        """Implement `Journal.close`. This releases the lock."""
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
        """End offset of each line."""
        self._is_open = True
        self._news = _News()
        self.size = 0
        self.n_watchers = 0

    def append(self, records: Sequence[Record]) -> None:
        """Implement `Journal.append`."""
        for record in records:
            line = line_of(record)
            self.size += len(line)
            self._lines.append(line)
            self._ends.append(self.size)
        if self._lines and self.size - (self._ends[0] - len(self._lines[0])) > self._max_bytes:
            n_old = bisect_right(self._ends, self.size - self._max_bytes // 2)  # drop half at once, so that it is rare
            del self._lines[:n_old], self._ends[:n_old]
        self._news.tell()

    async def sync(self) -> None:
        """Return at once."""

    def read(self, offset: int) -> Piece:
        """Implement `Journal.read`. Returns complete lines, except that the first may start within a line."""
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
        """Implement `Journal.grown`."""
        while self._is_open and self.size <= offset:
            await self._news.wait()

    def close(self) -> None:
        """Implement `Journal.close`."""
        self._is_open = False
        self._news.tell()


def read_file(path: Path, offset: int) -> Piece:
    """Return the piece of a journal's file from the offset on, like `Journal.read`."""
    with path.open("rb") as file:
        file.seek(offset)
        return Piece(offset, file.read(READ_BYTES))


def _copy_rest(source: int, to: int, size: int) -> None:
    """Append to a file what it lacks of the first `size` bytes of another. Raises OSError if it begins differently."""
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


class JournalLine(NamedTuple):
    """A line without its line break, and the offset of the next one."""

    data: bytes
    end: int
    is_whole: bool
    """False for a last line without a line break, which is being written or was cut short."""


def lines_of(read: Callable[[int], Piece], offset: int = 0) -> Iterator[JournalLine]:
    """Yield the lines from the offset to the end, without empty ones; `read` works like `Journal.read`."""
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
                yield JournalLine(line, end, is_whole=True)
        pieces.append(rest)
    if last := b"".join(pieces):
        yield JournalLine(last, at, is_whole=False)


def locked(path: Path, *, create: bool = False) -> int | None:
    """Lock the file and return a descriptor for reading and appending; None if another process holds the lock.

    Raises OSError, or FileExistsError if the file is to be created but exists.
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
    raise FileNotFoundError(path)  # it was moved away at this moment


def is_locked(path: Path) -> bool:
    """Whether some process, this one included, holds the file's lock. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
