"""One session of an agent: its updates in order, and its requests, for the host of the running prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.events import PlanEntry, PlanPriority, PlanStatus
from pygent_ls.agent.external_agent import AgentHost, ExternalCall
from pygent_ls.agent.json_fields import amount, number, obj, objects, text
from pygent_ls.agent.messages import Usage
from pygent_ls.errors import ToolError
from pygent_ls.extensions.acp.calls import CallBook
from pygent_ls.extensions.acp.programs import AgentCommand, AgentProgram
from pygent_ls.extensions.acp.terminals import Terminals

MAX_WAITING = 1_000
"""Maximum number of updates that wait to be shown; the agent's output is not read further meanwhile."""

MAX_COMMANDS = 200
"""Maximum number of slash commands of an agent that are remembered."""

METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR, NOT_FOUND = -32601, -32602, -32603, -32002

CANCELLED = {"outcome": {"outcome": "cancelled"}}

_PRIORITIES: Mapping[str, PlanPriority] = {"high": "high", "medium": "medium", "low": "low"}
_STATUSES: Mapping[str, PlanStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
}


class RequestRefusedError(Exception):
    """A request of the agent that is answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class RemoteSession:
    """Session of an agent. Without a running prompt, its updates change only what is known of it."""

    def __init__(self, session_id: str, program: AgentProgram) -> None:
        self.id = session_id
        self.n_prompts = 0
        self.commands: tuple[AgentCommand, ...] = ()
        self.mode = ""
        self.modes: tuple[str, ...] = ()
        """Modes that the agent offers as such; empty if they are an option, or if it has none."""
        self.is_warned = False
        """Whether the user was told that it may act without asking."""
        self.options: Mapping[str, Mapping[str, Any]] = {}
        """Configuration options, by id."""
        self.usage = Usage()
        """Total of the prompts that were counted."""
        self.context = (0, 0)
        """Tokens in its context window, and the size of that."""
        self._cost = 0.0
        self._is_unknown = False
        """Whether what it cost so far is unknown, because it began in an earlier process."""
        self.has_cost = False
        """Whether the agent tells what it costs."""
        self._program = program
        self._calls = CallBook()
        self._host: AgentHost | None = None
        self._waiting: asyncio.Queue[Callable[[AgentHost], Awaitable[None]]] = asyncio.Queue()
        self._room = asyncio.Event()
        self._room.set()
        self._requests: set[asyncio.Task[Any]] = set()
        self._terminals = Terminals()

    def recall(self, n_prompts: int) -> None:
        """Continue a session of an earlier process. The totals that it tells first are where counting begins."""
        self.n_prompts, self._is_unknown = n_prompts, True

    def count_from(self, total: Usage) -> Usage:
        """Return the part of a total that was counted before, and count from this one."""
        before, self.usage = total if self._is_unknown else self.usage, total
        self._is_unknown = False
        return before

    async def has_room(self) -> None:
        """Return once few enough updates wait."""
        await self._room.wait()

    # A prompt

    async def run(self, host: AgentHost, prompt: Coroutine[Any, Any, Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the agent's response to a prompt, once everything before it is shown. Raises as `prompt` and the host
        do."""
        self._host = host
        asking = asyncio.create_task(prompt)
        showing = asyncio.create_task(self._show())
        try:
            await _first_of(asking, showing)
            await _first_of(shown := asyncio.create_task(self._waiting.join()), showing)
            shown.cancel()
            if showing.done():
                showing.result()  # raises what the host has
            return asking.result()
        finally:
            self._host = None
            await _ended((showing, asking, *self._requests))
            await self._terminals.close()
            self._forget_waiting()

    async def _show(self) -> None:
        """Show updates in order, for ever."""
        while True:
            show = await self._waiting.get()
            try:
                assert self._host is not None
                await show(self._host)
            finally:
                self._waiting.task_done()
                if self._waiting.qsize() < MAX_WAITING:
                    self._room.set()

    def _forget_waiting(self) -> None:
        while not self._waiting.empty():
            self._waiting.get_nowait()
            self._waiting.task_done()
        self._room.set()

    def _later(self, show: Callable[[AgentHost], Awaitable[None]]) -> None:
        if self._host is None:
            return
        self._waiting.put_nowait(show)
        if self._waiting.qsize() >= MAX_WAITING:
            self._room.clear()

    # Updates

    def take(self, update: Mapping[str, Any]) -> None:
        """Take an update. One that is not known is skipped."""
        content = update.get("content")
        match update.get("sessionUpdate"):
            case "agent_message_chunk" if said := _said(content):
                self._later(lambda host: host.say(said))
            case "agent_thought_chunk" if said := _said(content):
                self._later(lambda host: host.think(said))
            case "tool_call" | "tool_call_update":
                call = self._calls.update(update)
                self._later(lambda host: host.show(call))
            case "plan":
                entries = tuple(_entries(update.get("entries")))
                self._later(lambda host: host.set_plan(entries))
            case "available_commands_update":
                self.commands = tuple(_commands(update.get("availableCommands")))[:MAX_COMMANDS]
            case "current_mode_update":
                self.mode = text(update.get("currentModeId"))
                said = f"The agent's mode is now {one_line(self.mode)}."
                self._later(lambda host: host.notice(said))
            case "config_option_update":
                self.take_options(update.get("configOptions"))
            case "usage_update":
                self._take_usage(update)
            case _:
                pass

    def take_modes(self, given: object) -> None:
        """Remember the modes that the agent offers."""
        modes = obj(given)
        self.modes = tuple(text(each.get("id")) for each in objects(modes.get("availableModes")))
        self.mode = text(modes.get("currentModeId"))

    def take_options(self, given: object) -> None:
        """Remember the configuration options that the agent lists."""
        if found := objects(given):
            self.options = {text(each.get("id")): each for each in found}

    def _take_usage(self, update: Mapping[str, Any]) -> None:
        self.context = number(update.get("used")), number(update.get("size"))
        cost = obj(update.get("cost"))
        total = amount(cost.get("amount")) if cost.get("currency") == "USD" else None
        if total is not None:
            added, self._cost, self.has_cost = total - self._cost, total, True
            if added > 0 and not self._is_unknown:
                self._later(lambda host: host.count(Usage(cost_usd=added)))

    # Requests

    async def answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the result of a request of the agent. Raises `RequestRefusedError`."""
        host = self._host
        if host is None:
            raise RequestRefusedError(INVALID_PARAMS, "No prompt is running in this session.")
        task = asyncio.create_task(self._answered(host, method, params))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
            if method == "session/request_permission":
                return CANCELLED
            raise RequestRefusedError(INTERNAL_ERROR, "The prompt was cancelled.") from None
        except ToolError as error:
            raise RequestRefusedError(INTERNAL_ERROR, str(error)) from None

    async def _answered(self, host: AgentHost, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        await self._shown()
        match method:
            case "session/request_permission":
                call = self._calls.ask(obj(params.get("toolCall")))
                return await _permission(host, call, objects(params.get("options")))
            case "fs/read_text_file":
                return {"content": await self._read(host, params)}
            case "fs/write_text_file":
                if self._program.writes:  # else it writes the disk itself
                    await host.write(text(params.get("path")), text(params.get("content")))
                return {}
            case _:
                return await self._terminals.answer(host, method, params)

    async def _shown(self) -> None:
        """Return once the updates before this request are shown, the one that is being shown included."""
        is_shown = asyncio.Event()

        async def reached(_host: AgentHost) -> None:
            is_shown.set()

        self._waiting.put_nowait(reached)
        await is_shown.wait()

    async def _read(self, host: AgentHost, params: Mapping[str, Any]) -> str:
        path = text(params.get("path"))
        try:
            content = await host.read(path)
        except FileNotFoundError as error:
            if self._program.empty_if_missing:
                return ""
            raise RequestRefusedError(NOT_FOUND, f"Resource not found: {path}") from error
        line, limit = params.get("line"), params.get("limit")
        if not isinstance(line, int) and not isinstance(limit, int):
            return content
        first = max(line, 1) - 1 if isinstance(line, int) else 0
        lines = content.splitlines(keepends=True)
        return "".join(lines[first : first + limit] if isinstance(limit, int) else lines[first:])


async def _permission(host: AgentHost, call: ExternalCall, options: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Ask the host, and choose the narrowest option of the answer: what holds for longer is for our rules to
    remember."""
    is_allowed = await host.permit(call)
    wanted = ("allow_once", "allow_always") if is_allowed else ("reject_once", "reject_always")
    for kind in wanted:
        for each in options:
            if each.get("kind") == kind:
                return {"outcome": {"outcome": "selected", "optionId": each.get("optionId")}}
    return CANCELLED


async def _first_of(*tasks: asyncio.Task[Any]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


async def _ended(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def _said(content: object) -> str:
    given = obj(content)
    match given.get("type"):
        case "text":
            return text(given.get("text"))
        case "resource_link":
            return f"[{given.get('name') or given.get('uri')}]({given.get('uri')})"
        case "resource":
            return text(obj(given.get("resource")).get("text"))
        case _:
            return ""


def _entries(given: object) -> Sequence[PlanEntry]:
    return [
        PlanEntry(
            content=text(each.get("content")),
            status=_STATUSES.get(text(each.get("status")), "pending"),
            priority=_PRIORITIES.get(text(each.get("priority")), "medium"),
        )
        for each in objects(given)
    ]


def _commands(given: object) -> Sequence[AgentCommand]:
    return [
        AgentCommand(name=one_line(name), description=one_line(text(each.get("description"))))
        for each in objects(given)
        if (name := text(each.get("name")))
    ]
