"""One connection to an MCP server, through the SDK's client."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from pygent_ls import __version__
from pygent_ls.agent.ports.workspace import ProcessSpec
from pygent_ls.errors import ToolError
from pygent_ls.extensions.mcp.elicitation import elicit
from pygent_ls.extensions.mcp.server import McpHost, ServerSpec, program_of
from pygent_ls.extensions.mcp.stdio import MAX_LOG_CHARS, StdioTransport

if TYPE_CHECKING:  # the SDK takes a second to import, in a thread, once a server is configured
    from mcp.client import Transport
    from mcp.client.session import ClientRequestContext, IncomingMessage
    from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, ListRootsResult, Tool

MAX_PAGES = 100
"""Maximum number of pages of a list of tools, in case that a server's list never ends."""

CONNECT_S = 30.0
"""Maximum time to connect to an HTTP server, and to send to it. The SDK's default."""

READ_S = 300.0
"""Maximum time without a byte of an HTTP server's open stream. The SDK's default."""

Report = Callable[[str], Awaitable[None]]


class McpConnection:
    """A server and the SDK's client for it."""

    def __init__(
        self, spec: ServerSpec, transport: Transport, host: McpHost, ended: asyncio.Event | None = None
    ) -> None:
        from mcp import Client
        from mcp_types import Implementation

        self.ended = ended or asyncio.Event()
        """Set when the server has ended; one that is reached by HTTP is not known to."""
        self.changed = asyncio.Event()
        """Set when the server's list of tools may have changed."""
        self.client = Client(
            transport,
            client_info=Implementation(name="pygent-ls", version=__version__),
            list_roots_callback=self._roots,
            elicitation_callback=self._elicit,
            message_handler=self._receive,
            cache=None,
        )
        self._spec = spec
        self._host = host

    async def tools(self) -> list[Tool]:
        """Return the tools that the server lists. Raises `ToolError`."""
        self.changed.clear()
        found: list[Tool] = []
        cursor: str | None = None
        capabilities = self.client.server_capabilities
        if capabilities.tools is None:
            return found
        for _ in range(MAX_PAGES):
            page = await self.client.list_tools(cursor=cursor, cache_mode="refresh")
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                return found
        raise ToolError(f"The list of tools has more than {MAX_PAGES} pages.")

    async def listen(self) -> None:
        """Set `changed` for each change that a server of the newest protocol reports; others report it by themselves.
        Returns if the server reports none."""
        from mcp import MCPError
        from mcp.client.subscriptions import SubscriptionLost
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        if self.client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        with suppress(MCPError, SubscriptionLost, TimeoutError):
            async with self.client.listen(tools_list_changed=True) as changes:
                self.changed.set()  # it may have changed before the server listened
                async for _ in changes:
                    self.changed.set()

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report) -> CallToolResult:
        """Call a tool and pass its progress on. Raises `ToolError` for an error of the protocol, or at the time limit.
        The server is told if the call is cancelled."""

        from mcp import MCPError
        from pydantic import ValidationError

        async def pass_on(progress: float, total: float | None, message: str | None) -> None:
            amount = f"{progress:g} of {total:g}" if total else f"{progress:g}"
            await report(f"{message} ({amount})\n" if message else f"{amount}\n")

        try:
            return await self.client.call_tool(
                name, dict(arguments), read_timeout_seconds=self._spec.timeout_s, progress_callback=pass_on
            )
        except MCPError as error:
            raise ToolError(f"The MCP server {self._spec.name} answered with an error: {error}") from None
        except ValidationError as error:
            raise ToolError(
                f"The MCP server {self._spec.name} answered with {error.error_count()} values that the protocol does "
                "not allow."
            ) from None

    async def _receive(self, message: IncomingMessage) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self.changed.set()

    async def _elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        del context
        return await elicit(self._spec.name, params, self._host.ask)

    async def _roots(self, context: ClientRequestContext) -> ListRootsResult:
        from mcp_types import ListRootsResult, Root
        from pydantic import FileUrl

        del context
        return ListRootsResult(
            roots=[Root(uri=FileUrl(each.as_uri()), name=each.name) for each in self._host.folders()]
        )


@asynccontextmanager
async def connect(spec: ServerSpec, host: McpHost) -> AsyncGenerator[McpConnection]:
    """Connect to a server, and disconnect at the end. Raises `ToolError` that says why there is no connection, or why
    the connection was lost."""
    filled = spec.expanded(os.environ)
    process: StdioTransport | None = None
    try:
        async with AsyncExitStack() as stack:
            if filled.url:
                import httpx2
                from mcp.client.streamable_http import streamable_http_client

                timeout = httpx2.Timeout(CONNECT_S, read=READ_S)
                http = await stack.enter_async_context(
                    httpx2.AsyncClient(headers=dict(filled.headers), timeout=timeout)
                )
                connection = McpConnection(filled, streamable_http_client(filled.url, http_client=http), host)
            else:
                argv = (program_of(filled, host.find), *filled.args)
                process = StdioTransport(host.run, _process(filled, argv))
                connection = McpConnection(filled, process, host, process.ended)
            limit = asyncio.timeout(filled.startup_timeout_s)
            try:
                async with limit:
                    await stack.enter_async_context(connection.client)
            except TimeoutError:
                if not limit.expired():
                    raise
                raise ToolError(f"The server did not answer within {filled.startup_timeout_s:g} s.") from None
            yield connection
            if process is not None and process.ended.is_set():
                raise ToolError(process.why_ended)
    except ToolError:
        raise
    except Exception as error:  # whatever a transport raises ends this connection only
        raise ToolError((process and process.why_ended) or _words_of(error)) from None


def _words_of(error: Exception) -> str:
    """Return what an error says; of a group, what the first one in it says."""
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _process(spec: ServerSpec, argv: tuple[str, ...]) -> ProcessSpec:
    return ProcessSpec(
        argv=argv,
        cwd=spec.cwd,
        timeout_s=math.inf,
        env=spec.env,
        max_output_chars=MAX_LOG_CHARS,
        errors_apart=True,
    )
