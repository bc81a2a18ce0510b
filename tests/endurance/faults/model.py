"""A model's provider that breaks off, dawdles, or sends what no client expects; then it answers as always."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

from tests.endurance.faults.stage import AFTERWARDS, Turn, stage

Answer = Callable[[socket.socket], object]
"""Writes to the connection of a request; True keeps it open."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
PLAIN_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
END = b"0\r\n\r\n"


def event(text: str, finish: str | None = None) -> bytes:
    """A server-sent event of chat completions."""
    choice = {"index": 0, "delta": {"content": text} if text else {}, "finish_reason": finish}
    return (
        b"data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"
    )


def chunk(data: bytes) -> bytes:
    """A chunk of the transfer encoding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


WHOLE = HEAD + chunk(event(AFTERWARDS)) + chunk(event("", "stop")) + chunk(b"data: [DONE]\n\n") + END


def sends(data: bytes, *, reset: bool = False, stays: bool = False) -> Answer:
    """Send bytes and close; with a reset in place of an end, or not at all."""

    def answer(connection: socket.socket) -> bool:
        connection.sendall(data)
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        return stays

    return answer


def drips(before: bytes, dripped: bytes, pause_s: float) -> Answer:
    """Send a byte again and again, until the client leaves."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(before)
        gone = threading.Event()
        while not gone.wait(pause_s):
            connection.sendall(dripped)

    return answer


def endless(before: bytes, piece: bytes) -> Answer:
    """Send without an end, until the client leaves."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(before)
        while True:
            connection.sendall(piece)

    return answer


class ByteServer:
    """Gives the answers in their order, one a request with tools; then `WHOLE`."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.n_requests = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        self.connections: list[socket.socket] = []

    def serve(self) -> None:
        """Accept until it is closed."""
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """End every connection."""
        self._listening.close()
        for each in self.connections:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as file, suppress(OSError, ValueError):
            while line := file.readline():
                length = 0
                while (header := file.readline()) not in (b"\r\n", b""):
                    name, _, value = header.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                body: Any = json.loads(file.read(length) or b"{}")
                if line.startswith(b"GET") or not body.get("tools"):
                    connection.sendall(WHOLE)
                    continue
                self.n_requests += 1
                answer = self.answers.pop(0) if self.answers else sends(WHOLE, stays=True)
                if not answer(connection):
                    break


@contextmanager
def byte_server() -> Generator[ByteServer]:
    """A server in threads of its own."""
    server = ByteServer()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()


SHORT = {"PYGENT_FIRST_BYTE_TIMEOUT_S": "2", "PYGENT_STREAM_IDLE_TIMEOUT_S": "2"}


async def _told(root: Path, answer: Answer, *, wait_s: float = 40.0, grows_mb: float = 60.0) -> Turn:
    """Give the answer to both attempts of a turn; another request is answered meanwhile, and the next turn works."""
    with byte_server() as server:
        async with stage(root, settings=SHORT, base_url=server.url) as here:
            await here.goes_on()
            before_bytes = here.daemon.resident_bytes()
            server.answers[:] = [answer, answer]
            turn = here.begin()
            await here.answers_within(5)
            await turn.end(wait_s)
            grown = here.daemon.resident_bytes() - before_bytes
            assert grown < grows_mb * 1e6, f"grown by {grown / 1e6:.0f} MB"
            server.answers.clear()
            await here.goes_on()
            return turn


async def _fails(root: Path, answer: Answer, *, wait_s: float = 40.0) -> None:
    turn = await _told(root, answer, wait_s=wait_s)
    assert turn.result["stopReason"] == "error", turn.result
    error = turn.result["error"]
    assert error["message"], error
    assert "Traceback" not in error["message"], error
    assert error["type"] in ("network", "timeout", "server", "unknown", "overloaded"), error


async def reset_before_headers(root: Path) -> None:
    """The connection is reset at once."""
    await _fails(root, sends(b"", reset=True))


async def closed_before_headers(root: Path) -> None:
    """The connection is closed at once."""
    await _fails(root, sends(b""))


async def reset_in_headers(root: Path) -> None:
    """The connection is reset in the middle of a header."""
    await _fails(root, sends(HEAD[:40], reset=True))


async def reset_in_a_chunk(root: Path) -> None:
    """The connection is reset in the middle of a chunk."""
    await _fails(root, sends(HEAD + chunk(event("Some words"))[:-20], reset=True))


async def reset_between_chunks(root: Path) -> None:
    """The connection is reset behind a text."""
    await _fails(root, sends(HEAD + chunk(event("Some words")), reset=True))


async def no_terminator(root: Path) -> None:
    """The last event came and the end of the chunks does not: the answer is whole."""
    turn = await _told(root, sends(WHOLE.removesuffix(END)))
    assert (turn.result["stopReason"], turn.result["text"]) == ("end_turn", AFTERWARDS), turn.result


async def no_terminator_and_open(root: Path) -> None:
    """The connection stays open behind the last event, and the answer ends all the same."""
    began_s = monotonic()
    turn = await _told(root, lambda connection: (connection.sendall(WHOLE.removesuffix(END)), connection.recv(1)))
    assert (turn.result["stopReason"], turn.result["text"]) == ("end_turn", AFTERWARDS), turn.result
    assert monotonic() - began_s < 20


