"""Frames: however the bytes come, whatever stands between them."""

from __future__ import annotations

import asyncio
import io
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.transport.stdio import (
    CONGESTED_BYTES,
    MAX_BODY_BYTES,
    MAX_HEADER_BYTES,
    BrokenFrame,
    FrameReader,
    FrameWriter,
    Message,
    read_frame,
)
from tests.fakes import bounded


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Trickle(io.RawIOBase):
    """A stream that gives its bytes in pieces of these sizes, then the rest."""

    def __init__(self, data: bytes, sizes: Sequence[int]) -> None:
        self._data = data
        self._sizes = list(sizes)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        size = self._sizes.pop(0) if self._sizes else len(self._data)
        piece = self._data[: min(size, len(buffer))]
        self._data = self._data[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)


def frames_of(stream: BinaryIO) -> list[bytes | str]:
    """Every body, and the problem of every broken frame."""
    found: list[bytes | str] = []
    while (frame := read_frame(stream)) is not None:
        found.append(frame.problem if isinstance(frame, BrokenFrame) else frame)
    return found


def bodies_of(data: bytes) -> list[bytes]:
    return [frame for frame in frames_of(io.BytesIO(data)) if isinstance(frame, bytes)]


# Whole frames


@given(bodies=st.lists(st.binary(max_size=50), max_size=5), sizes=st.lists(st.integers(1, 20), max_size=60))
def test_bodies_arrive_whole_however_the_bytes_are_split(bodies: list[bytes], sizes: list[int]) -> None:
    stream = io.BufferedReader(Trickle(b"".join(map(framed, bodies)), sizes))

    assert frames_of(stream) == bodies


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"CONTENT-LENGTH :  2  \r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
        b"X-Long: " + b"x" * MAX_HEADER_BYTES + b"\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\n\n",
        b"\r\n\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 002\r\n\r\n",
    ],
)
def test_a_header_may_be_written_in_many_ways(header: bytes) -> None:
    assert frames_of(io.BytesIO(header + b"{}" + framed(b"[]"))) == [b"{}", b"[]"]


def test_a_body_of_many_bytes_arrives_whole() -> None:
    body = os.urandom(3_000_000)

    assert frames_of(io.BytesIO(framed(body))) == [body]


@pytest.mark.parametrize(
    "data", [b"", b"Content-Len", b"Content-Length: 5\r\n", b"Content-Length: 5\r\n\r\n{", b"\r\n"]
)
def test_a_stream_that_ends_in_a_frame_ends(data: bytes) -> None:
    assert frames_of(io.BytesIO(framed(b"{}") + data)) == [b"{}"]


# Broken ones


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (b"Content-Type: x\r\n\r\n", "the frame has no Content-Length header"),
        (b"hello\r\n\r\n", "the frame has no Content-Length header"),
        (b"Content-Length: many\r\n\r\n", "Content-Length is 'many', not a number of bytes"),
        (b"Content-Length: -5\r\n\r\n", "Content-Length is '-5', not a number of bytes"),
        (b"Content-Length: 1e3\r\n\r\n", "Content-Length is '1e3', not a number of bytes"),
        (b"Content-Length: 2.0\r\n\r\n", "Content-Length is '2.0', not a number of bytes"),
        (b"Content-Length:\r\n\r\n", "Content-Length is '', not a number of bytes"),
        (b"Content-Length: \xb2\r\n\r\n", "Content-Length is '²', not a number of bytes"),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", "not a number of bytes"),
        (b"Content-Length: 99999999999\r\n\r\n", f"at most {MAX_BODY_BYTES} are allowed"),
        (b"Content-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1), f"at most {MAX_BODY_BYTES} are allowed"),
    ],
)
@pytest.mark.parametrize("body", [b"", b'{"jsonrpc": "2.0", "id": 1}', b"x" * (MAX_HEADER_BYTES * 2 - 20)], ids=len)
def test_a_broken_frame_is_told_of_once_and_the_next_one_is_read(header: bytes, problem: str, body: bytes) -> None:
    told, *others = frames_of(io.BytesIO(header + body + framed(b"{}") + framed(b"[]")))

    assert isinstance(told, str)
    assert problem in told
    assert len(told) < 200
    assert others == [b"{}", b"[]"]


