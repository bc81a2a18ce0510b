"""Prompts that wait: their order, and what becomes of them when the daemon is killed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.raw import RawClient, raw_client
from tests.editors.lsp.protocol.test_conversion import check, schema
from tests.sessions.test_secrets_of_a_session import KEY

SLOW = ({"text": "late", "delay_s": 60},)


def scripted(folder: Path, answers: Sequence[object]) -> dict[str, str]:
    script = folder.parent / "script.jsonl"
    script.write_text("\n".join(map(json.dumps, answers)))
    return {"PYGENT_MODEL": f"scripted:{script}"}


def events_in(client: RawClient, token: str) -> list[dict[str, Any]]:
    """The events that came for that token by now."""
    return [
        event
        for frame in client.frames
        if frame.get("method") == "$/progress" and frame["params"]["token"] == token
        for event in frame["params"]["value"].get("events", ())
    ]


def until_event(client: RawClient, token: str, kind: str) -> None:
    client.until(lambda _: any(each["type"] == kind for each in events_in(client, token)))


def killed_with_prompts_waiting(folder: Path, prompts: Sequence[tuple[str, object]]) -> str:
    """Kill a daemon while the first turn of a session runs and these prompts wait, by their turns' ids; the session."""
    with raw_client(folder, environment=scripted(folder, SLOW)) as client:
        client.initialize(folder)
        session = client.request(1, "pygent/session/new", {"name": "Mine"})["result"]["sessionId"]
        first = {"sessionId": session, "prompt": "first", "turnId": "first", "partialResultToken": "first"}
        client.begin(2, "pygent/turn/start", first)
        until_event(client, "first", "turn_started")
        for turn_id, prompt in prompts:
            params = {"sessionId": session, "prompt": prompt, "turnId": turn_id, "partialResultToken": turn_id}
            client.begin(turn_id, "pygent/turn/start", params)
        for turn_id, _ in prompts:
            until_event(client, turn_id, "turn_queued")
        client.kill()
    return session


def attached(client: RawClient, session: str) -> list[tuple[str, str, bool]]:
    """Turn, type and `held` of all events of the session that begin or end something, as an editor is told them."""
    last = client.request("load", "pygent/session/load", {"sessionId": session})["result"]["lastSeq"]
    params = {"sessionId": session, "sinceSeq": 0, "partialResultToken": "all"}
    client.begin("attach", "pygent/session/attach", params)
    client.until(lambda _: any(each["seq"] >= last for each in events_in(client, "all")))
    told = [each for each in events_in(client, "all") if each["type"] not in ("usage", "text", "text_delta")]
    return [(each["turnId"], each["type"], each.get("held", False)) for each in told]


def queue_of(client: RawClient, session: str, id: str) -> list[dict[str, Any]]:
    return client.request(id, "pygent/turn/queue", {"sessionId": session})["result"]["items"]


def test_prompts_run_in_the_order_in_which_they_were_sent_however_long_each_is(folder: Path) -> None:
    answers = [{"text": "first", "delay_s": 1}, {"text": "did two"}, {"text": "did three"}]
    with raw_client(folder, environment=scripted(folder, answers)) as client:
        client.initialize(folder)
        session = client.request(1, "pygent/session/new", {})["result"]["sessionId"]
        for turn_id, prompt in (("one", "one"), ("two", "some words, " * 10_000), ("three", "three")):
            params = {"sessionId": session, "prompt": prompt, "turnId": turn_id}
            client.begin(turn_id, "pygent/turn/start", params)
        texts = [client.answer(turn_id)["result"]["text"] for turn_id in ("one", "two", "three")]
        client.request(2, "shutdown")

    assert texts == ["first", "did two", "did three"]


