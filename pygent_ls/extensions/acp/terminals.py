"""Terminals that an agent asks for: commands that run in our sandbox."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from pygent_ls.agent.external_agent import AgentHost
from pygent_ls.agent.json_fields import items, objects, text
from pygent_ls.errors import ToolError

MAX_TERMINALS = 50
"""Maximum number of terminals of one prompt."""

MAX_OUTPUT_BYTES = 1_000_000
"""Maximum output of a terminal that is kept, if the agent names no limit; its end."""

SHELL = ("sh", "-c")

CANNOT_RUN = 126
"""Exit code of a command that was not permitted or could not be started, as in a shell."""


class _Terminal(Struct, kw_only=True, eq=False):
    task: asyncio.Task[int]
    limit: int
    pieces: list[str] = field(default_factory=list[str])
    n_chars: int = 0
    is_cut: bool = False

    def take(self, piece: str) -> None:
        self.pieces.append(piece)
        self.n_chars += len(piece)
        if self.n_chars > 2 * max(self.limit, MAX_OUTPUT_BYTES):
            self.pieces = [self.output]
            self.n_chars = len(self.pieces[0])

    @property
    def output(self) -> str:
        """The end of the output, within the limit."""
        data = "".join(self.pieces).encode("utf-8", "replace")
        self.is_cut |= len(data) > self.limit
        return data[max(0, len(data) - self.limit) :].decode(errors="ignore")

    @property
    def exit_status(self) -> dict[str, Any] | None:
        if not self.task.done():
            return None
        code = -signal.SIGTERM if self.task.cancelled() or self.task.exception() else self.task.result()
        return {"exitCode": code, "signal": None} if code >= 0 else {"exitCode": None, "signal": str(-code)}


class Terminals:
    """Terminals of one session, each until it is released or the prompt ends."""

    def __init__(self) -> None:
        self._all: dict[str, _Terminal] = {}
        self._n_made = 0

    async def answer(self, host: AgentHost, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the result of a `terminal/…` request. Raises `ToolError`."""
        if method == "terminal/create":
            return await self._create(host, params)
        terminal = self._all.get(str(params.get("terminalId")))
        if terminal is None:
            raise ToolError(f"There is no terminal {params.get('terminalId')!r}.")
        match method:
            case "terminal/output":
                output = terminal.output
                shown = {"output": output, "truncated": terminal.is_cut}
                return shown if terminal.exit_status is None else {**shown, "exitStatus": terminal.exit_status}
            case "terminal/wait_for_exit":
                await asyncio.wait([terminal.task])
                return terminal.exit_status or {}
            case "terminal/kill" | "terminal/release":
                terminal.task.cancel()
                await asyncio.wait([terminal.task])
                if method == "terminal/release":
                    self._all.pop(str(params.get("terminalId")), None)
                return {}
            case _:
                raise ToolError(f"{method} is not known.")

    async def close(self) -> None:
        """End all terminals."""
        tasks = [each.task for each in self._all.values()]
        self._all.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _create(self, host: AgentHost, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if len(self._all) >= MAX_TERMINALS:
            raise ToolError(f"There are {MAX_TERMINALS} terminals. Release those that are not needed.")
        command, arguments = text(params.get("command")), items(params.get("args"))
        argv = (command, *arguments) if arguments else (*SHELL, command)
        env = {text(each.get("name")): text(each.get("value")) for each in objects(params.get("env"))}
        limit = params.get("outputByteLimit")
        self._n_made += 1

        async def take(piece: str) -> None:
            terminal.take(piece)

        async def run() -> int:
            try:
                return await host.execute(argv, text(params.get("cwd")), env, take)
            except ToolError as error:
                terminal.take(str(error))
                return CANNOT_RUN

        terminal = _Terminal(
            task=asyncio.create_task(run()),
            limit=min(limit, MAX_OUTPUT_BYTES) if isinstance(limit, int) and limit >= 0 else MAX_OUTPUT_BYTES,
        )
        terminal_id = f"terminal-{self._n_made}"
        self._all[terminal_id] = terminal
        return {"terminalId": terminal_id}
