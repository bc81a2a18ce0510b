"""Subagents as jobs of the background commands."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pygent_ls.agent.ports.processes import BackgroundCommand, BackgroundJob, JobEnd, ProcessResult, ProcessSpec
from pygent_ls.errors import ToolError
from pygent_ls.workspace.processes.background import MAX_AGENTS, LocalBackground, Running
from tests.fakes import Gate, bounded

Keep = Callable[[str], Awaitable[None]]


class NoPrograms:
    """Runs none."""

    async def begin(self, spec: ProcessSpec, on_output: object, stdin: int | None = None) -> Running:
        raise ToolError("no programs here")

    async def finish(self, running: Running) -> ProcessResult:
        raise ToolError("no programs here")


class Heard:
    """A session that listens."""

    def __init__(self, background: LocalBackground) -> None:
        self.ends: list[BackgroundCommand] = []
        self.changes = 0
        self.read: list[str] = []
        background.listen("s", self)

    def ended(self, command: BackgroundCommand) -> None:
        self.ends.append(command)

    def changed(self) -> None:
        self.changes += 1

    def end_read(self, name: str) -> None:
        self.read.append(name)


def job(gate: Gate | None = None, *, fails: bool = False, error: Exception | None = None) -> BackgroundJob:
    async def work(keep: Keep) -> JobEnd:
        await keep("> Read a.py\n")
        if gate is not None:
            await gate.pass_through()
        if error is not None:
            raise error
        return JobEnd(report="All is well.", has_failed=fails)

    return BackgroundJob(title="look", run=work)


async def test_it_is_listed_read_and_reports_once() -> None:
    background, gate = LocalBackground(NoPrograms()), Gate()
    heard = Heard(background)
    name = await background.start_job("s", job(gate))
    await gate.reached()

    assert [each.name for each in background.running_jobs("s")] == [name]
    assert (await background.read("s", name, 0)).output == "> Read a.py\n"
    with pytest.raises(ToolError, match="reads no input"):
        await background.write("s", name, "x")
    waiting = asyncio.create_task(background.read("s", name, 30))
    await asyncio.sleep(0)
    gate.open()
    state = await bounded(waiting)

    assert (state.output, state.exit_code, state.runs) == ("Report:\nAll is well.\n", 0, False)
    (ended,) = heard.ends
    assert (ended.kind, ended.ending, ended.report, ended.was_read) == ("agent", "finished", "All is well.", True)
    assert heard.changes == 2
    assert heard.read == [name]
    assert background.running_jobs("s") == []


@pytest.mark.parametrize("error", [None, RuntimeError("a bug")])
async def test_one_that_fails_is_told_as_such(error: Exception | None) -> None:
    background = LocalBackground(NoPrograms())
    heard = Heard(background)
    name = await background.start_job("s", job(fails=True, error=error))
    await bounded(background.read("s", name, 30))

    (ended,) = heard.ends
    assert (ended.ending, ended.exit_code) == ("ended without finishing", 1)


async def test_the_user_and_the_model_stop_one_and_the_end_of_a_session_stops_all() -> None:
    background = LocalBackground(NoPrograms())
    heard = Heard(background)
    names = [await background.start_job("s", job(Gate())) for _ in range(MAX_AGENTS)]
    with pytest.raises(ToolError, match="already running"):
        await background.start_job("s", job())
    await background.start_job("other", job(Gate()))

    assert await bounded(background.stop("s", names[0]))
    assert not await bounded(background.stop("s", names[0]))
    await bounded(background.end("s", names[1]))
    assert [each.ending for each in heard.ends] == ["stopped by the user"]
    await bounded(background.end_all("s"))
    assert background.running_jobs("s") == []
    assert len(background.running_jobs("other")) == 1
    await bounded(background.end_all("other"))
