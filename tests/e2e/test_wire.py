"""The wire of the real daemon: whatever comes in it goes on, and nothing but frames comes out."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.raw import RawClient, framed, raw_client

PARSE_ERROR, INVALID_REQUEST = -32700, -32600


class Shared:
    """One daemon for all tests that leave it as it was; each answer is looked for behind what came before."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self._ids = count(1)

    def request(self, method: str, params: object = None) -> dict[str, Any]:
        """Send a request with an id of its own; its answer."""
        return self.client.request(f"shared-{next(self._ids)}", method, params)

    def said_after(self, data: bytes) -> list[tuple[int, str]]:
        """Send bytes; the errors without an id that came before the answer to the next request."""
        self.request("pygent/status")
        n_frames = len(self.client.frames)
        self.client.send_raw(data)
        assert self.request("pygent/status")["result"]["version"]
        new = self.client.frames[n_frames:]
        return [(each["error"]["code"], each["error"]["message"]) for each in new if each.get("id", 0) is None]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shared]:
    folder = tmp_path_factory.mktemp("wire") / "project"
    folder.mkdir()
    with raw_client(folder, environment={"PYGENT_MODEL": "offline/rules"}) as client:
        client.initialize(folder)
        yield Shared(client)
        assert client.finish() == 0
        assert "Traceback" not in client.stderr


STATUS: dict[str, Any] = {"jsonrpc": "2.0", "id": "inner", "method": "pygent/status", "params": {}}


