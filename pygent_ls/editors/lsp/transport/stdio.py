"""Standard input and output as message streams: one thread reads frames, another writes them.

Threads are used because a read in an executor keeps an ending process alive, and a write in the event loop blocks it
when the editor stops reading.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import threading
from collections.abc import Callable
from typing import BinaryIO, Protocol

from msgspec import Struct

MAX_BODY_BYTES = 256 * 1024 * 1024
"""Maximum length of a body; a longer one is skipped and answered with an error. It is four times the largest file that
any editor was seen to open."""

CONGESTED_BYTES = 32 * 1024
"""Unwritten output from which on events are held back and merged: half a Linux pipe buffer. What waits there is already
old when a slow editor reads it."""

MAX_HEADER_BYTES = 16 * 1024
"""Maximum length of a header line; a longer line is not a header."""

MAX_DIGITS = 15
"""Maximum number of digits of a Content-Length, which allows a thousand terabytes."""

MAX_LENGTH_HEADER_BYTES = 64
"""Maximum length of a Content-Length header with its spaces."""

_CONTENT_LENGTH = re.compile(rb"content-length[ \t]*:([^:]*)$", re.IGNORECASE)


class BrokenFrame:
    """A frame whose body could not be read; `problem` says why."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


Message = str | BrokenFrame
"""A received message: JSON text, or the reason why it could not be read."""


def message_of(frame: bytes | BrokenFrame) -> Message:
    """Decode a frame's body, in any encoding that JSON allows."""
    if isinstance(frame, BrokenFrame):
        return frame
    try:
        return frame.decode(json.detect_encoding(frame), "surrogatepass")
    except ValueError as error:
        return BrokenFrame(f"the body is not JSON: {error}")


class Tap(Protocol):
    """Records the messages of one client, in the order in which the daemon handles and sends them; must not block."""

    def came(self, frame: bytes | BrokenFrame) -> None:
        """Record a frame that the daemon is about to handle."""
        ...

    def went(self, body: bytes) -> None:
        """Record a message that the daemon sends."""
        ...


class Untapped:
    """Tap that records nothing."""

    def came(self, frame: bytes | BrokenFrame) -> None:
        """Ignore the frame."""

    def went(self, body: bytes) -> None:
        """Ignore the message."""


UNTAPPED = Untapped()


def untapped() -> Tap:
    """Return the tap of a client that is not recorded."""
    return UNTAPPED


def read_frame(stream: BinaryIO) -> bytes | BrokenFrame | None:
    """Return the next frame's body; None at the end of the stream. Raises nothing for any input.

    After a broken frame, the next frame is found by its header, at any place in a line; the text before it belongs to
    the broken frame.
    """
    given: bytes | None = None
    seen_header = False
    unfinished = b""
    while True:
        part = stream.readline(MAX_HEADER_BYTES)
        if not part:
            return None
        line = unfinished + part
        if not part.endswith(b"\n"):  # too long for a header, but a header may begin at its end
            unfinished = line[-MAX_LENGTH_HEADER_BYTES:]
            continue
        unfinished = b""
        if line in (b"\r\n", b"\n"):
            if not seen_header:
                continue  # ignore blank lines between frames
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


class FrameReader(Struct, frozen=True, kw_only=True):
    """Reads frames in a daemon thread and passes their text to the event loop.

    Stores neither a frame that was passed on nor a body in addition to its text: documents may have 200 MB.
    """

    stream: BinaryIO
    loop: asyncio.AbstractEventLoop
    on_message: Callable[[Message], None]
    on_end: Callable[[], None]
    on_end_at_once: Callable[[], None] = lambda: None
    """Called in the reading thread, even if the event loop is blocked."""
    before_frame: Callable[[], object] = lambda: None
    """Called in the reading thread before each frame is passed on; may block."""
    tap: Tap = UNTAPPED

    def start(self) -> None:
        """Start the thread, which ends with the stream or with the process."""
        threading.Thread(target=self._read, name="lsp-reader", daemon=True).start()

    def _read(self) -> None:
        try:
            while (message := self._next()) is not None:
                self.before_frame()
                self.loop.call_soon_threadsafe(self._take, message)
                del message  # otherwise, it is kept until the next one arrives
            self._end()
        except (OSError, ValueError):  # the descriptor was closed
            self._end()
        except RuntimeError:  # the loop is closed: the daemon has ended
            return

    def _next(self) -> Message | None:
        try:
            frame = read_frame(self.stream)
            return None if frame is None else message_of(frame)
        except MemoryError:  # either before the body was read, which is then skipped, or after it
            return BrokenFrame("there is not enough memory for the body")

    def _take(self, message: Message) -> None:
        if self.tap is not UNTAPPED:
            self.tap.came(message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message)
        self.on_message(message)

    def _end(self) -> None:
        self.on_end_at_once()
        self.loop.call_soon_threadsafe(self.on_end)


class FrameWriter:
    """Writes frames in a daemon thread, in order. Must be used in the event loop's thread only."""

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
        """Whether the editor reads slower than the daemon writes."""
        return self._unwritten_bytes > CONGESTED_BYTES

    @property
    def unwritten_bytes(self) -> int:
        """Number of bytes that the editor has not read."""
        return self._unwritten_bytes

    async def drained(self) -> None:
        """Return when it is no longer congested, or the editor is gone."""
        await self._drained.wait()

    def write(self, body: bytes) -> None:
        """Send one frame without blocking. Frames for an editor that is gone are discarded."""
        if self._is_broken:
            return
        self._tap.went(body)
        frame = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        self._unwritten_bytes += len(frame)
        if self.congested and not self._is_ending:
            self._drained.clear()
        self._queue.put(frame)

    def stop_waiting(self) -> None:
        """Stop waiting for the editor to read, because the daemon ends."""
        self._is_ending = True
        self._drained.set()

    def close(self, timeout_s: float) -> bool:
        """Write the remaining frames, for at most `timeout_s`. Returns whether the thread has ended."""
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
        except RuntimeError:  # the loop is closed: no task waits any longer
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
