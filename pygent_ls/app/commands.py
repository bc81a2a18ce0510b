"""Settings and command folders for commands, read when they are needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pygent_ls.config.live import LiveSettings
from pygent_ls.config.sources import user_file

if TYPE_CHECKING:
    from pygent_ls.agent.ports.workspace import Workspace
    from pygent_ls.config.admin import AdminSettings
    from pygent_ls.editors.ports import Core, FrontEnd
    from pygent_ls.extensions.acp.programs import AgentCommand
    from pygent_ls.extensions.commands import OwnCommands
    from pygent_ls.sessions.commands.ports import CommandFacts


async def aliases_of(live: LiveSettings, folder: Callable[[], Path | None]) -> Mapping[str, str]:
    """Return the setting `aliases`; a workspace's own only if its folder is trusted already. Never asks the user."""
    taken = await asyncio.to_thread(live.take, folder())
    return taken.loaded.settings.aliases


def command_facts(
    live: LiveSettings,
    front_end: FrontEnd,
    core: Core,
    folder: Callable[[], Path | None],
    agent_commands: Callable[[], Sequence[AgentCommand]],
    admin: Callable[[], AdminSettings],
) -> CommandFacts:
    """Return what the commands of a front end's sessions need to know; `folder` returns the one whose settings
    apply."""
    from pygent_ls.sessions.commands.ports import CommandFacts

    workspace = front_end.workspace
    return CommandFacts(
        models=core.models,
        aliases=partial(aliases_of, live, folder),
        mcp=lambda: core.mcp,
        voice=lambda: core.voice,
        worktrees=core.worktrees,
        agent_commands=agent_commands,
        skills=core.skills,
        own=partial(own_commands, workspace, admin, is_restricted=front_end.is_restricted),
    )


def own_commands(
    workspace: Workspace, admin: Callable[[], AdminSettings], *, is_restricted: bool = False
) -> Sequence[OwnCommands]:
    """Return the command folders: the user's first, then the workspace folders' in order unless it is restricted; none
    while the administrator does not allow any."""
    from pygent_ls.extensions.commands import OwnCommands

    if admin().is_exclusive("commands"):
        return ()
    users = OwnCommands(folder=user_file().parent / "commands", source="user")
    of_workspace = [
        OwnCommands(folder=folder / ".pygent" / "commands", source="workspace") for folder in workspace.folders
    ]
    return [users] if is_restricted else [users, *of_workspace]
