"""Cancelling, over real stdio: the provider's connection closes at once, programs end, and nothing is lost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from tests.e2e.command_line import is_alive
from tests.e2e.conftest import SHARED, WITH_HTTP, Rig
from tests.e2e.lsp_client import WAIT_S, EditorClient
from tests.model_server import Call, Step

LONG = Step(text="word " * 4000, chunk=5, stall_after=20)
"""The beginning of an answer that never ends: its connection closes only if the client closes it."""


@WITH_HTTP
async def test_a_cancelled_request_closes_the_providers_connection_and_carries_its_result(rig: Rig) -> None:
    editor, token = rig.editor, "cancel-request"
    rig.model.play(LONG, Step(text="fine"))
    n_before = rig.server.disconnects
    turn = editor.begin_turn("Talk", id_="to-cancel", partialResultToken=token)
    await editor.until(lambda: "text_delta" in editor.types(token))

    editor.tell("$/cancelRequest", {"id": "to-cancel"})
    with pytest.raises(JsonRpcException) as raised:
        await bounded(turn)
    await rig.server.until(lambda: rig.server.disconnects > n_before)

    assert raised.value.code == -32800
    result = as_dictionary(raised.value.data)
    assert result["stopReason"] == "cancelled"
    said = "".join(event["content"] for event in editor.events(token) if event["type"] == "text_delta")
    assert said
    assert result["text"].startswith(said)
    assert LONG.text.startswith(result["text"])
    assert editor.types(token)[-2:] == ["cancelled", "finished"]

    assert (await editor.turn("Again", sessionId=result["sessionId"]))["text"] == "fine"
    history = rig.model.requests[-1].messages
    assert [message["role"] for message in history] == ["system", "user", "assistant", "user"]


def as_dictionary(data: Any) -> Any:
    """What pygls made a tuple of is a dictionary again."""
    if hasattr(data, "_asdict"):
        return {key: as_dictionary(value) for key, value in data._asdict().items()}
    return data


async def bounded(turn: asyncio.Future[Any]) -> Any:
    async with asyncio.timeout(WAIT_S):
        return await turn


@WITH_HTTP
async def test_a_cancelled_turn_closes_the_providers_connection_and_returns_its_result(rig: Rig) -> None:
    editor, token = rig.editor, "cancel-turn"
    rig.model.play(LONG)
    n_before = rig.server.disconnects
    session = await editor.ask("pygent/session/new", {})
    turn = editor.begin_turn("Talk", sessionId=session["sessionId"], partialResultToken=token)
    await editor.until(lambda: "text_delta" in editor.types(token))

    assert await editor.ask("pygent/turn/cancel", {"sessionId": session["sessionId"]}) == {"cancelled": True}
    result = await bounded(turn)
    await rig.server.until(lambda: rig.server.disconnects > n_before)

    assert (result["stopReason"], result["sessionId"]) == ("cancelled", session["sessionId"])
    assert editor.types(token).count("finished") == 1


@WITH_HTTP
async def test_a_turn_is_cancelled_before_the_provider_has_said_a_word(rig: Rig) -> None:
    editor = rig.editor
    rig.model.play(Step(hang=True))
    n_before = rig.server.disconnects
    turn = editor.begin_turn("Talk", workDoneToken="hang")
    await rig.server.until(lambda: len(rig.model.requests) == 1)

    editor.tell("window/workDoneProgress/cancel", {"token": "hang"})

    assert (await bounded(turn))["stopReason"] == "cancelled"
    await rig.server.until(lambda: rig.server.disconnects > n_before)
    assert editor.progress("hang")[-1]["kind"] == "end"


@WITH_HTTP
async def test_a_cancel_ends_a_program_with_all_its_children_and_the_session_goes_on(rig: Rig) -> None:
    editor, token = rig.editor, "cancel-shell"
    command = "echo $$; sleep 300 & echo $!; sleep 300; echo never"
    rig.model.play(Step(calls=(Call(name="shell", arguments={"command": command}),)), Step(text="after"))
    editor.choose = lambda _: "Allow once"
    session = await editor.ask("pygent/session/new", {})
    turn = editor.begin_turn("Run", sessionId=session["sessionId"], partialResultToken=token)
    await editor.until(lambda: len(live_output(editor, token).split()) == 2)
    pids = [int(pid) for pid in live_output(editor, token).split()]
    assert all(map(is_alive, pids))

    await editor.ask("pygent/turn/cancel", {"sessionId": session["sessionId"]})

    assert (await bounded(turn))["stopReason"] == "cancelled"
    assert not any(map(is_alive, pids))
    assert (await editor.turn("Go on", sessionId=session["sessionId"]))["text"] == "after"
    history = rig.model.requests[-1].messages
    calls = [call["id"] for message in history for call in message.get("tool_calls") or ()]
    results = [message for message in history if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results] == calls
    assert "Cancelled" in results[0]["content"]


def live_output(editor: EditorClient, token: str) -> str:
    return "".join(event["content"] for event in editor.events(token) if event["type"] == "tool_progress")


@SHARED
async def test_a_turn_waits_in_the_queue_and_is_taken_out_of_it(folder: Path, editor: EditorClient) -> None:
    script = folder.parent / "script.jsonl"
    script.write_text(json.dumps({"text": "first", "delay_s": 600}) + "\n" + json.dumps({"text": "second"}) + "\n")
    session = {"sessionId": (await editor.ask("pygent/session/new", {"model": f"scripted:{script}"}))["sessionId"]}
    first = editor.begin_turn("one", **session)
    await editor.until(editor.events)
    second = editor.begin_turn("two", partialResultToken="second", **session)
    await editor.until(lambda: editor.types("second") == ["turn_queued"])
    (waiting,) = (await editor.ask("pygent/turn/queue", session))["items"]

    assert await editor.ask("pygent/turn/dequeue", {**session, "turnId": waiting["turnId"]}) == {"removed": True}
    assert (await bounded(second))["stopReason"] == "cancelled"
    assert await editor.ask("pygent/turn/cancel", session) == {"cancelled": True}
    assert (await bounded(first))["stopReason"] == "cancelled"

    assert (await editor.turn("three", **session))["text"] == "second"
    changes = [each["what"] for each in editor.changed_sessions]
    assert changes == ["created", "turn_started", "turn_finished", "turn_started", "turn_finished"]
