"""Handlers of the requests with which a client registers tools and hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pygent_ls.editors.lsp.ports.client_hooks import ClientHooks
from pygent_ls.editors.lsp.ports.client_tools import ClientTools
from pygent_ls.editors.lsp.protocol.client_extensions import (
    ClientToolProgress,
    HooksRegisteredOut,
    HooksRegisterParams,
    HooksUnregisterParams,
    RefusedOut,
    ToolsRegisteredOut,
    ToolsRegisterParams,
    ToolsUnregisterParams,
    UnregisteredOut,
)
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.standard import MessageType

MAX_REPORTED = 3
"""Maximum number of refused tools and hooks of `initialize` that the user is told about."""


class ClientExtensions:
    """Tools and hooks of one client."""

    def __init__(self, endpoint: RpcEndpoint) -> None:
        self.tools = ClientTools(endpoint)
        self.hooks = ClientHooks(endpoint)
        self._endpoint = endpoint
        self._starting: asyncio.Task[None] | None = None

    def start(self, tools: Sequence[Any], hooks: Sequence[Any]) -> None:
        """Register what the client sent with `initialize`."""
        refused = self.hooks.register(hooks)["refused"]
        if tools or refused:
            self._starting = asyncio.create_task(self._register(tools, refused))

    def start_again(self, tools: Sequence[Any], hooks: Sequence[Any]) -> None:
        """Register what a client that is back sent with `initialize`."""
        self.start(tools, hooks)
        self.hooks.expect_again(self._endpoint.patience.ready_s)

    async def settled(self) -> None:
        """Return when what the client has sent so far is registered."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
        await self.tools.settled()

    def lose_client(self) -> None:
        """Remove the tools, because the client disconnected. Hooks wait for it."""
        self.tools.forget()
        self.hooks.lose_client()

    async def close(self) -> None:
        """End the registration, and the wait for a client that is away."""
        self.hooks.close()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])

    async def register_tools(self, params: ToolsRegisterParams) -> ToolsRegisteredOut:
        """Handle `pygent/client/registerTools`."""
        return await self.tools.register(params.tools)

    def unregister_tools(self, params: ToolsUnregisterParams) -> UnregisteredOut:
        """Handle `pygent/client/unregisterTools`."""
        return {"removed": self.tools.unregister(params.names)}

    def register_hooks(self, params: HooksRegisterParams) -> HooksRegisteredOut:
        """Handle `pygent/hooks/register`."""
        return self.hooks.register(params.hooks)

    def unregister_hooks(self, params: HooksUnregisterParams) -> UnregisteredOut:
        """Handle `pygent/hooks/unregister`."""
        return {"removed": self.hooks.unregister(params.ids)}

    def take_progress(self, params: ClientToolProgress) -> None:
        """Handle `pygent/client/toolProgress`."""
        self.tools.take_progress(params)

    async def _register(self, tools: Sequence[Any], refused_hooks: Sequence[RefusedOut]) -> None:
        refused = [*refused_hooks, *(await self.tools.register(tools))["refused"]]
        for each in refused[:MAX_REPORTED]:
            what = f"{each['name'] or 'a tool or hook'} of the editor was not registered. {each['problem']}"
            self._endpoint.show_message(f"pygent-ls: {what}", MessageType.WARNING)
