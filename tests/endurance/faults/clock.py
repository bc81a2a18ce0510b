"""A wall clock that jumps by hours, in a turn, between turns and between daemons.

libfaketime, which `make endurance` installs, changes the wall clock of one process tree while it runs. Time limits
must come from the monotonic clock, which it leaves alone.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic

from tests.endurance.faults.model import SHORT
from tests.endurance.faults.stage import stage
from tests.model_server import Call, Step

LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


def _faked(root: Path) -> dict[str, str]:
    return {
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(root / "offset"),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


def _jump(root: Path, hours: int) -> None:
    (root / "offset").write_text(f"{hours:+d}h\n")


async def in_a_turn(root: Path) -> None:
    """Time limits neither fire at once nor never; events keep their order."""
    _jump(root, 0)
    settings = {**_faked(root), **SHORT, "PYGENT_STREAM_IDLE_TIMEOUT_S": "30", "PYGENT_MAX_TURN_SECONDS": "120"}
    async with stage(root, settings=settings) as here:
        await here.goes_on()
        for hours in (9, -9, 5000, 12):
            text = "words " * 60
            call = Call(name="shell", arguments={"command": "sleep 1"})
            turn = here.begin(
                Step(
                    text=text,
                    chunk=6,
                    chunk_delay_s=0.01,
                    calls=(call,),
                ),
                Step(text="Done."),
            )
            await turn.until("text_delta")
            _jump(root, hours)
            await turn.end(30)
            assert turn.result["stopReason"] == "end_turn", turn.result
            assert not turn.of("llm_error"), turn.of("llm_error")
            assert "exit code 0" in turn.of("tool_result")[0]["content"], turn.of("tool_result")
            assert turn.of("tool_result")[0]["durationMs"] < 20_000
            assert turn.of("finished")[0].get("durationMs", 0) < 60_000
            times = [datetime.fromisoformat(each["timestamp"]) for each in turn.events]
            assert max(times) - min(times) > timedelta(hours=8), "the clock did not jump"
            await here.goes_on()


async def a_time_limit_after_a_jump(root: Path) -> None:
    """A provider that says nothing is given up after its time, whatever the wall clock says."""
    _jump(root, 0)
    async with stage(root, settings={**_faked(root), **SHORT, "PYGENT_RETRY_MAX_ATTEMPTS": "1"}) as here:
        await here.goes_on()
        began_s = monotonic()
        turn = here.begin(Step(text="words", stall_after=2))
        await turn.until("text_delta")
        _jump(root, -20)
        await turn.end(30)
        assert turn.result["error"]["type"] == "timeout", turn.result
        assert 1 < monotonic() - began_s < 20
        said = await here.tool("shell", command="sleep 30", timeout_s=1)
        assert "timed out" in said, said
        await here.goes_on()


async def between_daemons(root: Path) -> None:
    """A session from the future goes on, is listed, and keeps its events and undo."""
    _jump(root, 30)
    async with stage(root, settings=_faked(root)) as here:
        (here.folder / "a.txt").write_text("one\n")
        await here.tool("edit_file", path="a.txt", old="one", new="two")
        await here.goes_on()
        session = here.session
        loaded = await here.is_whole()
        turn = here.begin(Step(text="cut off", stall_after=2))
        await turn.until("text_delta")
        here.daemon.kill()
        await here.daemon.wait()
    _jump(root, -30)
    async with stage(root, settings=_faked(root), session=session) as here:
        again = await here.is_whole()
        assert again["messages"][: len(loaded["messages"])] == loaded["messages"]
        listed = await here.editor.ask("pygent/session/list")
        assert [each["sessionId"] for each in listed["sessions"]] == [session]
        await here.goes_on()
        other = (await here.editor.ask("pygent/session/new"))["sessionId"]
        await here.turn(Step(text="Another."), sessionId=other)
        await asyncio.sleep(0)
        points = (await here.editor.ask("pygent/checkpoint/list", {"sessionId": session}))["checkpoints"]
        await here.editor.ask(
            "pygent/checkpoint/restore",
            {"checkpointId": points[0]["checkpointId"], "files": True, "conversation": False},
        )
        assert (here.folder / "a.txt").read_text() == "one\n"
        assert await here.daemon.end(here.editor) == 0


FAULTS = ()
LONG = (in_a_turn, a_time_limit_after_a_jump, between_daemons) if LIBRARY else ()
LACKS = "" if LIBRARY else "libfaketime is not installed"
