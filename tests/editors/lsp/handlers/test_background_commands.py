"""Background commands over the wire: they are listed and stopped, also while a turn runs."""

from __future__ import annotations

from pathlib import Path

from tests.editors.lsp.editor import Setup, connected
from tests.fakes import Call, Gate, bounded, say

SERVER = Call(name="shell", arguments={"command": "sleep 600", "background": True})


async def test_a_command_is_listed_and_stopped_while_a_turn_runs(folder: Path) -> None:
    gate = Gate()
    setup = Setup(script=[say("", SERVER), [gate, *say("done")]], mode="trust")
    async with connected(folder, setup) as editor:
        session_id = (await editor.request("pygent/session/new", {}))["sessionId"]
        session = {"sessionId": session_id}
        none = await editor.request("pygent/background/list", session)
        turn = editor.begin_turn(sessionId=session_id)
        await gate.reached()

        (running,) = (await editor.request("pygent/background/list", session))["commands"]
        stopped = await editor.request("pygent/background/stop", {**session, "id": running["id"]})
        again = await editor.request("pygent/background/stop", {**session, "id": running["id"]})
        (ended,) = (await editor.request("pygent/background/list", session))["commands"]
        gate.open()
        await bounded(turn)

    assert none == {"commands": []}
    expected = {"command": "sleep 600", "running": True, "exitCode": None, "stoppedByUser": False, "ending": "running"}
    assert {key: running[key] for key in expected} == expected
    assert (stopped, again) == ({"stopped": True}, {"stopped": False})
    assert (ended["running"], ended["stoppedByUser"], ended["ending"]) == (False, True, "stopped by the user")
    assert ended["exitCode"] is not None
    assert ended["startedAt"] == running["startedAt"]


async def test_what_a_command_wrote_last_is_listed_though_the_model_has_read_it(folder: Path) -> None:
    prints = Call(name="shell", arguments={"command": "printf 'one\\ntwo'", "background": True})
    reads = Call(name="shell_output", arguments={"shell_id": "shell_1", "wait_s": 60})
    setup = Setup(script=[say("", prints), say("", reads), say("done")], mode="trust")
    async with connected(folder, setup) as editor:
        session_id = (await editor.request("pygent/session/new", {}))["sessionId"]

        await editor.turn(sessionId=session_id)

        (ended,) = (await editor.request("pygent/background/list", {"sessionId": session_id}))["commands"]
    assert (ended["lastOutput"], ended["ending"]) == ("one\ntwo", "ended with exit code 0")


async def test_a_client_is_told_when_a_command_starts_and_when_it_ends(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("", SERVER), say("done")], mode="trust")) as editor:
        session_id = (await editor.request("pygent/session/new", {}))["sessionId"]
        changed = {"sessionId": session_id, "what": "background"}

        def times() -> int:
            return editor.notifications("pygent/session/changed").count(changed)

        await editor.turn(sessionId=session_id)
        started = times()
        (running,) = (await editor.request("pygent/background/list", {"sessionId": session_id}))["commands"]
        await editor.request("pygent/background/stop", {"sessionId": session_id, "id": running["id"]})
        await editor.until(lambda: times() == 2)

    assert started == 1


async def test_a_command_or_a_session_that_there_is_not_is_an_error(folder: Path) -> None:
    async with connected(folder) as editor:
        session_id = (await editor.request("pygent/session/new", {}))["sessionId"]

        no_command = await editor.error("pygent/background/stop", {"sessionId": session_id, "id": "shell_7"})
        no_session = await editor.error("pygent/background/list", {"sessionId": "none"})

    assert (no_command.code, no_command.data) == (-32602, {"kind": "unknown_background_command"})
    assert "There is no background command 'shell_7'. Background commands: none." in no_command.message
    assert no_session.data == {"kind": "unknown_session"}
