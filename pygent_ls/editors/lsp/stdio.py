"""Standard input and output as a message stream: frames are read in a thread, and written by another.

Threads, because a read through an executor keeps a process alive that was told to end, and a write in the event loop
freezes it when the editor stops reading.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Protocol

MAX_BODY_BYTES = 256 * 1024 * 1024
"""A longer body is not read and answered as broken: four times the largest file any editor was seen to open."""

CONGESTED_BYTES = 256 * 1024
"""Unwritten output from which on events wait and merge: four times a Linux pipe."""

MAX_HEADER_BYTES = 16 * 1024
"""Of one header line; longer ones are no headers."""

MAX_DIGITS = 15
"""Of a Content-Length: a thousand terabytes."""

MAX_LENGTH_HEADER_BYTES = 64
"""Of a Content-Length header with its spaces."""

_CONTENT_LENGTH = re.compile(rb"content-length[ \t]*:([^:]*)$", re.IGNORECASE)


class BrokenFrame:
    """A frame whose body could not be read; `problem` says why."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


Message = str | BrokenFrame
"""A message as it came: JSON as text, or why there is none."""


def message_of(frame: bytes | BrokenFrame) -> Message:
    """The text of a frame's body, in the encodings that JSON may have."""
    if isinstance(frame, BrokenFrame):
        return frame
    try:
        return frame.decode(json.detect_encoding(frame), "surrogatepass")
    except ValueError as error:
        return BrokenFrame(f"the body is not JSON: {error}")


class Tap(Protocol):
    """Hears what goes over one client's wire, in the order in which the daemon takes and gives it; must not block."""

    def came(self, frame: bytes | BrokenFrame) -> None:
        """The daemon is about to take this."""
        ...

    def went(self, body: bytes) -> None:
        """The daemon gave this to be sent."""
        ...


class Untapped:
    """Nobody listens."""

    def came(self, frame: bytes | BrokenFrame) -> None:
        """See `Tap`."""

    def went(self, body: bytes) -> None:
        """See `Tap`."""


UNTAPPED = Untapped()


def untapped() -> Tap:
    """For a client to whom nobody listens."""
    return UNTAPPED


def claim_standard_streams() -> tuple[int, int]:
    """Take file descriptors 0 and 1 for the protocol, and return their copies.

    Afterwards 0 is empty and 1 is standard error, so that neither a stray `print` nor a child process can read or
    write the wire.
    """
    own_in, own_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return own_in, own_out


