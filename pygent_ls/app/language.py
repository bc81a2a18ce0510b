"""Language features of one front end: what its editor answers, then the language servers of the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygent_ls.app.factories import language_servers_of

if TYPE_CHECKING:  # imported when they are needed
    from pygent_ls.agent.ports.language_features import LanguageFeatures
    from pygent_ls.config.settings import Settings
    from pygent_ls.editors.ports import FrontEnd
    from pygent_ls.extensions.language_servers.servers import LanguageServers
    from pygent_ls.workspace.processes.local_processes import LocalProcesses


class LanguageSupport:
    """Builds the features, and owns the language servers."""

    def __init__(self, front_end: FrontEnd, processes: LocalProcesses) -> None:
        self._front_end = front_end
        self._processes = processes
        self._servers: LanguageServers | None = None
        """None until a server is configured."""

    @property
    def features(self) -> LanguageFeatures:
        """What answers about code. What no server answers, the tools find by syntax."""
        from pygent_ls.agent.ports.language_features import NoLanguageFeatures
        from pygent_ls.extensions.language_servers.features import LspFeatures

        sources = [*self._front_end.language, *([self._servers] if self._servers is not None else [])]
        return LspFeatures(sources, self._front_end.workspace) if sources else NoLanguageFeatures()

    def apply(self, settings: Settings) -> None:
        """Take the language servers of the settings. None is started before it is needed, nor in a restricted
        workspace, whose files it may execute."""
        specs = [] if self._front_end.is_restricted else language_servers_of(settings)
        if self._servers is None:
            if not specs:
                return
            from pygent_ls.extensions.language_servers.servers import LanguageServers
            from pygent_ls.extensions.language_servers.specs import LanguageServerHost

            host = LanguageServerHost(
                run=self._processes.serve,
                find=self._processes.find,
                folders=lambda: self._front_end.workspace.folders,
                tell=self._front_end.tell,
            )
            self._servers = LanguageServers(host, self._front_end.workspace)
        self._servers.apply(specs)

    async def close(self) -> None:
        """End the language servers."""
        if self._servers is not None:
            await self._servers.close()
