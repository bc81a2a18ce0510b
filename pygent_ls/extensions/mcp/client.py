"""One connection to an MCP server, through the SDK's client."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct

from pygent_ls import __version__
from pygent_ls.errors import ToolError
from pygent_ls.extensions.line_process import LineProcess, spec_of
from pygent_ls.extensions.mcp.elicitation import elicit
from pygent_ls.extensions.mcp.oauth import NeedsSignInError, Tokens, only_secure, provider_of
from pygent_ls.extensions.mcp.sampling import sample
from pygent_ls.extensions.mcp.server import McpHost, ServerLog, ServerSpec, program_of
from pygent_ls.extensions.mcp.stdio import StdioTransport
from pygent_ls.extensions.mcp.time_limits import TimeLimits

if TYPE_CHECKING:  # the SDK takes a second to import, in a thread, once a server is configured
    import httpx2
    from mcp import MCPError
    from mcp.client import Transport
    from mcp.client.session import ClientRequestContext, IncomingMessage
    from mcp_types import (
        CallToolResult,
        CreateMessageRequestParams,
        CreateMessageResult,
        ElicitRequestParams,
        ElicitResult,
        ErrorData,
        GetPromptResult,
        ListRootsResult,
        LoggingMessageNotificationParams,
        PaginatedResult,
        Prompt,
        ReadResourceResult,
        Resource,
        ResourceTemplate,
        Tool,
    )

    Page = TypeVar("Page", bound=PaginatedResult)
    Result = TypeVar("Result")

MAX_PAGES = 100
"""Maximum number of pages of a list, in case that a server's list never ends."""

CONNECT_S = 30.0
"""Maximum time to connect to an HTTP server, and to send to it. The SDK's default."""

READ_S = 300.0
"""Maximum time without a byte of an HTTP server's open stream. The SDK's default."""

UNAUTHORIZED = 401

LOST_SESSION = (400, 404)
"""Responses to a request of a session that the server no longer knows: 404 by the specification, 400 by many servers,
which also answer so for other reasons."""

SESSION = "mcp-session-id"
"""Header of each message of a session."""

PING_S = 10.0
"""Maximum time in which a server that may have lost the session answers to a ping."""

RELISTEN_S = 5.0
"""Time before a lost stream of changes is opened again."""

Report = Callable[[str], Awaitable[None]]


class Offer(Struct, frozen=True, kw_only=True):
    """What a server lists, in its own terms."""

    tools: Sequence[Tool] = ()
    prompts: Sequence[Prompt] = ()
    resources: Sequence[Resource] = ()
    templates: Sequence[ResourceTemplate] = ()


