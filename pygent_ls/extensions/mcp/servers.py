"""All MCP servers of one front end: started in the background, restarted when they end, and what they offer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.ports.resources import Resource, ResourceContent
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.errors import KeyStoreError, ToolError
from pygent_ls.extensions.mcp.client import McpConnection, Report, connect
from pygent_ls.extensions.mcp.oauth import NeedsSignInError, Tokens, sign_in
from pygent_ls.extensions.mcp.prompts import ServerPrompt, prompts_of
from pygent_ls.extensions.mcp.resources import content_of, resource_tools, resources_of, templates_of
from pygent_ls.extensions.mcp.server import McpHost, ServerLog, ServerSpec, ServerState, ServerStatus, no_server
from pygent_ls.extensions.mcp.speech import SPEECH_TOOLS, McpSpeech, speech_of
from pygent_ls.extensions.mcp.tools import tools_of
from pygent_ls.extensions.voice import NO_SPEECH

if TYPE_CHECKING:
    from mcp_types import CallToolResult, GetPromptResult


RESTARTS_S = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Waits before each start of a server that has ended; after the last one, it is left alone."""

STEADY_S = 60.0
"""Time after which a server counts as working: the waits begin anew when it ends."""

MAX_ERROR_CHARS = 500


class McpServers:
    """Owns the tasks that hold the connections, and awaits them in `close`."""

    def __init__(self, host: McpHost, restarts_s: Sequence[float] = RESTARTS_S) -> None:
        self._host = host
        self._restarts_s = restarts_s
        self._servers: dict[str, _Server] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._signing_in: set[str] = set()

    def apply(self, specs: Iterable[ServerSpec]) -> None:
        """Start new servers and those whose settings have changed; end the others that are no longer configured.
        Returns at once."""
        wanted = {each.name: each for each in specs}
        for name, running in list(self._servers.items()):
            if running.spec != wanted.get(name):
                self._end(self._servers.pop(name))
        for name, spec in wanted.items():
            if name not in self._servers:
                self._begin(spec)

    def restart(self, name: str) -> None:
        """Implement `ServerView`."""
        running = self._named(name)
        self._end(running)
        self._begin(running.spec, running.log)

    def log(self, name: str) -> Sequence[str]:
        """Implement `ServerView`."""
        return self._named(name).log.lines

    def _named(self, name: str) -> _Server:
        if name not in self._servers:
            raise no_server(name)
        return self._servers[name]

    async def sign_in(self, name: str) -> None:
        """Implement `ServerView`."""
        tokens = self._tokens(name)
        if name in self._signing_in:
            raise ToolError(f"A sign-in to {name} is under way in your browser.")
        self._signing_in.add(name)
        try:
            await asyncio.to_thread(import_module, "mcp")
            await sign_in(tokens.url, tokens, self._host.open_url)
        finally:
            self._signing_in.discard(name)
        self.restart(name)

    async def sign_out(self, name: str) -> bool:
        """Implement `ServerView`."""
        try:
            is_forgotten = await self._tokens(name).forget()
        except KeyStoreError as error:
            raise ToolError(f"The tokens could not be removed: {error}") from None
        self.restart(name)
        return is_forgotten

    def _tokens(self, name: str) -> Tokens:
        spec = self._named(name).spec
        if not spec.url:
            raise ToolError(f"{name} is a program, so there is no sign-in.")
        return Tokens(store=self._host.tokens, url=spec.expanded(os.environ).url)

    @property
    def statuses(self) -> Sequence[ServerStatus]:
        """Implement `ServerView`."""
        return [each.status for each in self._servers.values()]

    @property
    def tools(self) -> Sequence[Tool]:
        """Tools of all servers that are connected now."""
        return [tool for each in self._servers.values() for tool in each.tools]

    @property
    def resource_tools(self) -> Sequence[Tool]:
        """Tools with which the model lists and reads resources; empty if there are no resources."""
        templates = [template for each in self._servers.values() for template in each.templates]
        return resource_tools(self, templates) if self.listed or templates else ()

    @property
    def prompts(self) -> Sequence[ServerPrompt]:
        """Implement `ServerView`."""
        return [prompt for each in self._servers.values() for prompt in each.prompts]

    def speech(self, name: str) -> McpSpeech:
        """Return the speech server of that name, or with an empty name the first one. Raises `ToolError`."""
        if name:
            server = self._named(name)
            if server.speech is None:
                is_connected = server.status.state == "connected"
                tools = ", ".join(sorted(SPEECH_TOOLS))
                raise ToolError(
                    f"The MCP server {name} is no speech server: it lacks one of the tools {tools}."
                    if is_connected
                    else f"The speech server {name} is not connected. {server.status.error}".strip()
                )
            return server.speech
        found = next((each.speech for each in self._servers.values() if each.speech is not None), None)
        if found is None:
            missing = [each.name for each in self.statuses if each.state not in ("connected", "disabled")]
            raise ToolError(f"{NO_SPEECH} Not connected yet: {', '.join(missing)}." if missing else NO_SPEECH)
        return found

    @property
    def listed(self) -> Sequence[Resource]:
        """Implement `ServerResources`."""
        return [resource for each in self._servers.values() for resource in each.resources]

    async def read(self, mention: str) -> ResourceContent | None:
        """Implement `ServerResources`."""
        name, _, uri = mention.partition(":")
        server = self._servers.get(name)
        return await server.read(uri) if server is not None and uri else None

    async def until_started(self, timeout_s: float) -> None:
        """Wait until each server is connected or has failed once, or until the time is over."""
        starting = [each.has_started.wait() for each in self._servers.values()]
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*starting), timeout_s)

    async def close(self) -> None:
        """End all servers, and wait until they have ended."""
        self.apply(())
        if self._ending:
            await asyncio.wait(self._ending)

    def _begin(self, spec: ServerSpec, log: ServerLog | None = None) -> None:
        self._servers[spec.name] = _Server(spec, self._host, self._restarts_s, log or ServerLog())

    def _end(self, server: _Server) -> None:
        server.task.cancel()
        self._ending.add(server.task)
        server.task.add_done_callback(self._ending.discard)