def test_prompts_that_waited_are_held_after_a_kill_and_run_with_what_was_attached_when_they_are_sent_again(
    folder: Path,
) -> None:
    (folder / "a.txt").write_text("the file\n")
    selection = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}
    uri = (folder / "a.txt").as_uri()
    long = [
        {"type": "selection", "uri": uri, "range": selection, "text": f"the selected {KEY}"},
        {"type": "file", "uri": uri},
        {"type": "text", "text": "two " * 2000},
    ]
    session = killed_with_prompts_waiting(folder, [("two", long), ("three", f"three {KEY}"), ("four", "four")])
    journal = next((folder.parent / "home").rglob("sessions/*.jsonl"))
    assert KEY not in journal.read_text()

    answers = [{"text": "did four"}, {"text": "did two"}]
    with raw_client(folder, environment=scripted(folder, answers)) as client:
        client.initialize(folder)
        told = attached(client, session)
        queue = queue_of(client, session, "q1")
        removed = client.request(3, "pygent/turn/dequeue", {"sessionId": session, "turnId": "three"})["result"]
        again = client.request(4, "pygent/turn/dequeue", {"sessionId": session, "turnId": "three"})["result"]
        four = client.request(5, "pygent/turn/resume", {"sessionId": session, "turnId": "four"})["result"]
        left = queue_of(client, session, "q2")
        twice = client.request(6, "pygent/turn/resume", {"sessionId": session, "turnId": "four"})["error"]
        client.kill()

    check(schema()["requests"]["pygent/turn/queue"]["result"], {"items": queue})
    check(schema()["requests"]["pygent/turn/resume"]["result"], four)
    assert told[-5:] == [
        ("first", "interrupted", False),
        ("first", "finished", False),
        ("two", "turn_queued", True),
        ("three", "turn_queued", True),
        ("four", "turn_queued", True),
    ]
    assert [(each["turnId"], each["held"]) for each in queue] == [("two", True), ("three", True), ("four", True)]
    assert KEY not in json.dumps(queue)
    assert (removed, again) == ({"removed": True}, {"removed": False})
    assert (four["turnId"], four["text"]) == ("four", "did four")
    assert [each["turnId"] for each in left] == ["two"]
    assert twice["data"] == {"kind": "unknown_turn"}

    with raw_client(folder, environment=scripted(folder, answers[1:])) as client:
        client.initialize(folder)
        (held,) = queue_of(client, session, "q1")
        two = client.request(2, "pygent/turn/resume", {"sessionId": session, "turnId": held["turnId"]})["result"]
        assert queue_of(client, session, "q2") == []
        messages = client.request(3, "pygent/session/load", {"sessionId": session})["result"]["messages"]
        client.request(4, "shutdown")

    assert (two["turnId"], two["text"]) == ("two", "did two")
    (prompt,) = [each for each in messages if each["turnId"] == "two" and each["role"] == "user"]
    words = json.dumps(prompt)
    assert "the selected" in words
    assert "the file" in words
    assert "two two" in words
    assert KEY not in words


def test_a_daemon_that_ends_as_it_should_holds_no_prompts(folder: Path) -> None:
    with raw_client(folder, environment=scripted(folder, SLOW)) as client:
        client.initialize(folder)
        session = client.request(1, "pygent/session/new", {})["result"]["sessionId"]
        client.begin(2, "pygent/turn/start", {"sessionId": session, "prompt": "a", "partialResultToken": "a"})
        until_event(client, "a", "turn_started")
        client.begin(3, "pygent/turn/start", {"sessionId": session, "prompt": "b", "partialResultToken": "b"})
        until_event(client, "b", "turn_queued")
        client.request(4, "shutdown")
        client.tell("exit")
        client.wait()

    with raw_client(folder, environment=scripted(folder, SLOW)) as client:
        client.initialize(folder)
        assert queue_of(client, session, "q") == []


@pytest.mark.parametrize("title", ["Send", "Not now"])
def test_an_editor_without_a_plugin_is_asked_whether_the_prompts_are_to_be_sent(folder: Path, title: str) -> None:
    session = killed_with_prompts_waiting(folder, [("two", "two\nlines"), ("three", "three")])
    with raw_client(folder, environment=scripted(folder, [{"text": "did two"}, {"text": "did three"}])) as client:
        client.initialize(folder)
        answer(client, "was interrupted", "Continue")
        asked = answer(client, "Send them now?", title)
        assert asked["message"].endswith("Send them now?\n- two lines\n- three")
        if title == "Send":
            client.until(lambda _: n_finished(client) == 2)
            messages = client.request(3, "pygent/session/load", {"sessionId": session})["result"]["messages"]
            assert [each["turnId"] for each in messages if each["role"] == "assistant"] == ["two", "three"]
            assert queue_of(client, session, "q") == []
        else:
            assert [each["held"] for each in queue_of(client, session, "q")] == [True, True]
        client.request(4, "shutdown")


