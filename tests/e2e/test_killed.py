"""A daemon that is killed with -9 in the middle of a turn has lost nothing that an editor was told of."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.e2e.raw import RawClient, raw_client
from tests.sessions.journal.kept import check_whole_story, events_in, open_turns

SCRIPT = (
    {"loop": True},
    {
        "thinking": "both",
        "text": "I read both of them.",
        "tool_calls": [{"name": "read_file", "input": {"path": name}} for name in ("a.txt", "b.txt")],
    },
    {"tool_calls": [{"name": "create_file", "input": {"path": "made.txt", "content": "made\n", "overwrite": True}}]},
    {"tool_calls": [{"name": "shell", "input": {"command": "for n in 1 2 3; do echo $n; done"}}]},
    {"text": "A long answer, in many pieces. " * 10, "chunk": 10},
)

ENVIRONMENT = {"PYGENT_PERMISSIONS": '{"allow": ["shell", "create_file"]}', "PYGENT_STREAM_FLUSH_MS": "1"}


def test_what_an_editor_was_told_survives_a_kill_at_any_moment(folder: Path) -> None:
    chance = random.Random(3)
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"This is {name}.\n")
    script = folder.parent / "script.jsonl"
    script.write_text("".join(json.dumps(each) + "\n" for each in SCRIPT))
    environment = {**ENVIRONMENT, "PYGENT_MODEL": f"scripted:{script}"}
    session: dict[str, str] = {}
    journal = Path()
    n_kills, n_cut, n_seen = 2, 0, 0
    for kill in range(n_kills + 1):
        with raw_client(folder, environment=environment) as client:
            client.initialize(folder)
            if session:
                n_seen = _check_resumed(client, session, n_seen, n_interrupted=n_cut)
            if kill < n_kills:
                wanted = chance.randint(1, 25)
                client.begin("turn", "pygent/turn/start", {"prompt": "go", "partialResultToken": "turn", **session})
                seen = _until(client, "turn", wanted)
                client.process.send_signal(signal.SIGKILL)
                client.wait()
                journal = next((folder.parent / "home").rglob("sessions/*.jsonl"))
                session = {"sessionId": journal.stem}
                written = {each.seq: each.event.type for each in events_in(journal.read_bytes())}
                assert {each["seq"]: written.get(each["seq"]) for each in seen} == {
                    each["seq"]: each["type"] for each in seen
                }
                n_seen = max(each["seq"] for each in seen)
                n_cut += len(open_turns(events_in(journal.read_bytes())))
    check_whole_story(events_in(journal.read_bytes()))


KILLED_IN_AN_EDIT = """
import os, signal, sys
from pathlib import Path
from pygent_ls.workspace.files.temporary_files import draft_in, keep_record, place_aside

folder = Path(sys.argv[1])
keep_record(Path(sys.argv[2]))
draft_in(folder).write_text("half of a fi")
(folder / "deleted.txt").rename(place_aside(folder / "deleted.txt"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_daemon_left_in_the_workspace_is_gone_with_the_next_one(folder: Path) -> None:
    (folder / "deleted.txt").write_text("the only copy")
    (folder / ".pygent-0123456789abcdef.tmp").write_text("the user's own")
    (folder.parent / "script.jsonl").write_text(json.dumps(SCRIPT[2]) + '\n{"text": "Made."}\n')
    state = folder.parent / "home" / ".local" / "state" / "pygent-ls"
    killed = subprocess.run([sys.executable, "-c", KILLED_IN_AN_EDIT, folder, state], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(state.glob("unfinished-*"))) == 1
    assert len(list(folder.iterdir())) == 3
    environment = {**ENVIRONMENT, "PYGENT_MODEL": f"scripted:{folder.parent / 'script.jsonl'}"}
    with raw_client(folder, environment=environment) as client:
        client.initialize(folder)
        done = client.request("turn", "pygent/turn/start", {"prompt": "make it"})
        assert [each["kind"] for each in done["result"]["filesChanged"]] == ["create"]
        client.until_idle()
        found = {each.name: each.read_text() for each in folder.iterdir()}
        assert found == {
            "deleted.txt": "the only copy",
            ".pygent-0123456789abcdef.tmp": "the user's own",
            "made.txt": "made\n",
        }
        assert list(state.glob("unfinished-*")) == []


def _check_resumed(client: RawClient, session: dict[str, str], n_seen: int, *, n_interrupted: int) -> int:
    """The next daemon closes the turn, once; the next turn works; all can be read again. Returns the last event's
    number."""
    loaded = client.request("load", "pygent/session/load", session)["result"]
    assert loaded["lastSeq"] >= n_seen
    pending: list[str] = []
    for message in loaded["messages"]:
        results = [each["toolUseId"] for each in message["content"] if each["type"] == "tool_result"]
        assert results == pending
        pending = [each["id"] for each in message["content"] if each["type"] == "tool_use"]
    assert pending == []
    done = client.request("again", "pygent/turn/start", {"prompt": "again", "partialResultToken": "again", **session})
    assert done["result"]["stopReason"] == "end_turn", done
    last = client.request("loaded", "pygent/session/load", session)["result"]["lastSeq"]
    client.begin("attach", "pygent/session/attach", {"sinceSeq": 0, "partialResultToken": "all", **session})
    events = _until(client, "all", last)
    assert [each["seq"] for each in events] == list(range(1, last + 1))
    assert [each["type"] for each in events].count("interrupted") == n_interrupted
    return last


def _until(client: RawClient, token: str, n_events: int) -> list[dict[str, Any]]:
    """Return that many events at least, or all of a turn, which came for the token."""
    events: list[dict[str, Any]] = []

    def is_enough(frame: dict[str, Any]) -> bool:
        if frame.get("method") == "$/progress" and frame["params"]["token"] == token:
            events.extend(frame["params"]["value"]["events"])
        return len(events) >= n_events or (token == "turn" and any(each["type"] == "finished" for each in events))

    client.until(is_enough)
    return events