@pytest.mark.parametrize(
    ("data", "errors"),
    [
        (b"Content-Length: 9\r\n\r\n{broken!}", [(PARSE_ERROR, "not JSON")]),
        (b"Content-Length: 0\r\n\r\n", [(PARSE_ERROR, "not JSON")]),
        (b"Content-Type: text/html\r\n\r\n", [(PARSE_ERROR, "no Content-Length")]),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", [(PARSE_ERROR, "no Content-Length")]),
        (b"Content-Length: many\r\n\r\n" + json.dumps(STATUS).encode(), [(PARSE_ERROR, "'many'")]),
        (b"Content-Length: -1\r\n\r\n{}", [(PARSE_ERROR, "'-1'")]),
        (b"Content-Length: 999999999999\r\n\r\n{}", [(PARSE_ERROR, "999999999999 bytes")]),
        (b"Content-Length: 2\r\n\r\n{} and more than it says", [(INVALID_REQUEST, "neither a method")]),
        (framed([STATUS]), [(INVALID_REQUEST, "batches")]),
        (framed("text"), [(INVALID_REQUEST, "JSON object")]),
        (framed(None), [(INVALID_REQUEST, "JSON object")]),
        (framed({**STATUS, "id": None}), [(INVALID_REQUEST, "`id`")]),
        (framed({**STATUS, "id": 1.5}), [(INVALID_REQUEST, "`id`")]),
        (framed({**STATUS, "id": True}), [(INVALID_REQUEST, "`id`")]),
        (framed({**STATUS, "id": {"a": 1}}), [(INVALID_REQUEST, "`id`")]),
        (framed(b'{"a": "\xff"}'), [(PARSE_ERROR, "not JSON")]),
        (framed(b"[" * 200_000), [(PARSE_ERROR, "not JSON")]),
        (framed({"jsonrpc": "2.0", "id": 12345, "result": {}}), []),
        (framed({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "x"}}), []),
        (framed({"jsonrpc": "2.0", "method": "pygent/nothing", "params": {"class": 1, "a-b": 2}}), []),
        (b"\r\n\r\n\n", []),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_request_is_answered_without_an_id_and_the_next_one_as_always(
    shared: Shared, data: bytes, errors: list[tuple[int, str]]
) -> None:
    said = shared.said_after(data)

    assert [code for code, _ in said] == [code for code, _ in errors]
    for (_, message), (_, part) in zip(said, errors, strict=True):
        assert part in message


def test_bytes_may_come_one_by_one(shared: Shared) -> None:
    for byte in framed({**STATUS, "id": "slow"}):
        shared.client.send_raw(bytes([byte]))

    assert shared.client.answer("slow")["result"]["version"]


def test_many_requests_in_one_write_are_all_answered(shared: Shared) -> None:
    ids = [f"many-{number}" for number in range(300)]
    shared.client.send_raw(b"".join(framed({**STATUS, "id": each}) for each in ids))

    for each in ids:
        assert "result" in shared.client.answer(each)


def test_nested_messages_odd_keys_and_half_characters_are_just_data(shared: Shared) -> None:
    block = {"type": "text", "text": "hello \ud83d", "jsonrpc": "2.0", "id": 5, "method": "exit"}

    answer = shared.request("pygent/turn/start", {"prompt": [block], "class": 1, "a-b": {"jsonrpc": "2.0"}})

    assert answer["result"]["stopReason"] == "end_turn"


def test_a_large_document_is_taken(shared: Shared) -> None:
    text = "x" * 8_000_000
    item = {"uri": "file:///nowhere/large.txt", "languageId": "x", "version": 1, "text": text}
    shared.client.tell("textDocument/didOpen", {"textDocument": item})
    shared.client.tell("textDocument/didClose", {"textDocument": {"uri": item["uri"]}})

    assert shared.request("pygent/status")["result"]["version"]


# What else may write


def test_nothing_that_a_tool_or_its_children_write_reaches_the_wire(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    script = tmp_path / "script.jsonl"
    calls: dict[str, Any] = {"tool_calls": [{"name": "chatter", "input": {}}]}
    script.write_text(f"{json.dumps(calls)}\n{json.dumps({'text': 'done'})}\n")
    root = Path(__file__).parents[2]
    command = (sys.executable, "-m", "tests.e2e.chatty_daemon")
    environment = {"PYGENT_MODEL": f"scripted:{script}", "PYTHONPATH": str(root)}
    with raw_client(folder, command=command, environment=environment) as client:
        client.initialize(folder)

        result = client.request(1, "pygent/turn/start", {"prompt": "go", "partialResultToken": "events"})["result"]

        assert result["text"] == "done"
        values = [frame["params"]["value"] for frame in client.frames if frame.get("method") == "$/progress"]
        results = [event for value in values for event in value["events"] if event["type"] == "tool_result"]
        assert [(event["toolName"], event["isError"]) for event in results] == [("chatter", False)]
        assert results[0]["content"].endswith(": 0")
        assert client.finish() == 0
    for line in ("printed by a tool", "written to descriptor 1", "from a child", "to its errors"):
        assert line in client.stderr
    assert "\n0\n" in client.stderr  # what the child found on its standard input


def test_the_shell_can_neither_write_nor_read_the_wire(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    script = tmp_path / "script.jsonl"
    shell = "echo Content-Length: 5 >&2; cat; ls -l /proc/self/fd; exec >&1; echo end"
    calls: dict[str, Any] = {"tool_calls": [{"name": "shell", "input": {"command": shell}}]}
    script.write_text(f"{json.dumps(calls)}\n{json.dumps({'text': 'done'})}\n")
    with raw_client(folder, environment={"PYGENT_MODEL": f"scripted:{script}"}) as client:
        client.initialize(folder)
        client.begin(1, "pygent/turn/start", {"prompt": "go", "partialResultToken": "events"})
        asked = client.until(lambda frame: frame.get("method") == "window/showMessageRequest")
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": "Allow once"}})

        assert client.answer(1)["result"]["text"] == "done"
        assert client.finish() == 0


# A client that does not read


N_CHARS = 7_500_000
"""Bytes of an answer: far more than a pipe and the daemon's own buffers hold, and nearly the maximum that is read of
one."""


def test_a_client_that_stops_reading_costs_no_memory_and_misses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    script, text = tmp_path / "script.jsonl", "0123456789" * (N_CHARS // 10)
    lines = ({"text": "the script is loaded"}, {"text": text, "chunk": 2000})
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    environment = {"PYGENT_MODEL": f"scripted:{script}", "PYGENT_MAX_OUTPUT_TOKENS": "1000000"}
    with raw_client(folder, environment=environment) as client:
        client.initialize(folder)
        session_id = client.request(1, "pygent/turn/start", {"prompt": "go"})["result"]["sessionId"]
        before_bytes = client.resident_bytes()

        client.begin(2, "pygent/turn/start", {"prompt": "go", "sessionId": session_id, "partialResultToken": "events"})
        client.until(lambda frame: frame.get("method") == "$/progress")
        client.stop_reading()
        client.begin(3, "pygent/status")
        client.until_idle()
        # The model has a copy of its text, and the turn its pieces. A daemon that held all that is not read was seen to
        # grow by 14 times that
        assert client.resident_bytes() - before_bytes < 5 * N_CHARS

        client.read_on()
        assert client.answer(2)["result"]["text"] == text
        assert client.answer(3)["result"]["version"]
        values = [frame["params"]["value"] for frame in client.frames if frame.get("method") == "$/progress"]
        events = [event for value in values for event in value["events"]]
        assert "".join(event["content"] for event in events if event["type"] == "text_delta") == text
        n_first = events[0]["seq"]
        assert [event["seq"] for event in events] == list(range(n_first, n_first + len(events)))
        assert events[-1]["type"] == "finished"
        assert client.finish() == 0


def test_a_long_document_takes_twice_its_size_to_open_and_nothing_once_it_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    text = "a line of plain text\n" * 2_000_000
    identifier = {"uri": (folder / "long.txt").as_uri(), "languageId": "plaintext", "version": 1}
    with raw_client(folder) as client:
        client.initialize(folder)
        client.until_idle()
        before_bytes = client.resident_bytes()

        client.tell("textDocument/didOpen", {"textDocument": identifier | {"text": text}})
        client.until_idle()
        assert client.peak_bytes() - before_bytes < 2.6 * len(text)
        assert client.resident_bytes() - before_bytes < 1.6 * len(text)

        client.tell("textDocument/didClose", {"textDocument": identifier})
        client.request(1, "pygent/status")
        assert client.resident_bytes() - before_bytes < 0.6 * len(text)