def n_finished(client: RawClient) -> int:
    """The turns that were told to have ended."""
    changed = [frame["params"] for frame in client.frames if frame.get("method") == "pygent/session/changed"]
    return [each["what"] for each in changed].count("turn_finished")


def answer(client: RawClient, words: str, title: str) -> dict[str, Any]:
    """Wait for the question with these words, and answer it."""
    asked = client.until(
        lambda frame: frame.get("method") == "window/showMessageRequest" and words in frame["params"]["message"]
    )
    client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"title": title}})
    return asked["params"]


def test_a_prompt_that_waits_for_a_compaction_survives_a_kill(folder: Path) -> None:
    answers = [{"text": "an answer " * 500}, {"text": "another " * 500}, *SLOW]
    with raw_client(folder, environment=scripted(folder, answers)) as client:
        client.initialize(folder)
        session = client.request(1, "pygent/session/new", {})["result"]["sessionId"]
        for number in (2, 3):
            client.request(number, "pygent/turn/start", {"sessionId": session, "prompt": "some words " * 500})
        client.begin(4, "pygent/session/compact", {"sessionId": session})
        params = {"sessionId": session, "prompt": "wait", "turnId": "one", "partialResultToken": "one"}
        client.begin(5, "pygent/turn/start", params)
        until_event(client, "one", "turn_queued")
        client.kill()

    with raw_client(folder, environment=scripted(folder, answers)) as client:
        client.initialize(folder)
        assert queue_of(client, session, "q") == [{"turnId": "one", "prompt": "wait", "held": True}]
        client.request(1, "shutdown")


def test_what_was_said_to_a_turn_and_had_yet_to_join_it_is_held_after_a_kill(folder: Path) -> None:
    call: dict[str, Any] = {"tool_calls": [{"name": "list_files", "input": {}}], "delay_s": 1}
    with raw_client(folder, environment=scripted(folder, [call, *SLOW])) as client:
        client.initialize(folder)
        session = client.request(1, "pygent/session/new", {})["result"]["sessionId"]
        first = {"sessionId": session, "prompt": "first", "turnId": "first", "partialResultToken": "first"}
        client.begin(2, "pygent/turn/start", first)
        until_event(client, "first", "turn_started")

        def say(id: int, words: object) -> None:
            params = {"sessionId": session, "turnId": "first", "prompt": words}
            assert client.request(id, "pygent/turn/steer", params)["result"] == {"accepted": True}

        say(3, "joined")
        until_event(client, "first", "steered")
        say(4, f"use {KEY}")
        say(5, "and tabs")
        client.kill()
    assert KEY not in next((folder.parent / "home").rglob("sessions/*.jsonl")).read_text()

    with raw_client(folder, environment=scripted(folder, [{"text": "never"}, {"text": "tabs it is"}])) as client:
        client.initialize(folder)
        secret, tabs = queue_of(client, session, "q")
        told = attached(client, session)
        resumed = {"sessionId": session, "turnId": tabs["turnId"]}
        answer = client.request(1, "pygent/turn/resume", resumed)["result"]
        assert queue_of(client, session, "q2") == [secret]
        client.kill()

    assert (secret["held"], tabs["held"], tabs["prompt"]) == (True, True, "and tabs")
    assert KEY not in secret["prompt"]
    assert told[-3:] == [
        ("first", "finished", False),
        (secret["turnId"], "turn_queued", True),
        (tabs["turnId"], "turn_queued", True),
    ]
    assert answer["turnId"] == tabs["turnId"]

    with raw_client(folder, environment=scripted(folder, SLOW)) as client:
        client.initialize(folder)
        assert queue_of(client, session, "q") == [secret]
        client.request(1, "shutdown")
