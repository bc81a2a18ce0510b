"""MCP servers of one front end, started when the settings name one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pygent_ls.app.factories import mcp_servers_of
from pygent_ls.app.keys import server_tokens

if TYPE_CHECKING:  # imported when a server is configured
    from pygent_ls.config.settings import Settings
    from pygent_ls.editors.ports import FrontEnd
    from pygent_ls.extensions.mcp.server import Sample, SampleRequest, ServerView
    from pygent_ls.extensions.mcp.servers import McpServers
    from pygent_ls.workspace.processes.local_processes import LocalProcesses


class McpSupport:
    """Builds the servers, and owns them."""

    def __init__(
        self,
        front_end: FrontEnd,
        processes: LocalProcesses,
        sample: Callable[[SampleRequest], Awaitable[Sample]],
    ) -> None:
        """`sample` calls the default model for a server."""
        self._front_end = front_end
        self._processes = processes
        self._sample = sample
        self.servers: McpServers | None = None
        """None until a server is configured."""

    @property
    def view(self) -> ServerView:
        """The servers, or none."""
        from pygent_ls.extensions.mcp.server import NoServers

        return self.servers or NoServers()

    def apply(self, settings: Settings, folder: Path) -> None:
        """Start the servers of the settings in that folder, and end those that are no longer in them. Returns at once.

        In a restricted workspace none is started: it would run in a folder whose files it may execute.
        """
        if self._front_end.is_restricted or (self.servers is None and not settings.mcp_servers):
            return
        if self.servers is None:
            from pygent_ls.extensions.mcp.server import McpHost
            from pygent_ls.extensions.mcp.servers import McpServers

            self.servers = McpServers(
                McpHost(
                    run=self._processes.serve,
                    find=self._processes.find,
                    folders=lambda: self._front_end.workspace.folders,
                    tell=self._front_end.tell,
                    ask=self._front_end.questioner.ask,
                    sample=self._sample,
                    tokens=server_tokens(),
                    open_url=self._front_end.open_url,
                    on_change=self._front_end.on_mcp_change,
                )
            )
        self.servers.apply(mcp_servers_of(settings, folder))

    async def until_started(self) -> None:
        """Wait as long as the front end wants for servers that start."""
        if self.servers is not None and self._front_end.waits_for_servers_s:
            await self.servers.until_started(self._front_end.waits_for_servers_s)

    async def close(self) -> None:
        """End the servers."""
        if self.servers is not None:
            await self.servers.close()
