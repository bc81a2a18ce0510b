"""What goes out about slash commands, part of `outgoing`."""

from __future__ import annotations

from typing_extensions import TypedDict

from pygent_ls.sessions.slash_commands import CommandSource


class CommandOut(TypedDict):
    """A prompt that the session answers itself; `name` is without the slash."""

    name: str
    description: str
    source: CommandSource


class CommandsOut(TypedDict):
    """The result of `pygent/commands/list`."""

    commands: list[CommandOut]