def read_frame(stream: BinaryIO) -> bytes | BrokenFrame | None:
    """The next frame's body; None at the end of the stream. Raises nothing for any input.

    After a broken frame the next one is found by its header, wherever that begins in a line: what stands before it
    is the broken one's body.
    """
    given: bytes | None = None
    seen_header = False
    unfinished = b""
    while True:
        part = stream.readline(MAX_HEADER_BYTES)
        if not part:
            return None
        line = unfinished + part
        if not part.endswith(b"\n"):  # no header is that long: garbage, at whose end a header may begin
            unfinished = line[-MAX_LENGTH_HEADER_BYTES:]
            continue
        unfinished = b""
        if line in (b"\r\n", b"\n"):
            if not seen_header:
                continue  # blank lines between frames do no harm
            break
        seen_header = True
        if found := _CONTENT_LENGTH.search(line):
            given = found[1].strip()
    if given is None:
        return BrokenFrame("the frame has no Content-Length header")
    if not given.isdigit() or len(given) > MAX_DIGITS:
        return BrokenFrame(f"Content-Length is {given[:MAX_DIGITS].decode('latin-1')!r}, not a number of bytes")
    length = int(given)
    if length > MAX_BODY_BYTES:
        return BrokenFrame(f"the body has {length} bytes; at most {MAX_BODY_BYTES} are allowed")
    body = stream.read(length)
    return body if len(body) == length else None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameReader:
    """Reads frames in a daemon thread and hands their text to the event loop.

    It keeps nothing of what it handed over, and no body beside its text: documents of 200 MB are opened too.
    """

    stream: BinaryIO
    loop: asyncio.AbstractEventLoop
    on_message: Callable[[Message], None]
    on_end: Callable[[], None]
    on_end_at_once: Callable[[], None] = lambda: None
    """Called in the reading thread, whatever the event loop does."""
    before_frame: Callable[[], object] = lambda: None
    """Called in the reading thread before a frame is handed over, which waits for it."""
    tap: Tap = UNTAPPED

    def start(self) -> None:
        """Begin; the thread ends with the stream, or with the process."""
        threading.Thread(target=self._read, name="lsp-reader", daemon=True).start()

    def _read(self) -> None:
        try:
            while (message := self._next()) is not None:
                self.before_frame()
                self.loop.call_soon_threadsafe(self._take, message)
                del message  # else it is kept until the next one has come
            self._end()
        except (OSError, ValueError):  # the descriptor went away
            self._end()
        except RuntimeError:  # the loop is closed: the daemon has ended
            return

    def _next(self) -> Message | None:
        try:
            frame = read_frame(self.stream)
            return None if frame is None else message_of(frame)
        except MemoryError:  # before the body was read, which is skipped then, or behind it
            return BrokenFrame("there is not enough memory for the body")

    def _take(self, message: Message) -> None:
        if self.tap is not UNTAPPED:
            self.tap.came(message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message)
        self.on_message(message)

    def _end(self) -> None:
        self.on_end_at_once()
        self.loop.call_soon_threadsafe(self.on_end)


class FrameWriter:
    """Writes frames in a daemon thread, in order. Used from the event loop's thread alone."""

    def __init__(
        self,
        descriptor: int,
        loop: asyncio.AbstractEventLoop,
        on_broken: Callable[[], None],
        tap: Tap = UNTAPPED,
    ) -> None:
        self._descriptor = descriptor
        self._tap = tap
        self._loop = loop
        self._on_broken = on_broken
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unwritten_bytes = 0
        self._is_broken = False
        self._is_ending = False
        self._drained = asyncio.Event()
        self._drained.set()
        self._thread = threading.Thread(target=self._write, name="lsp-writer", daemon=True)
        self._thread.start()

    @property
    def congested(self) -> bool:
        """The editor reads slower than the daemon writes."""
        return self._unwritten_bytes > CONGESTED_BYTES

    @property
    def unwritten_bytes(self) -> int:
        """What the editor has not taken yet."""
        return self._unwritten_bytes

    async def drained(self) -> None:
        """Return when it is no longer congested, or the editor is gone."""
        await self._drained.wait()

    def write(self, body: bytes) -> None:
        """Send one frame; does not block. Nothing is kept for an editor that is gone."""
        if self._is_broken:
            return
        self._tap.went(body)
        frame = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        self._unwritten_bytes += len(frame)
        if self.congested and not self._is_ending:
            self._drained.clear()
        self._queue.put(frame)

    def stop_waiting(self) -> None:
        """The daemon ends: nothing waits any more for the editor to read."""
        self._is_ending = True
        self._drained.set()

    def close(self, timeout_s: float) -> bool:
        """Write what is left, for at most that long; whether nothing writes any more."""
        self._queue.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _write(self) -> None:
        while (frame := self._queue.get()) is not None:
            try:
                view = memoryview(frame)
                while view:
                    view = view[os.write(self._descriptor, view) :]
            except OSError:
                self._tell_loop(self._broken)
                return
            self._tell_loop(self._written, len(frame))

    def _tell_loop(self, callback: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    def _written(self, n_bytes: int) -> None:
        self._unwritten_bytes -= n_bytes
        if not self.congested:
            self._drained.set()

    def _broken(self) -> None:
        self._is_broken = True
        self._unwritten_bytes = 0
        self._drained.set()
        self._on_broken()
