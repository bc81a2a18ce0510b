"""Terminals that an agent asks for: commands that run in our sandbox."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pygent_ls.agent.external_agent import AgentHost
from pygent_ls.agent.json_fields import objects, text, texts
from pygent_ls.errors import ToolError

MAX_TERMINALS = 50
"""Maximum number of terminals of one prompt."""

MAX_OUTPUT_BYTES = 1_000_000
"""Maximum output of a terminal that is kept, if the agent names no limit; its end."""

SHELL = ("sh", "-c")

CANNOT_RUN = 126
"""Exit code of a command that was not permitted or could not be started, as in a shell."""


@dataclass(kw_only=True, eq=False)
class _Terminal:
    task: asyncio.Task[int]
    limit: int
    output: str = ""
    is_cut: bool = False

    def take(self, piece: str) -> None:
        self.output += piece
        data = self.output.encode()
        if len(data) > self.limit:
            self.output, self.is_cut = data[-self.limit :].decode(errors="ignore") if self.limit else "", True

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
                shown = {"output": terminal.output, "truncated": terminal.is_cut}
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
        command, arguments = text(params.get("command")), texts(params.get("args"))
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
            limit=limit if isinstance(limit, int) and limit >= 0 else MAX_OUTPUT_BYTES,
        )
        terminal_id = f"terminal-{self._n_made}"
        self._all[terminal_id] = terminal
        return {"terminalId": terminal_id}
