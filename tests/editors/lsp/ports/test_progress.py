"""Work-done progress: with the client's token, with one of the daemon's own, and with none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.editors.lsp.ports.progress import MAX_MESSAGE_CHARS
from pygent_ls.errors import ModelError
from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Editor, Handler, Setup, WireError, connected
from tests.fakes import Call, FakeModel, Gate, bounded, say

WITH_PROGRESS = {**CAPABILITIES, "window": {"workDoneProgress": True}}
CREATE = "window/workDoneProgress/create"


def read() -> Call:
    return Call(name="read_file", arguments={"path": "a.txt"})


def kinds(editor: Editor, token: str | int) -> list[str]:
    return [value["kind"] for value in editor.progress(token)]


async def made_token(editor: Editor) -> str:
    return (await editor.asks(CREATE)).params["token"]


async def test_the_clients_token_is_begun_reported_on_and_ended(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    script = [
        say("", read(), Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})),
        say("ok"),
    ]
    async with connected(folder, Setup(script=script)) as editor:
        await editor.turn(workDoneToken="work")

        first, *reports, last = editor.progress("work")
        assert first == {"kind": "begin", "title": "pygent", "cancellable": True, "message": "waiting for the model"}
        assert {each["kind"] for each in reports} == {"report"}
        assert [each["message"] for each in reports] == [
            "Read a.txt",
            "Edit a.txt",
            "waiting for your permission",
            "Edit a.txt",
            "waiting for the model",
        ]
        assert last == {"kind": "end", "message": "Done, 1 file changed, 240 tokens, cost unknown"}


async def test_a_command_that_was_allowed_is_what_the_turn_waits_for(folder: Path) -> None:
    script = [say("", Call(name="shell", arguments={"command": "sleep 60"}))]
    async with connected(folder, Setup(script=script)) as editor:
        turn = editor.begin_turn(workDoneToken="work")
        await editor.until(lambda: "permission_resolved" in editor.types())

        assert editor.progress("work")[-1] == {"kind": "report", "message": "sleep 60"}

        editor.tell("window/workDoneProgress/cancel", {"token": "work"})
        assert (await bounded(turn))["stopReason"] == "cancelled"


async def test_what_a_provider_says_is_one_short_line_of_the_progress(folder: Path) -> None:
    page = "<html>\n<b>\x1b[31mtoo many</b>\r\n" + "x" * 10_000
    async with connected(folder, Setup(script=[[ModelError(page, type="auth")]])) as editor:
        await editor.turn(workDoneToken="work")

        (said,) = [each["message"] for each in editor.progress("work") if "too many" in each["message"]]
        assert "<html> <b>\\x1b[31mtoo many</b> xxx" in said
        assert len(said) == MAX_MESSAGE_CHARS


async def test_the_progress_is_over_before_the_response_comes(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("ok")])) as editor:
        await editor.request("pygent/turn/start", {"prompt": "x", "workDoneToken": "work"})

        assert "id" in editor.frames[-1]
        assert kinds(editor, "work")[-1] == "end"


async def test_no_progress_is_made_for_a_client_that_has_none_or_has_its_own(folder: Path) -> None:
    for capabilities, params in ((CAPABILITIES, {}), (WITH_PROGRESS, {"workDoneToken": "work"})):
        async with connected(folder, Setup(script=[say("ok")]), capabilities=capabilities) as editor:
            await editor.turn(**params)

            assert editor.requests(CREATE) == []


async def test_the_daemon_makes_a_progress_where_the_client_shows_them(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("ok")]]), capabilities=WITH_PROGRESS) as editor:
        turn = editor.begin_turn()
        token = await made_token(editor)
        await editor.until(lambda: kinds(editor, token))
        gate.open()
        await bounded(turn)

        assert editor.progress(token)[0]["message"] == "waiting for the model"
        assert kinds(editor, token) == ["begin", "end"]


async def test_a_progress_that_is_accepted_late_tells_what_runs_now(folder: Path) -> None:
    gate = Gate()
    (folder / "a.txt").write_text("one\n")
    script = [say("", read()), [gate, *say("ok")]]
    async with connected(folder, Setup(script=script), capabilities=WITH_PROGRESS) as editor:
        editor.handlers[CREATE] = lambda _: NO_ANSWER
        turn = editor.begin_turn()
        token = await made_token(editor)
        await gate.reached()
        await editor.until(lambda: "tool_result" in editor.types())

        editor.answer(editor.requests(CREATE)[0], None)
        await editor.until(lambda: kinds(editor, token))
        assert editor.progress(token) == [
            {"kind": "begin", "title": "pygent", "cancellable": True, "message": "waiting for the model"}
        ]
        gate.open()
        await bounded(turn)
        assert kinds(editor, token) == ["begin", "end"]


async def test_a_progress_that_is_accepted_when_the_turn_is_over_begins_and_ends(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("ok")]), capabilities=WITH_PROGRESS) as editor:
        editor.handlers[CREATE] = lambda _: NO_ANSWER
        await editor.turn()

        editor.answer(editor.requests(CREATE)[0], None)

        token = await made_token(editor)
        await editor.until(lambda: kinds(editor, token) == ["begin", "end"])


def refuse(_: Mapping[str, Any]) -> object:
    raise WireError(-32601, "no progress here")


def never_answer(_: Mapping[str, Any]) -> object:
    return NO_ANSWER


@pytest.mark.parametrize("answer", [refuse, never_answer], ids=["refused", "never answered"])
async def test_a_progress_that_is_not_accepted_is_not_used_and_the_turn_goes_on(folder: Path, answer: Handler) -> None:
    async with connected(folder, Setup(script=[say("ok")]), capabilities=WITH_PROGRESS) as editor:
        editor.handlers[CREATE] = answer

        assert (await editor.turn())["text"] == "ok"

        token = await made_token(editor)
        assert editor.progress(token) == []


@pytest.mark.parametrize("capabilities", [CAPABILITIES, WITH_PROGRESS], ids=["client's token", "daemon's token"])
async def test_cancelling_the_progress_cancels_the_turn(folder: Path, capabilities: Mapping[str, Any]) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate]]), capabilities=capabilities) as editor:
        if capabilities is CAPABILITIES:
            turn, token = editor.begin_turn(workDoneToken="work"), "work"
        else:
            turn, token = editor.begin_turn(), await made_token(editor)
        await gate.reached()
        await editor.until(lambda: kinds(editor, token))

        editor.tell("window/workDoneProgress/cancel", {"token": token})

        assert (await bounded(turn))["stopReason"] == "cancelled"
        assert editor.progress(token)[-1] == {"kind": "end", "message": "Cancelled, 0 tokens, cost unknown"}


async def test_cancelling_a_progress_that_is_over_or_unknown_cancels_nothing(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[say("one"), [gate, *say("two")]])) as editor:
        session_id = (await editor.turn(workDoneToken="first"))["sessionId"]
        turn = editor.begin_turn(sessionId=session_id, workDoneToken="second")
        await gate.reached()

        for token in ("first", "third", 0):
            editor.tell("window/workDoneProgress/cancel", {"token": token})

        gate.open()
        assert (await bounded(turn))["text"] == "two"


async def test_a_token_that_two_turns_use_cancels_the_one_that_runs(folder: Path) -> None:
    first, second = Gate(), Gate()
    async with connected(folder, Setup(script=[[first, *say("one")], [second]])) as editor:
        one = editor.begin_turn(workDoneToken="same")
        await first.reached()
        two = editor.begin_turn(sessionId=editor.core.sessions.all()[0].id, workDoneToken="same")
        await editor.until(lambda: "turn_queued" in editor.types())
        first.open()
        await bounded(one)
        await second.reached()

        editor.tell("window/workDoneProgress/cancel", {"token": "same"})

        assert (await bounded(two))["stopReason"] == "cancelled"


async def test_a_turn_that_waits_says_so_and_a_cancel_ends_its_progress(folder: Path) -> None:
    gate = Gate()
    async with connected(folder, Setup(script=[[gate, *say("one")]])) as editor:
        one = editor.begin_turn()
        await gate.reached()
        two = editor.begin_turn(sessionId=editor.core.sessions.all()[0].id, workDoneToken="work")
        await editor.until(lambda: editor.progress("work"))
        assert editor.progress("work")[0]["message"] == "waiting for the previous turn"

        editor.tell("window/workDoneProgress/cancel", {"token": "work"})

        assert (await bounded(two))["stopReason"] == "cancelled"
        assert kinds(editor, "work") == ["begin", "report", "end"]
        gate.open()
        assert (await bounded(one))["text"] == "one"


async def test_a_model_that_has_to_be_loaded_is_told_of(folder: Path) -> None:
    async with connected(folder, Setup(script=FakeModel([say("ok")], ready=False))) as editor:
        await editor.turn(workDoneToken="work")

        assert "Loading the model fake/model…" in [each["message"] for each in editor.progress("work")]
        assert "notice" in editor.types()
