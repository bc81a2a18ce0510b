"""The settings, read, from which an agent is built on demand: `initialize` needs no more than these."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygent_ls.app.defaults import model_and_reason
from pygent_ls.app.keys import saved_keys
from pygent_ls.app.settings_layers import SettingsLayers
from pygent_ls.config.live import NOT_WRONG, LiveSettings
from pygent_ls.config.sources import CommandLine, state_folder, user_file
from pygent_ls.config.trust import TrustStore

if TYPE_CHECKING:  # imported when the agent is built
    from pygent_ls.app.application import Agent
    from pygent_ls.app.shared import Shared
    from pygent_ls.config.admin_file import AdminFile
    from pygent_ls.editors.ports import FrontEnd


class Application(SettingsLayers, frozen=True):
    """Current settings with the origin of each value; builds the agent on demand."""

    @property
    def completes(self) -> bool:
        """Implement `Blueprint`."""
        return bool(self.taken.loaded.settings.completion.model)

    @property
    def problems(self) -> Sequence[str]:
        """Return the problems found in the settings, one line each."""
        return [problem.text for problem in self.taken.loaded.problems if problem.kind not in NOT_WRONG]

    def build(self, front_end: FrontEnd) -> Agent:
        """Build the agent for a front end."""
        from pygent_ls.app.application import Agent

        return Agent(self, front_end)


def read_settings(
    editor_options: Any,
    folders: Sequence[Path],
    command_line: CommandLine | None = None,
    *,
    shared: Shared | None = None,
    admin_file: AdminFile | None = None,
) -> Application:
    """Read every layer. Never raises: errors are reported as problems. `shared` is passed on to the agent, `admin_file`
    to `LiveSettings`."""
    trust = TrustStore(state_folder())
    live = LiveSettings(
        trust,
        user_file(),
        environment=os.environ,
        editor_options=editor_options,
        command_line=command_line or CommandLine(),
        admin_file=admin_file,
    )
    taken = live.take(folders[0] if folders else None)
    keys = None if taken.loaded.settings.model else saved_keys()  # skips an import that `initialize` would wait for
    model, reason = model_and_reason(taken.loaded, keys)
    return Application(live=live, taken=taken, trust=trust, model=model, model_reason=reason, shared=shared)
