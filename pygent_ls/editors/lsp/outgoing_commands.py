"""What goes out about commands: slash commands, and those of `workspace/executeCommand`; part of `outgoing`."""

from __future__ import annotations

from typing_extensions import TypedDict

from pygent_ls.sessions.commands.command import CommandSource


class CommandOut(TypedDict):
    """A prompt that the session answers itself, or has the model answer; `name` is without the slash, `takes` says what
    stands behind it."""

    name: str
    description: str
    source: CommandSource
    takes: str


class CommandsOut(TypedDict):
    """The result of `pygent/commands/list`."""

    commands: list[CommandOut]


class CommandTurnOut(TypedDict):
    """The turn that a command of `workspace/executeCommand` has started, or queued."""

    sessionId: str
    turnId: str


class SentChatOut(TypedDict):
    """The turn that `pygent.sendChat`, `pygent.implement` or `pygent.ask` has started. Nulls where there was nothing to
    send, which the user was told, or no prompt, for which the chat document is shown."""

    sessionId: str | None
    turnId: str | None


class SetupOut(TypedDict):
    """The result of `pygent.setup`: whether the user is being asked. What comes of it is a `window/showMessage`."""

    started: bool


class OpenedChatOut(TypedDict):
    """The chat document that `pygent.openChat` shows, or says the path of."""

    uri: str
