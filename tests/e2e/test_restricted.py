"""A workspace that the editor does not trust, with the whole daemon: nothing of it runs, and nothing is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.raw import DAEMON, RawClient, raw_client
from tests.e2e.test_lifecycle import run_in_shell, with_script
from tests.e2e.test_socket import events

RESTRICTED = {"experimental": {"pygent": {"restricted": True, "permissionRequest": True}}}

CONFIG = """\
mode = "trust"
[permissions]
allow = ["shell", "edit_file"]
deny = ["read_file(secret.txt)"]
[[hooks]]
event = "user_prompt_submit"
command = "touch hook-ran"
[agents.doer]
description = "Does it"
mode = "trust"
"""


def call(name: str, **arguments: object) -> dict[str, Any]:
    return {"name": name, "input": arguments}


ATTEMPTS = {
    "tool_calls": [
        call("shell", command="touch shell-ran"),
        call("shell", command="ls"),
        call("edit_file", path="a.txt", old="one", new="two"),
        call("create_file", path="made.txt", content="x"),
        call("run_tests"),
        call("task", description="do it", prompt="do it", agent="default"),
        call("git_commit", message="x"),
        call("read_file", path="secret.txt"),
        call("read_file", path="a.txt"),
    ]
}


@pytest.fixture
def workspace(folder: Path) -> Path:
    """Make a workspace that requests much, and was trusted once."""
    (folder / ".pygent" / "commands").mkdir(parents=True)
    (folder / ".pygent" / "config.toml").write_text(CONFIG)
    (folder / ".pygent" / "commands" / "own.md").write_text("Do this.")
    (folder / "a.txt").write_text("one\n")
    (folder / "secret.txt").write_text("hidden\n")
    (folder.parent / "home").mkdir()
    return folder


def trust(folder: Path) -> None:
    with raw_client(folder, command=("sh", "-c", 'exec "$@" 1>&2', "sh", *DAEMON, "trust", ".")) as told:
        assert told.wait() == 0


def files(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()} - {".pygent"}


def asked(client: RawClient) -> list[str]:
    """What the daemon asked its client."""
    return [frame["method"] for frame in client.frames if "id" in frame and "method" in frame]


def turn(client: RawClient, **params: object) -> Any:
    return client.request("turn", "pygent/turn/start", {"prompt": "go", "partialResultToken": "events", **params})


def test_nothing_runs_and_nothing_is_changed_whatever_was_trusted_and_set(workspace: Path) -> None:
    trust(workspace)
    environment = {**with_script(workspace, ATTEMPTS, {"text": "Done."}), "PYGENT_MODE": "trust"}
    with raw_client(workspace, environment=environment) as client:
        told = client.initialize(workspace, capabilities=RESTRICTED)["capabilities"]["experimental"]["pygent"]
        result = turn(client)["result"]
        commands = client.request("commands", "pygent/commands/list")["result"]["commands"]
        agents = client.request("agents", "pygent/agents/list")["result"]["agents"]

        assert told["restricted"] is True
        assert result["stopReason"] == "end_turn"
        assert asked(client) == []
        denied = [each["toolName"] for each in events(client) if each["type"] == "permission_denied"]
        assert sorted(denied) == sorted(each["name"] for each in ATTEMPTS["tool_calls"][:-1])
        read = [each["content"] for each in events(client) if each["type"] == "tool_result" and not each["isError"]]
        assert len(read) == 1
        assert "one" in read[0]
        assert next(each["mode"] for each in events(client) if each["type"] == "turn_started") == "plan"
        assert any("does not trust" in each["content"] for each in events(client) if each["type"] == "notice")
        assert files(workspace) == {"a.txt", "secret.txt"}
        assert (workspace / "a.txt").read_text() == "one\n"
        assert "own" not in [each["name"] for each in commands]
        assert "doer" not in [each["name"] for each in agents]


def test_without_the_word_of_the_editor_the_same_workspace_does_what_it_was_trusted_to_do(workspace: Path) -> None:
    """So that the test before shows something."""
    trust(workspace)
    environment = with_script(workspace, run_in_shell("touch shell-ran"), {"text": "Done."})
    with raw_client(workspace, environment=environment) as client:
        told = client.initialize(workspace)["capabilities"]["experimental"]["pygent"]
        turn(client)

        assert told["restricted"] is False
        assert files(workspace) == {"a.txt", "secret.txt", "shell-ran", "hook-ran"}


def test_nobody_is_asked_to_trust_the_workspaces_settings(workspace: Path) -> None:
    with raw_client(workspace, environment=with_script(workspace, {"text": "Done."})) as client:
        client.initialize(workspace, capabilities=RESTRICTED)
        turn(client)

        assert asked(client) == []


def test_another_mode_is_refused_wherever_it_is_asked_for(workspace: Path) -> None:
    with raw_client(workspace, environment=with_script(workspace, {"text": "Done."}, {"text": "Done."})) as client:
        client.initialize(workspace, capabilities=RESTRICTED)
        session = {"sessionId": client.request("new", "pygent/session/new")["result"]["sessionId"]}
        requests: dict[str, dict[str, Any]] = {
            "pygent/permission/setMode": {**session, "mode": "default"},
            "pygent/session/new": {"mode": "trust"},
            "pygent/session/configure": {**session, "mode": "accept_edits"},
            "pygent/turn/start": {**session, "prompt": "go", "mode": "default"},
            "workspace/executeCommand": {"command": "pygent.setMode", "arguments": ["trust"]},
        }
        for method, params in requests.items():
            error = client.request(method, method, params)["error"]
            assert (error["code"], error["data"]) == (-32602, {"kind": "restricted"})
        assert client.request("plan", "pygent/permission/setMode", {**session, "mode": "plan"})["result"]
        said = turn(client, prompt="/mode trust", **session)["result"]
        assert "Trust the workspace in the editor" in said["text"]


def test_a_session_that_was_trusted_with_more_goes_on_with_reading_and_so_does_its_fork(workspace: Path) -> None:
    environment = with_script(workspace, {"text": "Hello."}, run_in_shell("touch ran"), {"text": "Done."})
    with raw_client(workspace, environment=environment) as client:
        client.initialize(workspace, capabilities={"experimental": {"pygent": {"questionRequest": True}}})
        kept = client.request("new", "pygent/session/new", {"mode": "trust"})["result"]["sessionId"]
        client.begin("turn", "pygent/turn/start", {"prompt": "hi", "sessionId": kept})
        client.until(lambda frame: frame.get("method") == "window/showMessageRequest")
        question = next(frame for frame in client.frames if frame.get("method") == "window/showMessageRequest")
        client.send({"jsonrpc": "2.0", "id": question["id"], "result": None})
        assert client.answer("turn")["result"]["text"] == "Hello."
        assert client.finish() == 0
    environment = with_script(workspace, run_in_shell("touch ran"), {"text": "Done."})
    with raw_client(workspace, environment=environment) as client:
        client.initialize(workspace, capabilities=RESTRICTED)
        fork = client.request("fork", "pygent/session/fork", {"sessionId": kept})["result"]
        turn(client, sessionId=kept)

        assert fork["mode"] == "plan"
        assert "shell" in [each["toolName"] for each in events(client) if each["type"] == "permission_denied"]
        assert files(workspace) == {"a.txt", "secret.txt"}


def test_an_agent_that_has_a_looser_mode_of_its_own_plans_there(workspace: Path) -> None:
    environment = with_script(workspace, run_in_shell("touch ran"), {"text": "Done."})
    with raw_client(workspace, environment=environment) as client:
        client.initialize(workspace, capabilities=RESTRICTED)
        result = turn(client, agent="yolo")["result"]

        assert result["stopReason"] == "end_turn"
        assert next(each["mode"] for each in events(client) if each["type"] == "turn_started") == "plan"
        assert files(workspace) == {"a.txt", "secret.txt"}


@pytest.mark.parametrize("odd", [None, "no", 0, 1, {}], ids=str)
def test_an_odd_word_on_trust_is_read_the_safe_way(workspace: Path, odd: object) -> None:
    with raw_client(workspace) as client:
        told = client.initialize(workspace, capabilities={"experimental": {"pygent": {"restricted": odd}}})

        assert told["capabilities"]["experimental"]["pygent"]["restricted"] is True
