"""An editor that stops reading, for a while or for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.e2e.raw import clean_environment
from tests.endurance.editor import Daemon, let_pass
from tests.endurance.faults.stage import SETTINGS, stage
from tests.model_server import ModelServer, Received, Step

TEXT = "0123456789" * 600_000


async def _stops_reading_for(root: Path, seconds: float) -> None:
    """Two editors at a socket, of which one stops reading while its answer of 6 MB streams."""
    (root / "project").mkdir()
    (root / "home").mkdir()

    def answer(request: Received, _: int) -> Step:
        if not request.body.get("tools"):
            return Step(text="A title")
        is_long = "long" in str(request.messages[-1])
        return Step(text=TEXT if is_long else "A short answer.", chunk=2000)

    with ModelServer(answer) as server:
        environment = clean_environment(root / "home", **(server.env() | SETTINGS))
        environment["PYGENT_MAX_OUTPUT_TOKENS"] = "10000000"
        daemon = await Daemon.start(root / "project", environment, socket=root / "socket")
        one, two = await daemon.connect(), await daemon.connect()
        try:
            for each in (one, two):
                await each.initialize(root / "project")
            await two.ask("pygent/turn/start", {"prompt": "short"})
            before_bytes = daemon.resident_bytes()
            turn = one.begin("pygent/turn/start", {"prompt": "long", "partialResultToken": "long"})
            await one.until(lambda: one.heard.get("long"))
            one.stop_reading()
            loop = asyncio.get_running_loop()
            ends_s = loop.time() + seconds
            while loop.time() < ends_s:
                async with asyncio.timeout(10):
                    done = await two.ask("pygent/turn/start", {"prompt": "short"})
                assert done["text"] == "A short answer.", done
                grown = daemon.resident_bytes() - before_bytes
                assert grown < 8 * len(TEXT), f"grown by {grown / 1e6:.0f} MB"
                await let_pass(0.3)
            one.read_on()
            async with asyncio.timeout(60):
                result = await turn
            assert result["text"] == TEXT
            events = one.heard["long"]
            assert "".join(each["content"] for each in events if each["type"] == "text_delta") == TEXT
            assert [each["seq"] for each in events] == list(range(1, len(events) + 1))
            assert events[-1]["type"] == "finished"
        finally:
            await one.leave()
            await two.leave()
            daemon.kill()
            await daemon.wait()


async def stops_reading_for_a_moment(root: Path) -> None:
    """Memory is bounded, another editor's turns go on, and no event is lost."""
    await _stops_reading_for(root, 3)


async def stops_reading_for_a_minute(root: Path) -> None:
    """The same for longer than any other limit of the protocol."""
    await _stops_reading_for(root, 60)


async def never_reads_again_and_dies(root: Path) -> None:
    """The daemon ends with its editor, although its output is not read."""
    async with stage(root, settings={"PYGENT_MAX_OUTPUT_TOKENS": "10000000"}) as here:
        turn = here.begin(Step(text=TEXT, chunk=2000))
        await turn.until("text_delta")
        here.editor.stop_reading()
        await let_pass(2)
        here.daemon.process.stdin.close()  # type: ignore[union-attr]
        here.daemon.process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
        async with asyncio.timeout(10):
            await here.daemon.process.wait()
    async with stage(root, session=here.session) as here:
        await here.goes_on()


FAULTS = (stops_reading_for_a_moment,)
LONG = (stops_reading_for_a_minute, never_reads_again_and_dies)