class _Server:
    """One configured server, whose task connects to it again and again."""

    def __init__(self, spec: ServerSpec, host: McpHost, restarts_s: Sequence[float], log: ServerLog) -> None:
        self.spec = spec
        self.log = log
        self.tools: Sequence[Tool] = ()
        self.prompts: Sequence[ServerPrompt] = ()
        self.resources: Sequence[Resource] = ()
        self.templates: Sequence[Resource] = ()
        self.speech: McpSpeech | None = None
        """The server as a speech server, if it has the tools of one."""
        self.has_started = asyncio.Event()
        self._host = host
        self._restarts_s = restarts_s
        self._state: ServerState = "starting" if spec.is_enabled else "disabled"
        self._error = ""
        self._connection: McpConnection | None = None
        self._told: set[str] = set()
        self.task = asyncio.create_task(self._serve(), name=f"MCP server {spec.name}")

    @property
    def status(self) -> ServerStatus:
        return ServerStatus(
            name=self.spec.name,
            state=self._state,
            tools=tuple(each.name for each in self.tools),
            prompts=tuple(each.command for each in self.prompts),
            n_resources=len(self.resources),
            is_speech=self.speech is not None,
            error=self._error,
        )

    async def _serve(self) -> None:
        if not self.spec.is_enabled:
            self.has_started.set()
            return
        loop, n_failures = asyncio.get_running_loop(), 0
        while True:
            began_s, why = loop.time(), ""
            try:
                await self._connected()
            except NeedsSignInError as error:
                self._become("needs_sign_in", str(error))
                self._host.tell(f"The MCP server {self.spec.name}: {error}")
                return
            except (ToolError, ImportError) as error:
                why = one_line(str(error), MAX_ERROR_CHARS)
            finally:
                self._connection = None
                self.tools, self.prompts, self.resources, self.templates = (), (), (), ()
                self.speech = None
                self.has_started.set()
            n_failures = 0 if loop.time() - began_s > STEADY_S else n_failures + 1
            self._become("failed", why)
            if n_failures > len(self._restarts_s):
                self._host.tell(f"The MCP server {self.spec.name} ends again and again and is left alone. {why}")
                return
            if n_failures <= 1:
                self._host.tell(f"The MCP server {self.spec.name} is not connected: {why}")
            await asyncio.sleep(self._restarts_s[max(0, n_failures - 1)])
            self._become("starting", why)

    def _become(self, state: ServerState, error: str) -> None:
        self._state, self._error = state, error
        self.log.add(f"[{state}{f': {error}' if error else ''}]")
        self._host.on_change()

    async def _connected(self) -> None:
        """Connect, and keep its lists up to date until the server ends. Raises whatever keeps it from that."""
        await asyncio.to_thread(import_module, "mcp")  # takes a second
        async with connect(self.spec, self._host, self.log) as connection:
            self._connection = connection
            await self._take_offer(connection)
            self._become("connected", "")
            self.has_started.set()
            listening = asyncio.create_task(connection.listen())
            try:
                while await _first_of(connection.changed, connection.ended):
                    await self._take_offer(connection)
                    self._host.on_change()
            finally:
                listening.cancel()
                await asyncio.wait([listening])

    async def _take_offer(self, connection: McpConnection) -> None:
        limit_s, name = self.spec.startup_timeout_s, self.spec.name
        try:
            async with asyncio.timeout(limit_s):
                offer = await connection.offer()
        except TimeoutError:
            raise ToolError(f"The server did not list its tools within {limit_s:g} s.") from None
        self.tools, problems = tools_of(name, offer.tools, self._call)
        self.speech = speech_of(name, offer.tools, self._call)
        self.prompts = prompts_of(name, offer.prompts, self._prompt)
        self.resources = resources_of(name, offer.resources)
        self.templates = templates_of(name, offer.templates)
        for each in problems:
            if each not in self._told:
                self._told.add(each)
                self._host.tell(f"The MCP server {self.spec.name}: {each}")

    async def read(self, uri: str) -> ResourceContent:
        """Return the content of a resource. Raises `ToolError`."""
        return content_of(await self._open.resource(uri))

    async def _call(self, name: str, arguments: Mapping[str, Any], report: Report) -> CallToolResult:
        return await self._open.call(name, arguments, report)

    async def _prompt(self, name: str, arguments: Mapping[str, str]) -> GetPromptResult:
        return await self._open.prompt(name, arguments)

    @property
    def _open(self) -> McpConnection:
        """The connection. Raises `ToolError` while the server is not connected."""
        if self._connection is None:
            raise ToolError(f"The MCP server {self.spec.name} is not connected. {self._error}".strip())
        return self._connection


async def _first_of(changed: asyncio.Event, ended: asyncio.Event) -> bool:
    """Wait for either event; return whether it is `changed`."""
    waiting = [asyncio.ensure_future(each.wait()) for each in (changed, ended)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
    return not ended.is_set()
