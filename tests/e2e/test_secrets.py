"""A whole daemon and a file of secrets: they are on the disk, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.redactor import PLACEHOLDER, Redactor
from pygent_ls.workspace.installation_key import installation_key
from tests.e2e.conftest import WITH_HTTP, Rig
from tests.e2e.raw import raw_client
from tests.model_server import Call, Step

KEY = "AKIA" + "Q3EGW7MJ5NPXU4TR"
PASSWORD = "tr0ub4dor"
ENV = f"AWS_ACCESS_KEY_ID={KEY}\nDB_PASSWORD={PASSWORD}\nREGION=eu\nPORT=8080\n"


def hidden(said: object) -> bool:
    """Whether neither secret, nor a half of one, is in what was said."""
    return not any(part in repr(said) for part in (KEY[:10], KEY[10:], PASSWORD))


async def test_no_frame_and_no_line_of_the_log_holds_a_secret_and_the_file_does(folder: Path) -> None:
    (folder / ".env").write_text(ENV)
    state = folder.parent / "home" / ".local" / "state" / "pygent-ls"
    masked = await Redactor(find_secrets, key=installation_key(state)).redact(ENV, ".env")
    key, password, region = (match[0] for match in PLACEHOLDER.finditer(masked))
    edit = {"path": ".env", "old": f"{key}\nDB_PASSWORD={password}\nREGION=eu", "new": f"{key}\nOLD={password}"}
    calls: list[dict[str, Any]] = [
        {"name": "read_file", "input": {"path": ".env"}},
        {"name": "shell", "input": {"command": "cat .env; for n in 1 2 3; do sed -n 2p .env; done; cat .env >&2"}},
        {"name": "grep_search", "input": {"pattern": "PASS|AKIA"}},
        {"name": "edit_file", "input": {"path": ".env", "old": "AWS", "new": "****"}},
        {"name": "edit_file", "input": edit},
        {"name": "edit_file", "input": {"path": ".env", "old": "PORT=8080", "new": f"OLD_REGION={region}\nREGION=us"}},
        {"name": "grep_search", "input": {"pattern": "REGION"}},
    ]
    script = folder.parent / "script.jsonl"
    lines = [{"tool_calls": [each]} for each in calls]
    script.write_text("".join(json.dumps(line) + "\n" for line in (*lines, {"text": "done"})))

    with raw_client(folder, environment={"PYGENT_LOG": "info"}) as client:
        client.initialize(folder)
        client.begin("turn", "pygent/turn/start", turn_of(f"look for {KEY}", f"scripted:{script}"))
        while "method" in (frame := client.until(is_question_or_answer)):
            client.frames.remove(frame)
            assert hidden(frame)
            client.send({"jsonrpc": "2.0", "id": frame["id"], "result": {"title": "Allow once"}})
        assert client.finish() == 0

        results = [event for event in events(client.frames) if event["type"] == "tool_result"]
        assert [event["isError"] for event in results] == [False] * 7
        assert [event["content"].count(key) for event in results[:3]] == [1, 2, 1]
        assert results[-1]["content"].count(region) == 1
        assert "REGION=us" not in repr(results)
        assert hidden(client.frames)
        assert hidden(client.stderr)
    assert (folder / ".env").read_text() == f"****_ACCESS_KEY_ID={KEY}\nOLD={PASSWORD}\nOLD_REGION=eu\nREGION=us\n"


def turn_of(prompt: str, model: str) -> dict[str, Any]:
    return {"prompt": prompt, "model": model, "partialResultToken": "events"}


def is_question_or_answer(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "window/showMessageRequest" or ("method" not in frame and frame["id"] == "turn")


def events(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    told = [frame["params"]["value"] for frame in frames if frame.get("method") == "$/progress"]
    return [event for value in told for event in value.get("events", [])]


@pytest.mark.parametrize("is_link", [True, False], ids=["the target of a link", "a new file"])
async def test_a_file_of_variables_that_only_the_editor_has_is_masked(folder: Path, *, is_link: bool) -> None:
    (folder / "notes.txt").write_text(f"we use {PASSWORD}\n")
    if is_link:
        (folder / ".env").symlink_to("variables")
    script = folder.parent / "script.jsonl"
    call = {"name": "read_file", "input": {"path": "notes.txt"}}
    script.write_text("".join(json.dumps(each) + "\n" for each in ({"tool_calls": [call]}, {"text": "done"})))
    uri = (folder / ("variables" if is_link else ".env")).as_uri()
    document = {"uri": uri, "languageId": "dotenv", "version": 1, "text": ENV}

    with raw_client(folder) as client:
        client.initialize(folder)
        client.tell("textDocument/didOpen", {"textDocument": document})
        client.begin("turn", "pygent/turn/start", turn_of("read the notes", f"scripted:{script}"))
        client.answer("turn")

        (result,) = (event for event in events(client.frames) if event["type"] == "tool_result")
        assert "we use {{SECRET_" in result["content"]
        assert hidden(client.frames)
        assert client.finish() == 0


@WITH_HTTP
async def test_a_provider_is_sent_no_secret_and_what_it_writes_holds_them(rig: Rig) -> None:
    made = rig.folder / "secrets"
    made.mkdir()
    (made / "prod.env").write_text(ENV)
    state = rig.folder.parent / "home" / ".local" / "state" / "pygent-ls"
    masked = await Redactor(find_secrets, key=installation_key(state)).redact(ENV, ".env")
    rig.model.play(
        Step(calls=(Call(name="read_file", arguments={"path": "secrets/prod.env"}),)),
        Step(calls=(Call(name="create_file", arguments={"path": "secrets/copy.txt", "content": masked}),)),
        Step(text="done"),
    )

    await rig.editor.turn(f"is {PASSWORD} in secrets/prod.env?", mode="trust")

    assert [ok for ok, _ in rig.editor.results()] == [True, True]
    assert hidden([request.body for request in rig.model.requests])
    assert hidden([rig.editor.events(), rig.editor.prompts, rig.editor.messages])
    (asked,) = rig.model.requests[0].texts("user")
    assert PLACEHOLDER.sub("…", asked) == "is … in secrets/prod.env?"
    assert (made / "copy.txt").read_text() == ENV


async def test_no_cut_and_no_copy_shows_a_piece_of_a_secret(folder: Path) -> None:
    long = KEY + "".join(f"z{n}Q" for n in range(900))
    (folder / ".env").write_text(f"{ENV}LONG={long}\nMODE=harmless-words\n")
    (folder / "link.txt").symlink_to(".env")
    (folder / "wide.js").write_text("x" * 200 + f' k = "{KEY}" ' + "y" * 400 + "\n")
    calls: list[dict[str, Any]] = [
        {"name": "grep_search", "input": {"pattern": "k = |LONG|y{300}"}},
        {"name": "read_file", "input": {"path": "link.txt"}},
        {"name": "shell", "input": {"command": "cp .env copy.txt; cat -n copy.txt; seq 90000; cat copy.txt wide.js"}},
        {"name": "read_file", "input": {"path": "copy.txt", "start_line": 5}},
    ]
    script = folder.parent / "script.jsonl"
    lines = [{"tool_calls": [each]} for each in calls]
    script.write_text("".join(json.dumps(line) + "\n" for line in (*lines, {"text": "done"})))

    with raw_client(folder, environment={"PYGENT_LOG": "info"}) as client:
        client.initialize(folder)
        client.begin("turn", "pygent/turn/start", turn_of("look", f"scripted:{script}"))
        while "method" in (frame := client.until(is_question_or_answer)):
            client.frames.remove(frame)
            client.send({"jsonrpc": "2.0", "id": frame["id"], "result": {"title": "Allow once"}})
        assert client.finish() == 0

        results = [event for event in events(client.frames) if event["type"] == "tool_result"]
        assert [event["isError"] for event in results] == [False] * 4
        said = repr(client.frames) + repr(client.stderr)
        assert not any(long[at : at + 8] in said for at in range(len(long) - 7))
        assert hidden(said)
        assert "harmless-words" not in said
