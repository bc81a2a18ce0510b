"""Objects that the agents of one process share across front ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pygent_ls.app.factories import programs_of, sandbox_options
from pygent_ls.app.keys import saved_keys
from pygent_ls.app.storage import SessionStorage
from pygent_ls.config.settings import Settings
from pygent_ls.config.sources import state_folder, user_file
from pygent_ls.llm.catalog.openrouter import ModelCatalog
from pygent_ls.llm.keys.editor_keys import EditorKeys
from pygent_ls.llm.resources import ModelResources
from pygent_ls.observability.telemetry import AppTelemetry, options_of
from pygent_ls.secrets.log_mask import hide
from pygent_ls.sessions.checkpoints.write_log import WriteLog
from pygent_ls.sessions.lifecycle.live_registry import LiveSessions
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from pygent_ls.agent.ports.processes import Processes


class Shared:
    """Live sessions, child processes and model connections: one object per process.

    Editor-specific objects are not shared: settings, the sandbox, which depends on the editor's folders, and cached
    data about the editor's documents.
    """

    def __init__(self, *, socket: Path | None = None) -> None:
        """Create the shared objects. Sandboxed commands cannot reach the daemon's `socket`, which would let them answer
        for the user.
        """
        self.state_folder = state_folder()
        telemetry = options_of(os.environ)
        self.telemetry = AppTelemetry(telemetry)
        self.live = LiveSessions()
        self.write_log = WriteLog()
        self.kept = SessionStorage(self.state_folder)
        self.keys = saved_keys()
        self.editor_keys = EditorKeys(os.environ)
        self._models = ModelResources(
            saved_keys=self.keys,
            catalog=ModelCatalog(self.state_folder / "models"),
            sends_trace_context=telemetry.traces,
        )
        self._processes = LocalProcesses()
        self._own = (self.state_folder, user_file().parent, *([socket] if socket else []))

    def processes(
        self, settings: Settings, folders: Callable[[], Sequence[Path]], keys: frozenset[str]
    ) -> tuple[LocalProcesses, Sandbox]:
        """Return one editor's processes and sandbox for these folders; `keys` are not passed to processes."""
        skills = user_file().parent / "skills"
        sandbox = Sandbox(sandbox_options(settings), folders, own=self._own, skills=skills)
        return self._processes.beside(sandbox, hidden_variables=keys), sandbox

    def models(self, settings: Settings, processes: Processes) -> ModelResources:
        """Return the resources with which one editor's models are called."""
        return replace(self._models, cli=programs_of(settings, processes, self.state_folder))

    def take_keys(self, keys: Mapping[str, str | None]) -> None:
        """Use an editor's keys from now on, as in `EditorKeys.change`. They are masked and not passed to programs."""
        self.editor_keys.change(keys)
        hide(self.editor_keys.known)
        self._processes.hide(self.editor_keys.variables)

    @property
    def known_keys(self) -> tuple[str, ...]:
        """Return the keys read so far, for masking."""
        return (*self.keys.known, *self.editor_keys.known)

    @property
    def keys_version(self) -> object:
        """Return a value that changes whenever the keys do."""
        return self.keys.version, self.editor_keys.version

    def refresh_keys(self) -> Sequence[str]:
        """Read new saved keys and mask them from now on; return the problems with them. Blocking."""
        self.keys.refresh()
        hide(self.keys.known)
        return self.keys.problems

    async def close(self) -> None:
        """Cancel all turns and wait until they have ended."""
        await self.live.close()
        await self._models.close()
        await self.telemetry.close()

    def kill_processes(self) -> None:
        """Kill all child process groups immediately."""
        self._processes.kill_all()