class HttpResponses:
    """What the responses of an HTTP server say of the connection."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.is_refused = False
        """Whether the server has refused the last message: the user must sign in, perhaps again."""
        self.may_be_lost = False
        """Whether the server may have forgotten the session: it answered the last message of the session so."""

    async def note(self, response: httpx2.Response) -> None:
        """Take note of a response. A response before the token was refreshed is followed by another one."""
        if str(response.url) != self._url or response.request.method != "POST":
            return
        self.is_refused = response.status_code == UNAUTHORIZED
        self.may_be_lost = response.status_code in LOST_SESSION and SESSION in response.request.headers


class McpConnection:
    """A server and the SDK's client for it."""

    def __init__(
        self,
        spec: ServerSpec,
        transport: Transport,
        host: McpHost,
        log: ServerLog,
        ended: asyncio.Event | None = None,
        responses: HttpResponses | None = None,
    ) -> None:
        from mcp import Client
        from mcp_types import Implementation

        self.ended = ended or asyncio.Event()
        """Set when the server has ended, or when one that is reached by HTTP no longer accepts this connection."""
        self.changed = asyncio.Event()
        """Set when one of the server's lists may have changed."""
        self.client = Client(
            transport,
            client_info=Implementation(name="pygent-ls", version=__version__),
            list_roots_callback=self._roots,
            elicitation_callback=self._elicit,
            sampling_callback=self._sample,
            logging_callback=self._take_log,
            log_level="info",
            message_handler=self._receive,
            cache=None,
        )
        self._spec = spec
        self._host = host
        self._log = log
        self._limits = TimeLimits()
        self._responses = responses

    async def offer(self) -> Offer:
        """Return what the server lists. Raises `ToolError`."""
        self.changed.clear()
        client, can = self.client, self.client.server_capabilities
        tools = [each for page in await _pages(client.list_tools) for each in page.tools] if can.tools else []
        prompts = [each for page in await _pages(client.list_prompts) for each in page.prompts] if can.prompts else []
        if not can.resources:
            return Offer(tools=tools, prompts=prompts)
        resources = [each for page in await _pages(client.list_resources) for each in page.resources]
        try:
            pages = await _pages(client.list_resource_templates)
        except ToolError:  # many servers have resources, but no list of templates
            pages = []
        templates = [each for page in pages for each in page.resource_templates]
        return Offer(tools=tools, prompts=prompts, resources=resources, templates=templates)

    async def listen(self) -> None:
        """Set `changed` for each change that a server of the newest protocol reports; others report it by themselves.
        Returns if the server reports none."""
        from mcp import MCPError
        from mcp.client.subscriptions import SubscriptionLost
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        if self.client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        while True:
            try:
                async with self.client.listen(
                    tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
                ) as changes:
                    self.changed.set()  # it may have changed before the server listened
                    async for _ in changes:
                        self.changed.set()
                    return
            except SubscriptionLost:
                await asyncio.sleep(RELISTEN_S)
            except (MCPError, TimeoutError):
                return

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report) -> CallToolResult:
        """Call a tool and pass its progress on. Raises `ToolError`. The server is told if the call is cancelled."""

        async def pass_on(progress: float, total: float | None, message: str | None) -> None:
            amount = f"{progress:g} of {total:g}" if total else f"{progress:g}"
            await report(f"{message} ({amount})\n" if message else f"{amount}\n")

        return await self._answered(self.client.call_tool(name, dict(arguments), progress_callback=pass_on))

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> GetPromptResult:
        """Return a prompt with these arguments. Raises `ToolError`."""
        return await self._answered(self.client.get_prompt(name, dict(arguments)))

    async def resource(self, uri: str) -> ReadResourceResult:
        """Return the content of a resource. Raises `ToolError`."""
        return await self._answered(self.client.read_resource(uri, cache_mode="refresh"))

    async def _answered(self, answer: Awaitable[Result]) -> Result:
        """Return the server's answer. Raises `ToolError` for an error, an invalid answer, or at the time limit, which
        does not count the time that the user takes to answer the server's questions."""
        from mcp import MCPError
        from pydantic import ValidationError

        name, limit = self._spec.name, asyncio.timeout(self._spec.timeout_s)
        try:
            async with limit:
                with self._limits.counting(limit):
                    return await answer
        except TimeoutError:
            if not limit.expired():
                raise
            raise ToolError(f"The MCP server {name} did not answer within {self._spec.timeout_s:g} s.") from None
        except MCPError as error:
            if await self._is_lost(error):
                self.ended.set()
            raise ToolError(f"The MCP server {name} answered with an error: {error}") from None
        except ValidationError as error:
            raise ToolError(
                f"The MCP server {name} answered with {error.error_count()} values that the protocol does not allow."
            ) from None

    async def _is_lost(self, error: MCPError) -> bool:
        """Whether an HTTP server has forgotten the session, or no longer accepts the user's token, or the client has
        closed the connection, as it does when a message without an answer cannot be sent."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        responses = self._responses
        if responses is None:
            return False
        if not responses.is_refused and (responses.may_be_lost or error.code == CONNECTION_CLOSED):
            try:
                async with asyncio.timeout(PING_S):
                    await self.client.session.send_ping()  # sessions are of protocols that have pings
            except TimeoutError:
                pass
            except MCPError as failure:
                if failure.code == CONNECTION_CLOSED:  # many servers answer so, too, if the session is lost
                    return True
        return responses.is_refused or responses.may_be_lost

    async def _receive(self, message: IncomingMessage) -> None:
        from mcp_types import (
            PromptListChangedNotification,
            ResourceListChangedNotification,
            ToolListChangedNotification,
        )

        changes = (ToolListChangedNotification, PromptListChangedNotification, ResourceListChangedNotification)
        if isinstance(message, changes):
            self.changed.set()

    async def _take_log(self, params: LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else json.dumps(params.data, ensure_ascii=False, default=str)
        for line in text.splitlines():
            self._log.add(f"{params.level}: {line}")

    async def _elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        del context
        with self._limits.stopped():
            return await elicit(self._spec.name, params, self._host.ask)

    async def _sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        del context
        with self._limits.stopped():
            return await sample(self._spec.name, params, self._host, self._log)

    async def _roots(self, context: ClientRequestContext) -> ListRootsResult:
        from mcp_types import ListRootsResult, Root
        from pydantic import FileUrl

        del context
        return ListRootsResult(
            roots=[Root(uri=FileUrl(each.as_uri()), name=each.name) for each in self._host.folders()]
        )


@asynccontextmanager
async def connect(spec: ServerSpec, host: McpHost, log: ServerLog) -> AsyncGenerator[McpConnection]:
    """Connect to a server, and disconnect at the end. Raises `ToolError` that says why there is no connection, or why
    the connection was lost."""
    filled = spec.expanded(os.environ)
    process: LineProcess | None = None
    responses = HttpResponses(filled.url)
    try:
        async with AsyncExitStack() as stack:
            if filled.url:
                import httpx2
                from mcp.client.streamable_http import streamable_http_client

                timeout = httpx2.Timeout(CONNECT_S, read=READ_S)
                tokens = Tokens(store=host.tokens, url=filled.url)
                auth = provider_of(tokens) if await tokens.load() else None

                hooks = {"request": [only_secure(filled.url)], "response": [responses.note]}
                http = await stack.enter_async_context(
                    httpx2.AsyncClient(headers=dict(filled.headers), timeout=timeout, auth=auth, event_hooks=hooks)
                )
                transport = streamable_http_client(filled.url, http_client=http)
                connection = McpConnection(filled, transport, host, log, responses=responses)
            else:
                argv = (program_of(filled, host.find), *filled.args)
                transport = StdioTransport(host.run, spec_of(argv, filled.cwd, filled.env), log.feed)
                process = transport.process
                connection = McpConnection(filled, transport, host, log, process.ended)
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
            if connection.ended.is_set():
                raise ToolError("The connection was closed, or the server no longer knows the session.")
    except ToolError as error:
        raise (_needs_sign_in(spec.name) if responses.is_refused else error) from None
    except Exception as error:  # whatever a transport raises ends this connection only
        if responses.is_refused:
            raise _needs_sign_in(spec.name) from None
        raise ToolError((process and process.why_ended) or _words_of(error)) from None


def _needs_sign_in(name: str) -> NeedsSignInError:
    return NeedsSignInError(f"The server needs you to sign in: /mcp login {name}")


async def _pages(fetch: Callable[..., Awaitable[Page]]) -> list[Page]:
    """Return all pages of a list. Raises `ToolError` if it does not end, or if the server does not list."""
    from mcp import MCPError

    pages: list[Page] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        try:
            pages.append(await fetch(cursor=cursor, cache_mode="refresh"))
        except MCPError as error:
            raise ToolError(f"The server cannot list what it offers: {error}") from None
        cursor = pages[-1].next_cursor
        if cursor is None:
            return pages
    raise ToolError(f"A list of the server has more than {MAX_PAGES} pages.")


def _words_of(error: Exception) -> str:
    """Return what an error says; of a group, what the first one in it says."""
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
