"""Tools of the connected client: registered by it, and called by request."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.tools.tool import Tool, ToolContext
from pygent_ls.editors.lsp.ports.registrations import parsed, refused
from pygent_ls.editors.lsp.protocol.client_extensions import (
    ClientTool,
    ClientToolCallOut,
    ClientToolCancelledOut,
    ClientToolProgress,
    ClientToolResult,
    RefusedOut,
    ToolsRegisteredOut,
)
from pygent_ls.editors.lsp.protocol.validation import InvalidValueError, valid
from pygent_ls.editors.lsp.rpc.client_requests import ClientError
from pygent_ls.editors.lsp.rpc.converter import repaired
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.errors import ToolError
from pygent_ls.extensions.editor_tools import EditorTool, EditorToolPart, EditorToolResult, EditorToolSpec, editor_tool

CALL_TOOL = "pygent/client/callTool"
TOOL_CANCELLED = "pygent/client/toolCancelled"

MAX_TOOLS = 1_000
"""Maximum number of tools of one client."""

MAX_PROGRESS_CHARS = 1_000_000
"""Maximum length of the live output of one call; what follows is not shown."""


class _ClientCall(Struct, kw_only=True, eq=False):
    name: str
    limit: asyncio.Timeout
    output: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue[str | None])
    """Live output; None after the last."""
    n_chars: int = 0
    is_answered: bool = False
    is_withdrawn: bool = False
    """Whether the client has unregistered the tool meanwhile."""

    async def show(self, report: Callable[[str], Awaitable[None]]) -> None:
        """Report the live output until its end."""
        while (text := await self.output.get()) is not None:
            await report(text)


class ClientTools:
    """The tools of one client. They are forgotten when it disconnects."""

    def __init__(self, endpoint: RpcEndpoint) -> None:
        self._endpoint = endpoint
        self._tools: dict[str, EditorTool] = {}
        self._open: dict[str, _ClientCall] = {}
        self._ids = itertools.count(1)
        self._registering = asyncio.Lock()
        self._n_connections = 0

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools, in order of registration."""
        return tuple(self._tools.values())

    async def settled(self) -> None:
        """Return when the tools that the client has sent so far are registered."""
        async with self._registering:
            pass

    async def register(self, given: Sequence[Any]) -> ToolsRegisteredOut:
        """Register tools."""
        connection = self._n_connections
        async with self._registering:
            checked, problems = await asyncio.to_thread(self._checked, given)
            if connection != self._n_connections:  # the client that sent them is gone
                return {"registered": [], "refused": problems}
            registered: list[str] = []
            for each in checked:
                if each.editor_name not in self._tools and len(self._tools) >= MAX_TOOLS:
                    problems.append({"name": each.editor_name, "problem": _too_many()})
                    continue
                self._tools[each.editor_name] = each
                registered.append(each.name)
        return {"registered": registered, "refused": problems}

    def unregister(self, names: Sequence[str]) -> list[str]:
        """Remove tools and end their running calls. Returns the names that were registered."""
        removed = [name for name in dict.fromkeys(names) if self._tools.pop(name, None) is not None]
        for call in self._open.values():
            if call.name in removed:
                call.is_withdrawn = True
                call.limit.reschedule(asyncio.get_running_loop().time())
        return removed

    def forget(self) -> None:
        """Remove all tools, because the client is gone."""
        self._n_connections += 1
        self._tools.clear()

    def take_progress(self, params: ClientToolProgress) -> None:
        """Show the live output of a call; that of a call that has ended is ignored."""
        call = self._open.get(params.call_id)
        if call is not None and call.n_chars < MAX_PROGRESS_CHARS:
            text = str(repaired(params.text))[: MAX_PROGRESS_CHARS - call.n_chars]
            call.n_chars += len(text)
            call.output.put_nowait(text)

    def _checked(self, given: Sequence[Any]) -> tuple[list[EditorTool], list[RefusedOut]]:
        found: dict[str, EditorTool] = {}
        problems: list[RefusedOut] = []
        for raw in given[:MAX_TOOLS]:
            try:
                made = editor_tool(_spec_of(parsed(ClientTool, raw)), self._call)
                if made.name in found:
                    raise ToolError("The request contains two tools of this name; the first was registered.")
            except ToolError as error:
                problems.append(refused(raw, "name", error))
                continue
            found[made.name] = made
        problems += [refused(raw, "name", _too_many()) for raw in given[MAX_TOOLS : MAX_TOOLS + 1]]
        return list(found.values()), problems

    async def _call(self, spec: EditorToolSpec, context: ToolContext, arguments: Mapping[str, Any]) -> EditorToolResult:
        if spec.name not in self._tools:
            raise ToolError(f"The editor no longer offers {spec.name}. Nothing was run.")
        call_id = f"call-{next(self._ids)}"
        call = self._open[call_id] = _ClientCall(name=spec.name, limit=asyncio.timeout(spec.timeout_s))
        asked: ClientToolCallOut = {
            "name": spec.name,
            "arguments": dict(arguments),
            "callId": call_id,
            "toolId": context.tool_id,
            "sessionId": context.session_id,
            "turnId": context.turn_id,
            "cwd": str(context.working_directory),
        }
        showing = asyncio.create_task(call.show(context.report))
        try:
            return _result(await self._answer(spec, call, asked))
        finally:
            del self._open[call_id]
            if not call.is_answered:  # some clients cannot tell which request `$/cancelRequest` names
                cancelled: ClientToolCancelledOut = {"callId": call_id}
                self._endpoint.tell(TOOL_CANCELLED, cancelled)
            call.output.put_nowait(None)
            await showing

    async def _answer(self, spec: EditorToolSpec, call: _ClientCall, asked: ClientToolCallOut) -> object:
        """Return the client's answer. Raises `ToolError`. The client is told if the call ends without its answer."""
        try:
            async with call.limit:
                answer = await self._endpoint.ask(CALL_TOOL, asked, longer_s=spec.timeout_s + 1)
                call.is_answered = True
                return answer
        except TimeoutError:
            if not call.limit.expired():
                raise
            if call.is_withdrawn:
                raise ToolError(
                    f"The editor has withdrawn {spec.name} while it ran; it may have had effects."
                ) from None
            raise ToolError(
                f"{spec.name} did not end within {spec.timeout_s:g} s and was cancelled; it may have had effects."
            ) from None
        except ClientError as error:
            call.is_answered = True
            raise ToolError(f"{spec.name} failed in the editor: {repaired(str(error))}") from None


def _spec_of(tool: ClientTool) -> EditorToolSpec:
    return EditorToolSpec(
        name=tool.name,
        description=tool.description,
        schema=tool.input_schema,
        read_only=tool.read_only,
        destructive=tool.destructive,
        risk=ToolRisk(tool.risk) if tool.risk else None,
        timeout_s=tool.timeout_s,
        runs_programs=tool.runs_programs,
        command_argument=tool.command_argument,
    )


def _result(answer: object) -> EditorToolResult:
    """Return the result in an answer. Raises `ToolError` if it is not valid."""
    try:
        given = valid(ClientToolResult, repaired(answer))
    except InvalidValueError as error:
        raise ToolError(
            f"The editor answered with an invalid result: {error.described('value')}. The tool may have had effects."
        ) from None
    parts = [
        EditorToolPart(image=each.data) if each.type == "image" else EditorToolPart(text=each.text)
        for each in given.content
    ]
    return EditorToolResult(parts=parts, is_error=given.is_error, structured=given.structured)


def _too_many() -> str:
    return f"A client can register {MAX_TOOLS:,} tools at most."
