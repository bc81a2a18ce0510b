"""Inline completion from the settings: the count of tokens holds nothing up."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from pygent_ls.agent.ports.completer import Completer, CompletionRequest, CompletionTask
from pygent_ls.app.completion import CompletionHost, ConfiguredCompletions
from pygent_ls.config.layers import load
from pygent_ls.config.live import Taken
from pygent_ls.config.settings import Settings
from pygent_ls.config.sources import environment_layer


class BusyCompleter:
    """At the end of its answer, another daemon has the count, until the event loop runs again."""

    name = "busy"

    def __init__(self, state: Path) -> None:
        self._state = state
        self.is_free = False

    async def complete(self, request: CompletionRequest) -> AsyncGenerator[str, None]:
        yield "some text"
        lock = os.open(self._state / "completion.lock", os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX)
        asyncio.get_running_loop().call_soon(self._give_back, lock)

    def _give_back(self, lock: int) -> None:
        os.close(lock)
        self.is_free = True


async def test_the_loop_runs_while_the_count_of_a_day_is_corrected(tmp_path: Path) -> None:
    loaded = load([environment_layer({"PYGENT_COMPLETION_MODEL": "openai/mock"})])
    taken = Taken(loaded=loaded, layers=(), folder=None, wishes=(), trusted=None)
    completer = BusyCompleter(tmp_path)

    async def make(_: Taken, __: CompletionTask) -> Completer:
        return completer

    async def mask(text: str, _: Path, __: Settings) -> str:
        return text

    host = CompletionHost(
        is_restricted=False,
        take=lambda: taken,
        make=make,
        mask=mask,
        keys_version=lambda: 0,
        state_folder=tmp_path,
    )
    completions = ConfiguredCompletions(host=host, taken=taken)
    request = CompletionRequest(path=tmp_path / "a.py", name="a.py", before="x = ", after="", max_tokens=16)

    assert [piece async for piece in completions.complete(request)] == ["some text"]
    assert completer.is_free
