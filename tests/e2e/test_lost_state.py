"""What the daemon keeps is removed while it runs: what it still knows is written again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pygent_ls
from tests.e2e.raw import RawClient, raw_client
from tests.model_server import Call, ModelServer, Received, Step

SCRIPT = (
    {"text": "The first answer."},
    {"tool_calls": [{"name": "create_file", "input": {"path": "made.txt", "content": "made\n"}}]},
    {"text": "The second answer."},
)


def say(client: RawClient, session: str, prompt: str) -> list[dict[str, Any]]:
    """One whole turn; its events."""
    params = {"sessionId": session, "prompt": prompt, "partialResultToken": prompt}
    assert client.request(prompt, "pygent/turn/start", params)["result"]["stopReason"] == "end_turn"
    return [
        event
        for frame in client.frames
        if frame.get("method") == "$/progress" and frame["params"]["token"] == prompt
        for event in frame["params"]["value"]["events"]
    ]


@contextmanager
def daemon(folder: Path) -> Generator[RawClient]:
    script = folder.parent / "script.jsonl"
    script.write_text("".join(json.dumps(each) + "\n" for each in SCRIPT))
    environment = {"PYGENT_MODEL": f"scripted:{script}", "PYGENT_PERMISSIONS": '{"allow": ["create_file"]}'}
    with raw_client(folder, environment=environment) as client:
        client.initialize(folder)
        yield client


def begun(client: RawClient, folder: Path) -> tuple[str, Path]:
    """Have a turn in a new session; return its id and the state folder."""
    session = client.request("new", "pygent/session/new", {})["result"]["sessionId"]
    say(client, session, "one")
    (journal,) = (folder.parent / "home").rglob("sessions/*.jsonl")
    return session, journal.parent.parent


def test_a_state_folder_that_is_removed_costs_no_conversation(folder: Path) -> None:
    with daemon(folder) as client:
        session, state = begun(client, folder)
        shutil.rmtree(state)
        events = say(client, session, "two")
        assert "notice" not in [each["type"] for each in events]
        client.kill()

    with daemon(folder) as client:
        loaded = client.request("load", "pygent/session/load", {"sessionId": session})["result"]
        assert loaded["lastSeq"] == events[-1]["seq"]
        assert [each["role"] for each in loaded["messages"]] == ["user", "assistant"] * 2 + ["user", "assistant"]
        undo = {"command": "pygent.undo", "arguments": [{"sessionId": session}]}
        done = client.request("undo", "workspace/executeCommand", undo)["result"]
        assert done["restored"] == [(folder / "made.txt").as_uri()]
        assert not (folder / "made.txt").exists()


@pytest.mark.parametrize("place", ["", "sessions"])
def test_a_file_in_the_place_of_the_state_folder_is_told_of_and_costs_nothing_once_it_is_gone(
    folder: Path, place: str
) -> None:
    with daemon(folder) as client:
        session, state = begun(client, folder)
        lost = state / place
        shutil.rmtree(lost)
        lost.write_text("")
        notices = [each["content"] for each in say(client, session, "two") if each["type"] == "notice"]
        assert "The session cannot be written to disk: Not a directory." in " ".join(notices)
        listed = client.request("list", "pygent/session/list", {})["result"]["sessions"]
        assert [each["sessionId"] for each in listed] == [session]
        lost.unlink()
        assert client.finish() == 0

    with daemon(folder) as client:
        loaded = client.request("load", "pygent/session/load", {"sessionId": session})["result"]
        assert [each["role"] for each in loaded["messages"]] == ["user", "assistant"] * 2 + ["user", "assistant"]


BARE: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}


def test_an_installation_that_is_removed_is_said(folder: Path) -> None:
    package = folder.parent / "installed" / "pygent_ls"
    shutil.copytree(Path(pygent_ls.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    with raw_client(folder, environment={"PYTHONPATH": str(package.parent)}, may_be_warm=False) as client:
        client.request(1, "initialize", BARE)
        package.rename(package.with_name("removed"))

        error = client.request(2, "pygent/turn/start", {"prompt": "go"})["error"]
        assert error["message"].startswith("pygent-ls was upgraded or removed while it ran. Restart it.")
        assert client.finish() == 0
    assert not package.exists(), "an empty package could still be imported"


def test_a_turn_that_cannot_begin_without_the_installation_is_over(folder: Path) -> None:
    package = folder.parent / "installed" / "pygent_ls"
    shutil.copytree(Path(pygent_ls.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    own = {"PYTHONPATH": str(package.parent), "PYGENT_MODEL": "offline/rules"}
    with raw_client(folder, environment=own, may_be_warm=False) as client:
        client.initialize(folder)
        session = client.request("new", "pygent/session/new", {})["result"]["sessionId"]
        removed = package.rename(package.with_name("removed"))

        error = client.request(1, "pygent/turn/start", {"sessionId": session, "prompt": "/help"})["error"]
        assert error["message"].startswith("pygent-ls was upgraded or removed while it ran. Restart it.")
        removed.rename(package)
        first = next(each["type"] for each in say(client, session, "/help"))
        assert first == "turn_started", "it waits for no other"
        assert client.finish() == 0


def test_a_module_that_is_removed_meanwhile_leaves_no_call_without_a_result(folder: Path) -> None:
    package = folder.parent / "installed" / "pygent_ls"
    shutil.copytree(Path(pygent_ls.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    module, removed = package / "agent" / "turn" / "tool_calls.py", package / "removed"

    def step(_: Received, number: int) -> Step:
        if number:
            return Step(text="Done.")
        module.rename(removed)
        return Step(text="I look.", calls=(Call(name="list_directory", arguments={"path": "."}),))

    with ModelServer(step) as server:
        own = {**server.env(), "PYTHONPATH": str(package.parent), "PYGENT_MODEL": "openai/mock"}
        with raw_client(folder, environment=own, may_be_warm=False) as client:
            client.initialize(folder)
            session = client.request("new", "pygent/session/new", {})["result"]["sessionId"]

            error = client.request(1, "pygent/turn/start", {"sessionId": session, "prompt": "go"})["error"]
            assert error["message"].startswith("pygent-ls was upgraded or removed while it ran. Restart it.")
            removed.rename(module)
            say(client, session, "again")

        assert [each["role"] for each in server.requests[-1].messages] == ["system", "user"]


def test_a_working_folder_that_is_removed_is_said(folder: Path) -> None:
    with raw_client(folder, environment={"PYGENT_MODEL": "offline/rules"}) as client:
        client.request(1, "initialize", BARE)
        folder.rmdir()

        error = client.request(2, "pygent/turn/start", {"prompt": "go"})["error"]
        assert error["message"].startswith("No folder is open, and the one that pygent-ls was started in is gone.")
        assert client.finish() == 0
