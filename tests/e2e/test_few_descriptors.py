"""A daemon that may open few files: what does not work says what would, nothing is lost, and the daemon goes on."""

from __future__ import annotations

import json
import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.raw import DAEMON, RawClient, raw_client

SCRIPT = (
    {"loop": True},
    {"tool_calls": [{"name": "read_file", "input": {"path": "a.txt"}}]},
    {"tool_calls": [{"name": "shell", "input": {"command": "cat a.txt"}}]},
    {"text": "I have read it."},
)

WHAT_WOULD_WORK = "pygent-ls cannot open more files. Start it with a higher limit, such as `ulimit -n 1024`."

MORE = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
"""What the system allows at most."""


@contextmanager
def limited(folder: Path, n_descriptors: int) -> Generator[RawClient]:
    """A daemon that may have so many descriptors, until a test lets it have more."""
    (folder / "a.txt").write_text("words\n")
    script = folder.parent / "script.jsonl"
    script.write_text("".join(json.dumps(each) + "\n" for each in SCRIPT))
    environment = {"PYGENT_MODEL": f"scripted:{script}", "PYGENT_PERMISSIONS": '{"allow": ["shell"]}'}
    start = ["/bin/sh", "-c", f'ulimit -S -n {n_descriptors}; exec "$@"', "sh", *DAEMON]
    with raw_client(folder, command=start, environment=environment) as client:
        client.initialize(folder)
        yield client


def turns(client: RawClient, name: str, n_turns: int, **params: object) -> list[dict[str, Any]]:
    """The answers to turns one after another, each in a session of its own."""
    return [client.request(f"{name} {n}", "pygent/turn/start", {"prompt": "go", **params}) for n in range(n_turns)]


def test_with_20_descriptors_every_turn_works_however_many_sessions_there_are(folder: Path) -> None:
    with limited(folder, 20) as client:
        for answer in turns(client, "turn", 12, partialResultToken="events"):
            assert answer["result"]["stopReason"] == "end_turn", answer
        frames = [each["params"]["value"] for each in client.frames if each.get("method") == "$/progress"]
        events = [event for frame in frames for event in frame.get("events", ())]
        results = [each["content"] for each in events if each["type"] == "tool_result"]
        assert results == ["     1\twords", "words\n[exit code 0]"] * 12
        listed = client.request("list", "pygent/session/list", {})
        assert len(listed["result"]["sessions"]) == 12
        assert client.finish() == 0


@pytest.mark.parametrize("n_descriptors", [10, 11, 12, 14])
def test_with_hardly_any_descriptors_it_is_said_what_would_work_and_nothing_is_lost(
    folder: Path, n_descriptors: int
) -> None:
    with limited(folder, n_descriptors) as client:
        answers = turns(client, "turn", 3)
        assert "internal error" not in json.dumps(answers)
        sessions = {each["result"]["sessionId"] for each in answers if "result" in each}
        resource.prlimit(client.process.pid, resource.RLIMIT_NOFILE, (1024, MORE))
        for session in sessions:
            (answer,) = turns(client, f"again {session}", 1, sessionId=session)
            assert answer["result"]["stopReason"] == "end_turn", answer
            loaded = client.request(f"load {session}", "pygent/session/load", {"sessionId": session})["result"]
            assert loaded["messages"][-1]["content"] == [{"type": "text", "text": "I have read it."}]
        assert client.finish() == 0


def test_what_initialized_could_not_begin_begins_with_the_next_message(folder: Path) -> None:
    with raw_client(folder, environment={"PYGENT_MODEL": "offline/rules"}, may_be_warm=False) as client:
        capabilities = {"workspace": {"configuration": True}}
        client.request(1, "initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities})
        resource.prlimit(client.process.pid, resource.RLIMIT_NOFILE, (3, MORE))
        client.tell("initialized")
        assert client.request(2, "pygent/status")["error"]["message"].startswith(WHAT_WOULD_WORK)

        resource.prlimit(client.process.pid, resource.RLIMIT_NOFILE, (1024, MORE))
        assert "result" in client.request(3, "pygent/status")
        client.until(lambda frame: frame.get("method") == "workspace/configuration")


def test_a_turn_that_can_open_nothing_ends_with_what_would_work(folder: Path) -> None:
    with limited(folder, 1024) as client:
        resource.prlimit(client.process.pid, resource.RLIMIT_NOFILE, (3, MORE))
        client.begin("turn", "pygent/turn/start", {"prompt": "go", "partialResultToken": "events"})
        result = client.answer("turn")
        assert WHAT_WOULD_WORK in json.dumps(result)
        resource.prlimit(client.process.pid, resource.RLIMIT_NOFILE, (1024, MORE))
        (answer,) = turns(client, "then", 1)
        assert answer["result"]["stopReason"] == "end_turn", answer
