"""Lines on their way to a reader who may be slow, or gone."""

from __future__ import annotations

import asyncio
import json
import os

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.scripts.stdin import lines_of
from pygent_ls.editors.scripts.writer import LineWriter
from pygent_ls.editors.terminal.output_writer import OutputWriter
from pygent_ls.sessions.event_stream import MAX_PENDING_CHARS
from tests.fakes import bounded


async def test_a_reader_who_does_not_read_holds_up_nothing_and_loses_nothing() -> None:
    reads, writes = os.pipe()
    lost: list[OSError] = []
    writer = LineWriter(writes, lost.append)
    text = "x" * 10_000

    for _ in range(2 * MAX_PENDING_CHARS // len(text)):  # far more than the pipe holds
        writer.write({"text": text})
    assert not await _is_done(writer.has_room())
    got = await asyncio.to_thread(_read_some, reads, 3 * MAX_PENDING_CHARS // 2)
    await bounded(writer.has_room())
    rest = asyncio.to_thread(_read_to_the_end, reads)
    reading = asyncio.gather(rest)
    await bounded(writer.written())
    writer.close()
    os.close(writes)
    (tail,) = await bounded(reading)
    os.close(reads)

    lines = (got + tail).splitlines()
    assert len(lines) > MAX_PENDING_CHARS // 10_100
    assert {json.loads(line)["text"] for line in lines} == {text}
    assert lost == []


async def test_a_reader_who_left_is_told_once_and_ends_every_wait() -> None:
    reads, writes = os.pipe()
    lost: list[OSError] = []
    gone = asyncio.Event()

    def on_lost(error: OSError) -> None:
        lost.append(error)
        gone.set()

    writer = LineWriter(writes, on_lost)
    os.close(reads)

    writer.write({"n": 1})
    writer.write({"n": 2})
    await bounded(gone.wait())
    writer.write({"n": 3})
    await bounded(writer.written())
    await bounded(writer.has_room())

    assert [type(error) for error in lost] == [BrokenPipeError]
    assert writer.is_lost
    os.close(writes)


async def test_what_goes_to_two_streams_comes_in_its_order_and_one_may_be_lost() -> None:
    """Both may be the same terminal."""
    (reads, writes), (lost_reads, lost_writes) = os.pipe(), os.pipe()
    lost: list[tuple[int, type[OSError]]] = []
    outlet = OutputWriter(lambda descriptor, error: lost.append((descriptor, type(error))))
    with (
        os.fdopen(writes, "w", encoding="ascii", errors="backslashreplace", closefd=False) as one,
        os.fdopen(os.dup(writes), "w", encoding="utf-8") as other,
        os.fdopen(lost_writes, "w", encoding="utf-8") as third,
    ):
        first, second, gone = map(outlet.stream, (one, other, third))
        os.close(lost_reads)
        for n in range(3):
            first.write(f"{n} ä\n")
            gone.write("x")
            second.write(f"{n} ä\n")
        await bounded(outlet.written())
        assert not first.isatty()
    outlet.close()
    os.close(writes)

    text = await asyncio.to_thread(_read_to_the_end, reads)
    os.close(reads)
    assert text.decode() == "".join(f"{n} \\xe4\n{n} ä\n" for n in range(3))
    assert lost == [(lost_writes, BrokenPipeError)]


@given(st.dictionaries(st.text(), st.text() | st.sampled_from(["\u2028", "\x85", "\ud800", "\r\n"])))
def test_no_text_ends_a_line(content: dict[str, str]) -> None:
    async def round_trip() -> list[bytes]:
        reads, writes = os.pipe()
        writer = LineWriter(writes, lambda _: None)
        writer.write(content)
        await bounded(writer.written())
        writer.close()
        os.close(writes)
        lines = [line async for line in lines_of(reads)]
        os.close(reads)
        return lines

    (line,) = asyncio.run(round_trip())

    assert len(line.decode("ascii").splitlines()) == 1
    assert json.loads(line) == content


async def test_lines_come_whole_however_they_are_written() -> None:
    reads, writes = os.pipe()
    came: list[bytes] = []

    async def read() -> None:
        async for line in lines_of(reads):
            came.append(line)

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(read())
        for piece in (b"one\ntw", b"o", b"\n\n", b"last"):
            os.write(writes, piece)
        os.close(writes)
        await bounded(reading)
    os.close(reads)

    assert came == [b"one", b"two", b"", b"last"]


async def _is_done(waiting: object) -> bool:
    assert asyncio.iscoroutine(waiting)
    task = asyncio.ensure_future(waiting)
    await asyncio.sleep(0)
    done = task.done()
    task.cancel()
    return done


def _read_some(descriptor: int, n_bytes: int) -> bytes:
    data = b""
    while len(data) < n_bytes:
        data += os.read(descriptor, 65_536)
    return data


def _read_to_the_end(descriptor: int) -> bytes:
    data = b""
    while piece := os.read(descriptor, 65_536):
        data += piece
    return data
