"""`pygent-ls mcp serve`: other agents ask questions about the workspace and give tasks, through MCP."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from pygent_ls import __version__
from pygent_ls.agent.display_text import on_one_line
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.permissions.permissions import stricter
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.exit_codes import CANCELLED, DONE
from pygent_ls.editors.mcp.arguments import TOOL_ARGUMENTS, AskArguments, RunArguments, arguments_of
from pygent_ls.editors.mcp.calls import AgentCall, AgentCalls, OpenForm
from pygent_ls.editors.ports import Blueprint, Core, FrontEnd, TrustQuestion
from pygent_ls.editors.scripts.stdin import lines_of
from pygent_ls.editors.shutdown import close, stop_at_signal
from pygent_ls.editors.turn_summary import STOP_WORDS
from pygent_ls.errors import PygentError, SessionError
from pygent_ls.sessions.index.entries import SessionEntry
from pygent_ls.sessions.index.session_list import SessionFilter
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.choices import Number, limits_for
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace

if TYPE_CHECKING:  # the SDK takes a second to import
    from anyio import AsyncFile
    from mcp.server.context import ServerRequestContext
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        InputRequiredResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        ListToolsResult,
        PaginatedRequestParams,
        ReadResourceRequestParams,
        ReadResourceResult,
    )

    Request = ServerRequestContext[Any, Any]

SCHEME = "pygent://session/"

MAX_LISTED = 100
"""Maximum number of sessions in the list of resources, the most recently used first."""

ALL = 1_000_000
"""Page size that covers all stored sessions."""

SERVERS_S = 10.0
"""Maximum time that a turn waits for MCP servers of its own."""

ABANDONED_S = 600.0
"""Time after which a call is cancelled whose client does not come back with the answer to a form."""

DESCRIPTIONS = {
    "ask": "Ask an agent that knows this workspace a question. It reads and searches files, but changes nothing.",
    "run": "Give an agent a task in this workspace. It can edit files and run commands, with the user's permission.",
}


@dataclass(kw_only=True)
class AgentServer:
    """Tools and resources for the client of another agent."""

    blueprint: Blueprint
    folder: Path
    mode: Mode | None
    """Permission mode of all turns, which the other agent cannot change; None for that of the settings."""
    _calls: AgentCalls = field(default_factory=AgentCalls)
    _waiting: dict[str, tuple[AgentCall, asyncio.TimerHandle]] = field(
        default_factory=dict[str, tuple[AgentCall, asyncio.TimerHandle]]
    )
    """Calls whose clients have a form to answer, by id, each with the timer that ends it."""
    _core: Core = field(init=False)

    async def serve(self) -> None:
        """Serve until standard input ends."""
        from mcp.server.lowlevel import Server
        from mcp.server.stdio import stdio_server

        self._core = self.blueprint.build(self._front_end())
        self._core.start_loading()
        server = Server(
            "pygent-ls",
            version=__version__,
            instructions=f"An AI coding agent that works in {self.folder}.",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )
        try:
            async with stdio_server(stdin=cast("AsyncFile[str]", _lines())) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        finally:
            await close(self._core)

    def _front_end(self) -> FrontEnd:
        return FrontEnd(
            workspace=DiskWorkspace([self.folder]),
            approver=self._calls,
            questioner=self._calls,
            ask_trust=_leave_untrusted,
            on_session_change=lambda _session, _what: None,
            waits_for_servers_s=SERVERS_S,
        )

    # Tools

    async def _list_tools(self, request: Request, params: PaginatedRequestParams | None) -> ListToolsResult:
        from mcp_types import ListToolsResult, Tool, ToolAnnotations

        del request, params
        return ListToolsResult(
            tools=[
                Tool(
                    name=name,
                    description=DESCRIPTIONS[name],
                    input_schema=arguments.model_json_schema(),
                    annotations=ToolAnnotations(read_only_hint=name == "ask", open_world_hint=True),
                )
                for name, arguments in TOOL_ARGUMENTS.items()
            ]
        )

    async def _call_tool(self, request: Request, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        try:
            call = self._resumed(params) if params.request_state else await self._begun(request, params)
            return await self._followed(request, call)
        except PygentError as error:
            return _failed(str(error))

    def _resumed(self, params: CallToolRequestParams) -> AgentCall:
        """Return the call that a form interrupted, with the form's answer. Raises `SessionError`."""
        call, timer = self._waiting.pop(params.request_state or "", (None, None))
        if call is None or timer is None:
            raise SessionError("This call is over.", kind="no_call")
        timer.cancel()
        given = (params.input_responses or {}).get(call.id)
        content = getattr(given, "content", None) if getattr(given, "action", "") == "accept" else None
        call.answer(_text_in(content))
        return call

    async def _begun(self, request: Request, params: CallToolRequestParams) -> AgentCall:
        """Start the turn. Raises `PygentError`."""
        arguments = arguments_of(params.name, params.arguments or {})
        if arguments.model is not None:
            await self._check_model(arguments.model)
        session = await self._session(arguments.session_id)
        if session.id in self._calls.running:
            raise SessionError(f"A call runs in the session {session.id}. Wait for its end.", kind="turn_running")
        capabilities = request.session.client_capabilities
        call = AgentCall(
            session,
            self._turn_request(session, arguments),
            can_ask=capabilities is not None and capabilities.elicitation is not None,
        )
        self._calls.running[session.id] = call
        call.ended.add_done_callback(lambda _: self._calls.running.pop(session.id, None))
        return call

    async def _check_model(self, name: str) -> None:
        """Raise `SessionError` for a model that the user could not select: the other agent's text is not a program,
        an address or a provider to use."""
        if name not in [each.name for each in await self._core.models() if each.available]:
            raise SessionError(
                f"The model {name!r} is not one that the user can select. Leave `model` out for the configured one.",
                kind="unknown_model",
            )

    def _turn_request(self, session: Session, arguments: AskArguments) -> TurnRequest:
        """Return the request for a turn within the user's limits. Raises `SessionError` for a looser mode."""
        plain = TurnRequest(parts=(arguments.prompt,), model=arguments.model, takes_commands=False, own_words="")
        if not isinstance(arguments, RunArguments):
            return replace(plain, tools=_read_only(session))
        usual = session.choices.for_turn(plain)
        if arguments.mode is not None and stricter(arguments.mode, usual.mode) != arguments.mode:
            raise SessionError(
                f"The mode {arguments.mode} is looser than the user's, {usual.mode}. Start the server with "
                f"`--permission-mode {arguments.mode}` to allow it.",
                kind="mode_too_loose",
            )
        limits = limits_for(plain, usual.profile, self._core.sessions.defaults.limits.turn)
        return replace(
            plain,
            mode=arguments.mode,
            max_iterations=_lower(arguments.max_turns, limits.max_iterations),
            max_budget_usd=_lower(arguments.max_budget_usd, limits.max_budget_usd),
        )

    async def _session(self, session_id: str | None) -> Session:
        """Return a new session, or the one with this id if it belongs to the folder. Raises `PygentError`."""
        sessions = self._core.sessions
        if session_id is None:
            return sessions.new(NewSession(mode=self.mode))
        await self._entry(session_id)
        session = await sessions.hold(session_id)
        session.permissions.set_mode(self.mode or sessions.defaults.mode)
        return session

    async def _followed(self, request: Request, call: AgentCall) -> CallToolResult | InputRequiredResult:
        """Follow the turn to its end, or to a form that the client's protocol answers with another call."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        try:
            while not isinstance(came := await call.next(), TurnResult):
                if isinstance(came, str):
                    call.n_calls += 1
                    await request.session.report_progress(call.n_calls, message=came)
                elif request.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    return self._interrupted(call, came)
                else:
                    call.answer(await _asked(request, came))
            return _result(call, came)
        except asyncio.CancelledError:
            await call.cancel()
            raise

    def _interrupted(self, call: AgentCall, asked: OpenForm) -> InputRequiredResult:
        from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

        form = ElicitRequestFormParams(message=asked.form.message, requested_schema=dict(asked.form.schema))
        timer = asyncio.get_running_loop().call_later(ABANDONED_S, self._abandon, call)
        self._waiting[call.id] = (call, timer)
        return InputRequiredResult(input_requests={call.id: ElicitRequest(params=form)}, request_state=call.id)

    def _abandon(self, call: AgentCall) -> None:
        self._waiting.pop(call.id, None)
        call.turn.cancel()

    # Resources

    async def _list_resources(self, request: Request, params: PaginatedRequestParams | None) -> ListResourcesResult:
        from mcp_types import ListResourcesResult, Resource

        del request, params
        page = await self._core.sessions.page(SessionFilter(folder=self.folder, limit=MAX_LISTED, used=True))
        return ListResourcesResult(
            resources=[
                Resource(
                    uri=f"{SCHEME}{each.id}",
                    name=on_one_line(each.name),
                    description=f"Session with {each.model}, last used {each.updated_at:%Y-%m-%d %H:%M} UTC",
                    mime_type="text/markdown",
                )
                for each in page.sessions
            ]
        )

    async def _list_templates(
        self, request: Request, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        from mcp_types import ListResourceTemplatesResult, ResourceTemplate

        del request, params
        template = ResourceTemplate(
            uri_template=f"{SCHEME}{{id}}",
            name="session",
            description="Conversation of a session as Markdown",
            mime_type="text/markdown",
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def _read_resource(self, request: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        from mcp import MCPError
        from mcp_types import INVALID_PARAMS, ReadResourceResult, TextResourceContents

        del request
        uri = str(params.uri)
        try:
            session_id = (await self._entry(uri.removeprefix(SCHEME))).id
            text = await self._core.sessions.export(session_id, "markdown")
        except SessionError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type="text/markdown", text=text)])

    async def _entry(self, session_id: str) -> SessionEntry:
        """Return the session's entry. Raises `SessionError` for one that does not exist, or is of another folder."""
        page = await self._core.sessions.page(SessionFilter(folder=self.folder, limit=ALL))
        found = next((each for each in page.sessions if each.id == session_id), None)
        if found is None:
            raise SessionError(f"{self.folder} has no session {session_id!r}.", kind="unknown_session")
        return found


