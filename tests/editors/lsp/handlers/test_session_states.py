"""Every request of a session in every state that one can be in: over the wire it is answered the same, or refused."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.editors.lsp.editor import Editor, Setup, connected
from tests.fakes import Gate, say

State = Literal["in memory", "live", "at rest", "of a daemon before", "of another daemon", "running"]

METHODS: Mapping[str, Mapping[str, object]] = {
    "pygent/session/list": {},
    "pygent/session/search": {"query": "zygote"},
    "pygent/session/load": {},
    "pygent/session/fork": {},
    "pygent/session/export": {"format": "markdown"},
    "pygent/session/rename": {"name": "Another"},
    "pygent/session/configure": {"mode": "plan"},
    "pygent/session/compact": {},
    "pygent/session/clear": {},
    "pygent/session/close": {},
    "pygent/session/delete": {},
    "pygent/turn/start": {"prompt": "go on"},
}

STATES: Sequence[State] = ("in memory", "live", "at rest", "of a daemon before", "of another daemon", "running")

READS = {f"pygent/session/{each}" for each in ("list", "search", "load", "fork", "export")}


def refusal(state: State, method: str) -> str | None:
    """Return the kind of the error; None if the request succeeds."""
    if state == "of another daemon" and method not in READS:
        return "session_locked"
    if state == "running" and method in {f"pygent/session/{each}" for each in ("compact", "clear", "delete")}:
        return "turn_running"
    return "nothing_to_compact" if method == "pygent/session/compact" else None


FIELDS = {
    *("sessionId", "name", "cwd", "createdAt", "updatedAt", "agent", "model"),
    *("mode", "usage", "messageCount", "lastSeq", "interrupted"),
}


def is_session(result: Any) -> bool:
    return result.keys() == FIELDS


ANSWERS: Mapping[str, Callable[[Any], bool]] = {
    "pygent/session/list": lambda result: is_session(result["sessions"][0]) and len(result["sessions"]) == 1,
    "pygent/session/search": lambda result: [each["snippet"] for each in result["matches"]] == ["the zygote It is so."],
    "pygent/session/load": lambda result: result.keys() == {*FIELDS, "messages", "turnIds", "notices"},
    "pygent/session/fork": lambda result: is_session(result) and result["messageCount"] == 2,
    "pygent/session/export": lambda result: "It is so." in result["content"],
    "pygent/session/rename": lambda result: is_session(result) and result["name"] == "Another",
    "pygent/session/configure": lambda result: is_session(result) and result["mode"] == "plan",
    "pygent/session/clear": lambda result: is_session(result) and result["messageCount"] == 0,
    "pygent/session/close": lambda result: result == {"closed": True},
    "pygent/session/delete": lambda result: result == {"deleted": True},
    "pygent/turn/start": lambda result: result["stopReason"] == "end_turn",
}


@asynccontextmanager
async def session_that_is(state: State, folder: Path) -> AsyncGenerator[tuple[Editor, str]]:
    """An editor, and a session of one turn that is so for its daemon."""
    gate = Gate()
    is_kept = state != "in memory"
    waiting = [gate, *say("Done.")] if state == "running" else say("Done.")
    async with AsyncExitStack() as stack:
        editor = await stack.enter_async_context(
            connected(folder, Setup(script=[say("It is so."), waiting, say("Again.")], keeps_sessions=is_kept))
        )
        session_id = (await editor.turn("the zygote"))["sessionId"]
        if state == "at rest":
            await editor.request("pygent/session/close", {"sessionId": session_id})
        if state == "running":
            editor.begin_turn("more", sessionId=session_id).add_done_callback(lambda turn: turn.exception())
            await gate.reached()
            stack.callback(gate.open)
        if state == "of a daemon before":
            await stack.aclose()
        if state in ("of a daemon before", "of another daemon"):
            editor = await stack.enter_async_context(
                connected(folder, Setup(script=[say("Done.")], keeps_sessions=True))
            )
        yield editor, session_id


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("method", METHODS)
async def test_whatever_state_a_session_is_in_a_request_is_answered_or_refused(
    folder: Path, state: State, method: str
) -> None:
    async with session_that_is(state, folder) as (editor, session_id):
        params = {"sessionId": session_id, **METHODS[method]}
        if kind := refusal(state, method):
            error = await editor.error(method, params)
            assert (error.code, error.data) == (-32602, {"kind": kind})
        elif (state, method) != ("running", "pygent/turn/start"):  # which waits for the one before it
            result = await editor.request(method, params)
            assert ANSWERS[method](result), result


@pytest.mark.parametrize("state", STATES)
async def test_whatever_state_a_session_is_in_its_events_are_told_from_the_first(folder: Path, state: State) -> None:
    async with session_that_is(state, folder) as (editor, session_id):
        attached = editor.begin("pygent/session/attach", {"sessionId": session_id, "partialResultToken": "all"})
        attached.add_done_callback(lambda done: done.exception())
        await editor.until(lambda: "finished" in editor.types("all"))

        events = editor.events("all")
        end = editor.types("all").index("finished") + 1
        assert [each["seq"] for each in events] == list(range(1, len(events) + 1))
        assert len({each["turnId"] for each in events[:end]}) == 1
        assert editor.types("all")[0] == "turn_started"
        editor.cancel(editor.last_id)
