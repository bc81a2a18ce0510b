"""No descriptors, no processes, no memory; released again while the daemon runs."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from contextlib import suppress
from pathlib import Path

from tests.e2e.raw import clean_environment
from tests.endurance.editor import Daemon, ErrorAnswer
from tests.endurance.faults.processes import BOMB, MARK, gone, marked
from tests.endurance.faults.stage import stage
from tests.model_server import Call, Step

MOST_PROCESSES = 80
"""Processes and threads that a user may have."""

USER = 23_456
"""Number of a user who has nothing else on this machine."""


async def no_descriptors_in_a_turn(root: Path) -> None:
    """Nothing can be opened from the middle of a turn on; it ends with what would work, and the next one works."""
    async with stage(root) as here:
        (here.folder / "a.txt").write_text("one\n")
        await here.goes_on()
        pid = here.daemon.process.pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        call = Call(name="shell", arguments={"command": "true"})
        slow = Step(text="slow " * 200, chunk=5, chunk_delay_s=0.005, calls=(call,))
        turn = here.begin(
            slow,
            Step(calls=(Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"}),)),
            Step(calls=(Call(name="grep_search", arguments={"pattern": "one"}),)),
            Step(text="Done."),
        )
        await turn.until("text_delta")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
        await here.answers_within(5)
        result = await turn.end()
        told = str([each["content"] for each in turn.of("tool_result")]) + str(result.get("error"))
        assert result["stopReason"] in ("end_turn", "error"), result
        assert "ulimit -n" in told, told
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        await here.goes_on()
        assert not (
            await here.tool("edit_file", path="a.txt", old=(here.folder / "a.txt").read_text(), new="3\n")
        ).startswith("ERROR")


async def no_descriptors_for_connections(root: Path) -> None:
    """A client of the provider cannot connect; after the retries the turn says why."""
    async with stage(root) as here:
        pid = here.daemon.process.pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
        try:
            told = str((await here.turn(Step(text="never"))).result.get("error"))
        except ErrorAnswer as error:
            told = str(error)
        assert "ulimit -n" in told, told
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        await here.goes_on()


def _n_threads() -> int:
    """Threads that the user has: they count for the limit."""
    found = 0
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            found += sum(1 for _ in (each / "task").iterdir()) if each.stat().st_uid == os.getuid() else 0
    return found


async def no_more_processes(root: Path) -> None:
    """A command forks until the limit of its user is reached: it ends with the turn, and the daemon goes on. The limit
    counts for no root, so the daemon runs as another user, if it may."""
    n_most = MOST_PROCESSES + (0 if os.getuid() == 0 else _n_threads())
    before = ("prlimit", f"--nproc={n_most}", "--")
    if os.getuid() == 0:
        root.chmod(0o755)
        for name in ("project", "home"):
            (root / name).mkdir()
            os.chown(root / name, USER, USER)
        before = (*before, "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all")
    async with stage(root, before=before) as here:
        await here.goes_on()
        script = here.folder / "bomb.py"
        script.write_text(BOMB.format(n=4 * MOST_PROCESSES))
        mark = root.name
        turn = here.begin(Step(calls=(Call(name="shell", arguments={"command": f"{MARK}={mark} python3 bomb.py"}),)))
        await turn.until("tool_progress")
        assert len(marked(mark)) >= MOST_PROCESSES // 4
        await here.answers_within(5)
        await turn.cancel()
        assert turn.result["stopReason"] == "cancelled", turn.result
        await gone(mark)
        assert "hello" in await here.tool("shell", command="echo hello")
        await here.goes_on()


async def no_memory_for_output(root: Path) -> None:
    """A command with much output and a large file cause errors at most if little memory is left."""
    async with stage(root) as here:
        await here.goes_on()
        pid = here.daemon.process.pid
        (here.folder / "large.txt").write_bytes(b"0123456789\n" * 900_000)
        taken = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.prlimit(pid, resource.RLIMIT_AS)
        resource.prlimit(pid, resource.RLIMIT_AS, (taken + 8_000_000, hard))
        for name, given in (
            ("shell", {"command": "seq 1 3000000"}),
            ("read_file", {"path": "large.txt"}),
            ("edit_file", {"path": "large.txt", "old": "no such text", "new": "x"}),
        ):
            said = await here.tool(name, **given)
            assert said, name
        await here.answers_within(5)
        resource.prlimit(pid, resource.RLIMIT_AS, (soft, hard))
        await here.goes_on()
        assert "3000000" in await here.tool("shell", command="seq 1 3000000")


async def no_room_for_connections(root: Path) -> None:
    """Many silent connections to the daemon's socket do not lock out later clients."""
    (root / "project").mkdir()
    (root / "home").mkdir()
    path = root / "socket"
    daemon = await Daemon.start(
        root / "project", clean_environment(root / "home", PYGENT_MODEL="offline/rules"), socket=path
    )
    idle: list[socket.socket] = []
    try:
        for _ in range(300):
            each = socket.socket(socket.AF_UNIX)
            idle.append(each)
            each.settimeout(5)
            with suppress(OSError):
                each.connect(str(path))
        async with asyncio.timeout(30):
            editor = await daemon.connect()
            with suppress(EOFError):
                await editor.initialize(root / "project")
            await editor.leave()
        for each in idle:
            each.close()
        async with asyncio.timeout(30):
            while True:  # until the daemon has noticed that the others are gone
                editor = await daemon.connect()
                with suppress(EOFError):
                    await editor.initialize(root / "project")
                    break
                await editor.leave()
            done = await editor.ask("pygent/turn/start", {"prompt": "hello"})
            assert done["stopReason"] == "end_turn", done
            await editor.leave()
    finally:
        daemon.kill()
        await daemon.wait()


FAULTS = (no_descriptors_in_a_turn,)
LONG = (no_descriptors_for_connections, no_more_processes, no_memory_for_output, no_room_for_connections)
