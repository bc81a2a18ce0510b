"""Files of sessions that a daemon leaves on disk: without secrets, private, and only in the expected places."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tests.e2e.raw import RawClient, raw_client

KEY = "AKIA" + "Q3EGW7MJ5NPXU4TR"
PASSWORD = "tr0ub4dor"

CALLS: tuple[dict[str, Any], ...] = (
    {"name": "read_file", "input": {"path": ".env"}},
    {"name": "shell", "input": {"command": "cat .env; cat .env >&2"}},
    {"name": "edit_file", "input": {"path": "a.txt", "old": "one", "new": "two"}},
    {"name": "task", "input": {"description": "look", "prompt": "look into .env"}},
    {"name": "shell", "input": {"command": "sed -n 2p .env"}},
)
"""The last one belongs to the subagent."""

MAY_STAY = {"placeholders.key"}
"""Files that belong to no session: this one gives a secret the same placeholder in all sessions."""


def client_of(folder: Path, **environment: str) -> AbstractContextManager[RawClient]:
    """A daemon whose model makes all calls; in the folder is a file with secrets."""
    (folder / ".env").write_text(f"AWS_ACCESS_KEY_ID={KEY}\nDB_PASSWORD={PASSWORD}\nREGION=eu\n")
    (folder / "a.txt").write_text("This is one file.\n")
    script = folder.parent / "script.jsonl"
    lines = [*({"text": "I see.", "tool_calls": [each]} for each in CALLS), {"text": "Seen."}, {"text": "Done."}]
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    rules = '{"allow": ["shell", "edit_file"]}'
    return raw_client(
        folder, environment={"PYGENT_MODEL": f"scripted:{script}", "PYGENT_PERMISSIONS": rules, **environment}
    )


def files_of(state: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(each.relative_to(state)): each.read_bytes() for each in state.rglob("*") if each.is_file()}


def names_of(state: Path) -> set[str]:
    """All files and folders below a folder."""
    return {str(each.relative_to(state)) for each in state.rglob("*")}


def turn(client: RawClient, id: str, params: Mapping[str, object]) -> dict[str, Any]:
    """A whole turn's result."""
    answer = client.request(id, "pygent/turn/start", params)
    assert answer.get("result", {}).get("stopReason") == "end_turn", answer
    return answer["result"]


def test_no_journal_and_no_index_holds_a_secret(folder: Path) -> None:
    with client_of(folder) as client:
        client.initialize(folder)
        done = turn(client, "turn", {"prompt": f"look for {KEY} in .env"})
        client.request("search", "pygent/session/search", {"query": "look"})
        name = client.request("load", "pygent/session/load", {"sessionId": done["sessionId"]})["result"]["name"]
        assert client.finish() == 0

    state = folder.parent / "home" / ".local" / "state" / "pygent-ls"
    kept = files_of(state / "sessions") | {name: data for name, data in files_of(state).items() if "index" in name}
    journal = kept[f"{done['sessionId']}.jsonl"]
    assert journal.count(b'"type":"tool_result"') >= 2 * len(CALLS) - 1
    assert len(kept) > 1
    assert [file for file, data in kept.items() if KEY.encode() in data or PASSWORD.encode() in data] == []
    assert KEY not in name


def test_what_is_kept_is_for_its_owner_alone(folder: Path) -> None:
    with client_of(folder) as client:
        client.initialize(folder)
        turn(client, "turn", {"prompt": "go"})
        assert client.finish() == 0

    state = folder.parent / "home" / ".local" / "state" / "pygent-ls"
    sessions = [state / "sessions", *(state / "sessions").rglob("*")]
    assert {each.name: each.stat().st_mode & 0o077 for each in sessions} == dict.fromkeys(
        (each.name for each in sessions), 0
    )


def test_sessions_that_are_not_to_be_kept_leave_nothing_and_can_do_all_that_others_can(folder: Path) -> None:
    state = folder.parent / "home" / ".local" / "state" / "pygent-ls"
    with client_of(folder, PYGENT_PERSIST_SESSIONS="false") as client:
        client.initialize(folder)
        before = names_of(state)
        session = {"sessionId": turn(client, "turn", {"prompt": "the first words"})["sessionId"]}
        assert "sessions" not in {each.name for each in state.iterdir()}

        loaded = client.request("load", "pygent/session/load", session)["result"]
        assert loaded["messages"][0]["content"] == [{"type": "text", "text": "the first words"}]
        assert (
            "the first words"
            in client.request("export", "pygent/session/export", {**session, "format": "plain"})["result"]["content"]
        )
        fork = client.request("fork", "pygent/session/fork", session)["result"]["sessionId"]
        listed = client.request("list", "pygent/session/list")["result"]["sessions"]
        assert {each["sessionId"] for each in listed} == {session["sessionId"], fork}
        found = client.request("search", "pygent/session/search", {"query": "first words"})["result"]["matches"]
        assert session["sessionId"] in {each["sessionId"] for each in found}
        client.begin("attach", "pygent/session/attach", {**session, "partialResultToken": "all"})
        first = client.until(lambda frame: frame.get("method") == "$/progress" and frame["params"]["token"] == "all")
        assert first["params"]["value"]["events"][0]["seq"] == 1
        assert client.request("close", "pygent/session/close", session)["result"] == {"closed": True}
        kept = client.request("checkpoints", "pygent/checkpoint/list", session)["result"]["checkpoints"]
        assert (folder / "a.txt").read_text() == "This is two file.\n"
        back = {"checkpointId": kept[0]["checkpointId"], "files": True, "conversation": True}
        assert "error" not in client.request("restore", "pygent/checkpoint/restore", back)
        assert (folder / "a.txt").read_text() == "This is one file.\n"
        assert client.finish() == 0

    assert names_of(state) - before <= MAY_STAY
    assert [file for file, data in files_of(state).items() if b"first words" in data] == []