@given(
    garbage=st.binary(max_size=80).filter(lambda junk: b"\n" not in junk and b":" not in junk),
    bodies=st.lists(st.binary(max_size=20), min_size=1, max_size=3),
)
def test_garbage_before_a_frame_does_not_cost_the_frame(garbage: bytes, bodies: list[bytes]) -> None:
    data = b"".join(garbage + framed(body) for body in bodies)

    assert bodies_of(data) == bodies


@pytest.mark.parametrize("n_bytes", range(MAX_HEADER_BYTES - 40, MAX_HEADER_BYTES + 20, 3))
def test_a_header_is_found_behind_garbage_of_any_length(n_bytes: int) -> None:
    assert bodies_of(b"x" * n_bytes + framed(b"{}")) == [b"{}"]


def test_a_body_that_is_longer_than_it_says_costs_no_other_frame() -> None:
    data = b"Content-Length: 2\r\n\r\n{} and more" + framed(b"[]")

    assert frames_of(io.BytesIO(data)) == [b"{}", b"[]"]


@given(st.binary(max_size=300))
def test_no_bytes_are_an_exception(data: bytes) -> None:
    frames_of(io.BytesIO(data))


@given(st.lists(st.sampled_from([b"Content-Length: 3", b"\r\n", b"\n", b"\r", b"{}", b"abc", b": ", b"9" * 20])))
def test_no_bytes_that_look_like_frames_are_an_exception(parts: list[bytes]) -> None:
    frames_of(io.BytesIO(b"".join(parts)))


# The reading thread


@dataclass
class Received:
    """What a `FrameReader` told the event loop."""

    messages: list[Message] = field(default_factory=list[Message])
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def read(self, stream: BinaryIO, before_frame: Callable[[], object] = lambda: None) -> None:
        loop = asyncio.get_running_loop()
        FrameReader(
            stream=stream, loop=loop, on_message=self.messages.append, on_end=self.ended.set, before_frame=before_frame
        ).start()


async def test_the_reader_tells_the_loop_of_each_frame_and_of_the_end() -> None:
    received = Received()

    received.read(io.BytesIO(framed(b"1") + framed(b"2")))
    await bounded(received.ended.wait())

    assert received.messages == ["1", "2"]


async def test_no_more_frames_are_handed_over_than_there_is_leave_for() -> None:
    received, leave = Received(), threading.Semaphore(2)
    waits = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask_leave() -> None:
        if not leave.acquire(blocking=False):
            loop.call_soon_threadsafe(waits.set)
            leave.acquire()

    received.read(io.BytesIO(b"".join(map(framed, [b"1", b"2", b"3"]))), ask_leave)
    await bounded(waits.wait())
    assert received.messages == ["1", "2"]

    leave.release()
    await bounded(received.ended.wait())
    assert received.messages == ["1", "2", "3"]


