"""A daemon that is used for long stays as it was. `benchmarks/soak.py` is the long version, with 1,000 turns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.raw import RawClient, raw_client

SCRIPT = (
    {"loop": True},
    {"tool_calls": [{"name": "read_file", "input": {"path": "a.txt"}}]},
    {"text": "I have read it."},
    {"tool_calls": [{"name": "edit_file", "input": {"path": "a.txt", "old": "one", "new": "two"}}]},
    {"text": "Changed."},
    {"tool_calls": [{"name": "shell", "input": {"command": "echo a command"}}]},
    {"tool_calls": [{"name": "edit_file", "input": {"path": "a.txt", "old": "two", "new": "one"}}]},
    {"text": "Changed back."},
    {"tool_calls": [{"name": "shell", "input": {"command": "echo begun; exec sleep 60"}}]},
)
"""Four turns, of which the last is cancelled."""

N_TURNS, N_WARM = 48, 16


@dataclass(frozen=True, slots=True)
class Held:
    """What a daemon has open."""

    descriptors: list[str]
    n_children: int


def held(client: RawClient) -> Held:
    """What it has open when it has nothing to do."""
    client.until_idle()
    pid = client.process.pid
    targets = sorted(str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir())
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return Held([each.split(":")[0] for each in targets], len(children))


def test_turn_after_turn_leaves_no_descriptor_no_process_and_little_memory(folder: Path) -> None:
    (folder / "a.txt").write_text("This is one file.\n")
    script = folder.parent / "script.jsonl"
    script.write_text("".join(json.dumps(each) + "\n" for each in SCRIPT))
    environment = {"PYGENT_MODEL": f"scripted:{script}", "PYGENT_PERMISSIONS": '{"allow": ["shell", "edit_file"]}'}
    with raw_client(folder, environment=environment) as client:
        client.initialize(folder)
        session = {"sessionId": client.request("new", "pygent/session/new")["result"]["sessionId"]}
        _turns(client, session, range(N_WARM))
        client.request("index", "pygent/session/list")  # else it is opened while the turns run, once there is time
        before, bytes_before = held(client), client.resident_bytes()

        _turns(client, session, range(N_WARM, N_TURNS))

        assert held(client) == before
        assert client.resident_bytes() - bytes_before < 20_000_000
        assert client.finish() == 0


def _turns(client: RawClient, session: dict[str, str], numbers: range) -> None:
    for number in numbers:
        token = f"t{number}"
        client.begin(token, "pygent/turn/start", {"prompt": "go", "partialResultToken": token, **session})
        if number % 4 == 3:
            client.until(
                lambda frame, token=token: (
                    frame.get("method") == "$/progress"
                    and frame["params"]["token"] == token
                    and any(each["type"] == "tool_progress" for each in frame["params"]["value"]["events"])
                )
            )
            client.request(f"cancel {number}", "pygent/turn/cancel", session)
        wanted = "cancelled" if number % 4 == 3 else "end_turn"
        assert client.answer(token)["result"]["stopReason"] == wanted
