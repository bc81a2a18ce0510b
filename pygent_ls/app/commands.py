"""Settings and command folders for commands, read when they are needed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from pygent_ls.config.live import LiveSettings
from pygent_ls.config.settings import shown_line
from pygent_ls.config.sources import user_file

if TYPE_CHECKING:
    from pygent_ls.agent.ports.workspace import Workspace
    from pygent_ls.editors.ports import FrontEnd
    from pygent_ls.extensions.commands import OwnCommands
    from pygent_ls.llm.model_list import ListedModel
    from pygent_ls.sessions.commands.ports import CommandFacts


async def aliases_of(live: LiveSettings, workspace: Workspace) -> Mapping[str, str]:
    """Return the setting `aliases`; a workspace's own only if its folder is trusted already. Never asks the user."""
    folders = workspace.folders
    taken = await asyncio.to_thread(live.take, folders[0] if folders else None)
    return taken.loaded.settings.aliases


async def mcp_servers_of(live: LiveSettings, workspace: Workspace) -> Mapping[str, str]:
    """Return the names in the setting `mcp_servers`, each with its layer; this version uses nothing else of it."""
    folders = workspace.folders
    taken = await asyncio.to_thread(live.take, folders[0] if folders else None)
    found: dict[str, str] = {}
    for layer in taken.layers:
        given = layer.unknown.get(layer.spell("mcp_servers"))
        if isinstance(given, Mapping):
            found |= {shown_line(str(name)): layer.name for name in cast("Mapping[str, object]", given)}
    return found


def command_facts(
    live: LiveSettings, front_end: FrontEnd, models: Callable[[], Awaitable[Sequence[ListedModel]]]
) -> CommandFacts:
    """Return what the commands of a front end's sessions need to know."""
    from pygent_ls.sessions.commands.ports import CommandFacts

    workspace = front_end.workspace
    return CommandFacts(
        models=models,
        aliases=partial(aliases_of, live, workspace),
        mcp_servers=partial(mcp_servers_of, live, workspace),
        own=partial(own_commands, workspace, is_restricted=front_end.is_restricted),
    )


def own_commands(workspace: Workspace, *, is_restricted: bool = False) -> Sequence[OwnCommands]:
    """Return the command folders: the user's first, then the workspace folders' in order unless it is restricted."""
    from pygent_ls.extensions.commands import OwnCommands

    users = OwnCommands(folder=user_file().parent / "commands", source="user")
    of_workspace = [
        OwnCommands(folder=folder / ".pygent" / "commands", source="workspace") for folder in workspace.folders
    ]
    return [users] if is_restricted else [users, *of_workspace]
