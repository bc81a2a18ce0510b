"""A daemon that is killed in a turn: the next one offers its session, once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.raw import RawClient, raw_client


def scripted(folder: Path) -> dict[str, str]:
    script = folder.parent / "script.jsonl"
    answers = [{"tool_calls": [{"name": "read_file", "input": {"path": "a.txt"}}]}, {"text": "late", "delay_s": 60}]
    script.write_text("\n".join(map(json.dumps, answers)))
    return {"PYGENT_MODEL": f"scripted:{script}"}


def killed_in_a_turn(folder: Path) -> str:
    """The session of that turn."""
    with raw_client(folder, environment=scripted(folder)) as client:
        client.initialize(folder)
        session = client.request(1, "pygent/session/new", {"name": "Mine"})["result"]["sessionId"]
        client.begin(2, "pygent/turn/start", {"sessionId": session, "prompt": "go", "partialResultToken": "events"})
        client.until(lambda frame: frame.get("method") == "$/progress" and "tool_result" in json.dumps(frame))
        client.kill()
    return session


def is_offer(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "window/showMessageRequest"


def is_told(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "pygent/session/changed" and frame["params"]["what"] == "interrupted"


def answer(client: RawClient, title: str | None) -> dict[str, Any]:
    """Wait for the question, and answer it."""
    asked = client.until(is_offer)
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": title} if title else None})
    return asked["params"]


def test_a_session_that_was_cut_off_is_offered_and_the_commands_go_on_with_it(folder: Path) -> None:
    session = killed_in_a_turn(folder)
    with raw_client(folder, environment=scripted(folder)) as client:
        client.initialize(folder)
        told = client.until(is_told)
        asked = answer(client, "Continue")
        client.until(
            lambda frame: (
                frame.get("method") == "window/showMessage"
                and "“Mine”" in json.dumps(frame["params"], ensure_ascii=False)
            )
        )
        (listed,) = client.request(1, "pygent/session/list", {})["result"]["sessions"]
        done = client.request(2, "workspace/executeCommand", {"command": "pygent.setMode", "arguments": ["plan"]})[
            "result"
        ]

        assert told["params"] == {"sessionId": session, "what": "interrupted"}
        assert asked["message"] == ("A turn of “Mine” was interrupted when pygent-ls exited. Continue this session?")
        assert [each["title"] for each in asked["actions"]] == ["Not now", "Continue"]
        assert listed["sessionId"] == done["sessionId"] == session


def test_who_does_not_want_it_is_not_asked_again(folder: Path) -> None:
    session = killed_in_a_turn(folder)
    with raw_client(folder, environment=scripted(folder)) as client:
        client.initialize(folder)
        answer(client, None)
        (listed,) = client.request(1, "pygent/session/list", {})["result"]["sessions"]
        assert (listed["sessionId"], listed["interrupted"]) == (session, True)
        client.request(2, "shutdown")

    with raw_client(folder, environment=scripted(folder)) as client:
        client.initialize(folder)
        client.until(is_told)
        client.request(1, "pygent/session/load", {"sessionId": session})
        client.request(2, "shutdown")
        assert not any(map(is_offer, client.frames))
