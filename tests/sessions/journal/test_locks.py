"""One daemon at a time writes a session; the others may read it, and one of them has it when that one is gone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from pygent_ls.errors import SessionError
from pygent_ls.sessions.session import Session
from tests.e2e.raw import RawClient, raw_client
from tests.fakes import bounded, say
from tests.sessions.journal.kept import GOING_ON, daemon


async def test_what_another_daemon_has_can_be_read_and_not_written(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("Hello.")]) as first, daemon(tmp_path, [say("Forked.")]) as second:
        session = first.new()
        await first.say(session, "hi")
        path = tmp_path / f"{session.id}.jsonl"
        before = path.read_bytes()

        with pytest.raises(SessionError, match=f"in use by another pygent-ls \\(process {os.getpid()} on ") as caught:
            await second.sessions.hold(session.id)
        assert caught.value.kind == "session_locked"
        with pytest.raises(SessionError, match="in use by another") as caught:
            await second.sessions.delete(session.id)
        assert caught.value.kind == "session_locked"

        looked_at = await second.sessions.look_at(session.id)
        assert list(looked_at.messages) == session.messages
        assert [each.text for each in looked_at.messages] == ["hi", "Hello."]
        fork = await second.sessions.fork(session.id)
        assert (await second.say(fork)).text == "Forked."
        assert path.read_bytes() == before
        assert second.sessions.live(session.id) is None


async def test_closing_a_session_lets_another_daemon_have_it(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("Hello."), *GOING_ON]) as first, daemon(tmp_path, GOING_ON) as second:
        session = first.new()
        await first.say(session, "hi")

        await first.sessions.close_one(session.id)
        other = await second.sessions.hold(session.id)
        assert (await second.say(other)).text == "Gone on."
        with pytest.raises(SessionError, match="in use by another"):
            await first.sessions.hold(session.id)

        await second.sessions.close_one(session.id)
        back = await first.sessions.hold(session.id)
        assert back.messages == other.messages
        assert back.last_seq == other.last_seq


@pytest.mark.parametrize("n_daemons", [2, 5])
async def test_of_those_who_want_a_session_at_once_exactly_one_has_it(tmp_path: Path, n_daemons: int) -> None:
    async with daemon(tmp_path, [say("Hello.")]) as dead:
        session = dead.new()
        await dead.say(session)
    async with asyncio.TaskGroup() as group:
        gate = asyncio.Barrier(n_daemons)

        async def want() -> Session | SessionError:
            async with daemon(tmp_path) as wanting:
                await gate.wait()
                try:
                    return await wanting.sessions.hold(session.id)
                except SessionError as error:
                    return error
                finally:
                    await gate.wait()

        wanted = [group.create_task(bounded(want())) for _ in range(n_daemons)]

    found = [each.result() for each in wanted]
    assert [isinstance(each, Session) for each in found].count(True) == 1
    assert {each.kind for each in found if isinstance(each, SessionError)} == {"session_locked"}


async def test_looking_whether_a_session_is_held_does_not_take_it_from_who_wants_it(tmp_path: Path) -> None:
    async with daemon(tmp_path, [say("Hello.")]) as dead:
        session = dead.new()
        await dead.say(session)
    async with daemon(tmp_path) as looking, daemon(tmp_path) as wanting:
        for _ in range(10):
            await asyncio.gather(
                *(looking.sessions.look_at(session.id) for _ in range(4)), wanting.sessions.hold(session.id)
            )
            await wanting.sessions.close_one(session.id)


async def test_what_is_no_file_is_no_session_and_holds_nobody_up(tmp_path: Path) -> None:
    async with daemon(tmp_path, []) as one:
        os.mkfifo(tmp_path / "pipe.jsonl")

        for ask in (one.sessions.look_at, one.sessions.hold):
            with pytest.raises(SessionError) as caught:
                await bounded(ask("pipe"))
            assert caught.value.kind == "unknown_session"


def test_a_daemon_that_was_killed_holds_nothing_whatever_it_has_started(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    script = folder / "script.jsonl"
    sleeping = {"command": "echo $$ > pid; exec sleep 60", "background": True}
    answers = [{"tool_calls": [{"name": "shell", "input": sleeping}]}, {"text": "It sleeps."}]
    script.write_text("".join(json.dumps(each) + "\n" for each in answers))
    environment = {"PYGENT_MODEL": f"scripted:{script}", "PYGENT_PERMISSIONS": '{"allow": ["shell"]}'}
    with raw_client(folder, environment=environment) as first, raw_client(folder, environment=environment) as second:
        first.initialize(folder)
        second.initialize(folder)
        session_id = _turn(first, {})["sessionId"]
        locked = second.request(2, "pygent/session/rename", {"sessionId": session_id, "name": "mine"})
        assert locked["error"]["data"]["kind"] == "session_locked"
        assert f"process {first.process.pid} on" in locked["error"]["message"]
        pid = int((folder / "pid").read_text())
        try:
            first.process.send_signal(signal.SIGKILL)
            first.wait()

            taken = second.request(3, "pygent/session/rename", {"sessionId": session_id, "name": "mine"})

            assert taken["result"]["name"] == "mine"
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _turn(client: RawClient, more: dict[str, object]) -> dict[str, object]:
    answer = client.request(1, "pygent/turn/start", {"prompt": "go", "mode": "trust", **more})
    assert "result" in answer, answer
    return answer["result"]