async def test_a_body_that_there_is_no_memory_for_is_broken_and_the_next_one_is_read() -> None:
    class Scarce(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if size is not None and size > 1_000:
                raise MemoryError
            return super().read(size)

    received = Received()

    received.read(Scarce(framed(b"[" + b" " * 1_000 + b"]") + framed(b"2")))
    await bounded(received.ended.wait())

    broken, message = received.messages
    assert isinstance(broken, BrokenFrame)
    assert "memory" in broken.problem
    assert message == "2"


async def test_a_descriptor_that_goes_away_is_the_end() -> None:
    class Gone(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            raise OSError(size, "the terminal is gone")

    received = Received()

    received.read(Gone())
    await bounded(received.ended.wait())

    assert received.messages == []


# The writing thread


@dataclass
class Pipe:
    """A pipe whose reading end the test holds."""

    reading: int
    writing: int
    broken: asyncio.Event = field(default_factory=asyncio.Event)

    def writer(self) -> FrameWriter:
        return FrameWriter(self.writing, asyncio.get_running_loop(), self.broken.set)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    reading, writing = os.pipe()
    held = Pipe(reading, writing)
    yield held
    for descriptor in (held.reading, held.writing):
        if descriptor >= 0:
            os.close(descriptor)


def read_bodies(descriptor: int, n_bodies: int) -> list[bytes]:
    with open(descriptor, "rb", closefd=False) as stream:
        frames: list[bytes] = []
        while len(frames) < n_bodies and isinstance(frame := read_frame(stream), bytes):
            frames.append(frame)
        return frames


async def test_frames_are_written_in_order(pipe: Pipe) -> None:
    writer = pipe.writer()
    bodies = [b"%d" % number for number in range(100)]

    for body in bodies:
        writer.write(body)

    assert await bounded(asyncio.to_thread(read_bodies, pipe.reading, 100)) == bodies
    writer.close(5.0)


async def test_a_reader_who_is_slow_makes_the_writer_congested_until_it_has_read(pipe: Pipe) -> None:
    writer = pipe.writer()
    assert not writer.congested
    await bounded(writer.drained())
    bodies = [b"x" * 100_000] * 8

    for body in bodies:
        writer.write(body)  # does not block, though the pipe holds 64 KiB

    assert len(bodies) * 100_000 > CONGESTED_BYTES
    assert writer.congested
    assert await bounded(asyncio.to_thread(read_bodies, pipe.reading, 8)) == bodies
    await bounded(writer.drained())
    assert not writer.congested
    writer.close(5.0)


async def test_what_is_left_is_written_before_it_closes(pipe: Pipe) -> None:
    writer = pipe.writer()
    writer.write(b"last words")

    writer.close(5.0)

    assert read_bodies(pipe.reading, 1) == [b"last words"]


async def test_closing_does_not_wait_for_a_reader_who_does_not_read(pipe: Pipe) -> None:
    writer = pipe.writer()
    writer.write(b"x" * 1_000_000)

    began_s = asyncio.get_running_loop().time()
    writer.close(0.05)

    assert asyncio.get_running_loop().time() - began_s < 2.0
    os.close(pipe.reading)  # ends the thread
    pipe.reading = -1
    await bounded(pipe.broken.wait())


async def test_a_reader_who_is_gone_is_told_of_once_and_nothing_is_kept_for_it(pipe: Pipe) -> None:
    writer = pipe.writer()
    for _ in range(8):
        writer.write(b"x" * 100_000)
    assert writer.congested

    os.close(pipe.reading)
    pipe.reading = -1
    await bounded(pipe.broken.wait())
    await bounded(writer.drained())
    writer.write(b"x" * 1_000_000)

    assert not writer.congested
    writer.close(5.0)


async def test_at_the_end_nobody_waits_for_a_reader(pipe: Pipe) -> None:
    writer = pipe.writer()
    for _ in range(8):
        writer.write(b"x" * 100_000)

    writer.stop_waiting()
    writer.write(b"x" * 100_000)

    await bounded(writer.drained())
    assert await bounded(asyncio.to_thread(read_bodies, pipe.reading, 9)) == [b"x" * 100_000] * 9
    writer.close(5.0)


async def test_a_writer_whose_loop_is_closed_ends_quietly(pipe: Pipe) -> None:
    """As at the end of the daemon, when the editor reads the last words late."""
    made: list[FrameWriter] = []

    async def write() -> None:
        made.append(pipe.writer())
        made[0].write(b"x" * 1_000_000)

    await bounded(asyncio.to_thread(lambda: asyncio.run(write())))

    assert await bounded(asyncio.to_thread(read_bodies, pipe.reading, 1)) == [b"x" * 1_000_000]
    made[0].close(5.0)