def _read_only(session: Session) -> tuple[str, ...]:
    """Return the names of the tools that only read."""
    return tuple(each.name for each in session.services.tools.list_all() if each.read_only)


def _lower(asked: Number | None, usual: Number) -> Number | None:
    """Return the lower of two limits, of which `usual` may be 0 for no limit; None if only the usual one applies."""
    return asked if asked is None or not usual else min(asked, usual)


async def _leave_untrusted(_question: TrustQuestion) -> None:
    """Give no answer, so the folder's settings are not trusted: the other agent must not decide it."""


async def _asked(request: Request, open_form: OpenForm) -> str | None:
    """Return the answer to a form by a request to the client; None if it gives none."""
    from mcp import MCPError

    form = open_form.form
    try:
        answer = await request.session.elicit_form(
            form.message, dict(form.schema), related_request_id=request.request_id
        )
    except MCPError:
        return None
    return _text_in(answer.content) if answer.action == "accept" else None


def _text_in(content: object) -> str | None:
    """Return the answer in a form's content; None without one."""
    answer = content.get("answer") if isinstance(content, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return answer if isinstance(answer, str) else None


def _result(call: AgentCall, result: TurnResult) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    is_done = result.stop_reason == "end_turn"
    lines = [result.text] if result.text.strip() else []
    lines += [f"[Denied: {title}. {reason}]" for title, reason in call.denied]
    if not is_done:
        lines.append(f"[{STOP_WORDS[result.stop_reason]}{f': {result.error.message}' if result.error else ''}]")
    return CallToolResult(
        content=[TextContent(text="\n\n".join(lines))],
        structured_content={
            "sessionId": call.session.id,
            "stopReason": result.stop_reason,
            "text": result.text,
            "filesChanged": [{"path": str(each.path), "kind": each.kind} for each in result.files_changed],
            "denied": [{"call": title, "reason": reason} for title, reason in call.denied],
            "usage": {
                "inputTokens": result.usage.input_tokens,
                "outputTokens": result.usage.output_tokens,
                "costUsd": result.usage.cost_usd,
            },
        },
        is_error=not is_done,
    )


def _failed(why: str) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    return CallToolResult(content=[TextContent(text=why)], is_error=True)


async def _lines() -> AsyncGenerator[str]:
    """Yield the lines of standard input. The SDK reads in a thread that delays the end after a signal."""
    async for line in lines_of(0):
        yield line.decode("utf-8", "replace")


def serve(blueprint: Blueprint, folder: Path, mode: Mode | None) -> int:
    """Serve until standard input ends or a signal arrives; return the exit code. A second signal exits at once."""
    try:
        return asyncio.run(_served(AgentServer(blueprint=blueprint, folder=folder, mode=mode)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return CANCELLED


async def _served(server: AgentServer) -> int:
    main = asyncio.current_task()
    assert main is not None
    for number in (signal.SIGTERM, signal.SIGHUP):  # asyncio.run handles SIGINT
        asyncio.get_running_loop().add_signal_handler(number, partial(stop_at_signal, main))
    await server.serve()
    return DONE