async def slow_headers(root: Path) -> None:
    """A byte of the headers each half second, for ever."""
    await _fails(root, drips(b"HTTP/1.1 200 OK\r\nx-slow: ", b"x", 0.5))


async def slow_body(root: Path) -> None:
    """A byte of the first event each half second, for ever."""
    await _fails(root, drips(PLAIN_HEAD + b"\r\n", b"d", 0.5))


async def slow_comments(root: Path) -> None:
    """Nothing but signs of life."""
    await _fails(root, drips(PLAIN_HEAD + b"\r\n", b": alive\n\n", 0.2))


async def endless_line(root: Path) -> None:
    """One line of the stream that never ends."""
    await _fails(root, endless(PLAIN_HEAD + b"\r\ndata: ", b"x" * 65536))


async def endless_headers(root: Path) -> None:
    """Headers that never end."""
    await _fails(root, endless(b"HTTP/1.1 200 OK\r\n", b"x-more: " + b"x" * 4000 + b"\r\n"))


async def long_line(root: Path) -> None:
    """One event of 10 MB: an answer or an error, and the daemon does not hold it."""
    turn = await _told(root, sends(PLAIN_HEAD + b"\r\n" + event("y" * 10_000_000, "stop")), grows_mb=150)
    assert turn.result["stopReason"] in ("error", "end_turn", "max_output_tokens"), turn.result["stopReason"]


async def short_content_length(root: Path) -> None:
    """The length is less than what comes."""
    body = event(AFTERWARDS) + event("", "stop")
    turn = await _told(root, sends(PLAIN_HEAD + b"content-length: %d\r\n\r\n" % (len(body) // 2) + body))
    assert turn.result["stopReason"] in ("error", "end_turn"), turn.result


async def long_content_length(root: Path) -> None:
    """The length is more than what comes: the answer is whole, as its last event says."""
    body = event(AFTERWARDS) + event("", "stop") + b"data: [DONE]\n\n"
    turn = await _told(root, sends(PLAIN_HEAD + b"content-length: %d\r\n\r\n" % (len(body) * 2) + body))
    assert (turn.result["stopReason"], turn.result["text"]) == ("end_turn", AFTERWARDS), turn.result


async def continue_first(root: Path) -> None:
    """Interim answers before the answer."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
    turn = await _told(root, sends(interim + WHOLE, stays=True))
    assert turn.result["text"] == AFTERWARDS, turn.result


async def endless_continue(root: Path) -> None:
    """Nothing but interim answers."""
    await _fails(root, drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.05))


async def packed_bomb(root: Path) -> None:
    """200 MB of one letter, packed."""
    packed = gzip.compress(b"data: " + b"x" * 200_000_000)
    head = PLAIN_HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    await _fails(root, sends(head + packed))


async def packed_twice(root: Path) -> None:
    """A packed error that unpacks to a bomb."""
    packed = zlib.compress(b"x" * 200_000_000)
    head = b"HTTP/1.1 500 Error\r\ncontent-type: application/json\r\ncontent-encoding: deflate\r\n"
    head += b"content-length: %d\r\n\r\n"
    await _fails(root, sends(head % len(packed) + packed))


async def redirects_in_a_circle(root: Path) -> None:
    """Every answer leads to the same place."""
    where = b"HTTP/1.1 307 Go\r\nlocation: /v1/chat/completions\r\ncontent-length: 0\r\n\r\n"
    with byte_server() as server:
        async with stage(root, settings=SHORT, base_url=server.url) as here:
            await here.goes_on()
            n_before = server.n_requests
            server.answers[:] = [sends(where, stays=True)] * 1000
            turn = await here.turn()
            assert turn.result["stopReason"] == "error", turn.result
            assert "redirect" in turn.result["error"]["message"], turn.result["error"]
            assert server.n_requests - n_before < 60, server.n_requests
            server.answers.clear()
            await here.goes_on()


async def closed_between_turns(root: Path) -> None:
    """A kept connection that the server closed costs no retry."""
    with byte_server() as server:
        async with stage(root, settings=SHORT, base_url=server.url) as here:
            for _ in range(4):
                await here.goes_on()
                for each in server.connections:
                    with suppress(OSError):
                        each.shutdown(socket.SHUT_RDWR)
            turn = await here.turn()
            assert turn.result["text"] == AFTERWARDS
            assert not turn.of("llm_error"), turn.of("llm_error")


async def too_late_and_cancelled(root: Path) -> None:
    """A turn is cancelled at once while the provider says nothing."""
    with byte_server() as server:
        async with stage(root, base_url=server.url) as here:
            server.answers[:] = [lambda connection: connection.recv(1)]
            turn = here.begin()
            await turn.until("turn_started")
            began_s = monotonic()
            await turn.cancel()
            assert turn.result["stopReason"] == "cancelled"
            assert monotonic() - began_s < 5
            server.answers.clear()
            await here.goes_on()


FAULTS = (
    reset_in_a_chunk,
    no_terminator_and_open,
    slow_headers,
    endless_headers,
    packed_bomb,
    closed_between_turns,
    too_late_and_cancelled,
)

LONG = (
    reset_before_headers,
    closed_before_headers,
    reset_in_headers,
    reset_between_chunks,
    no_terminator,
    slow_body,
    slow_comments,
    endless_line,
    long_line,
    short_content_length,
    long_content_length,
    continue_first,
    endless_continue,
    packed_twice,
    redirects_in_a_circle,
)
