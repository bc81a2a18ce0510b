"""Commands of `workspace/executeCommand`, and `pygent/commands/list`: parameters and results."""

from typing import TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Params
from pygent_ls.sessions.commands.command import CommandSource


class CommandSession(Params, frozen=True, kw_only=True):
    """An argument of a `workspace/executeCommand` command, in any position, that selects the command's session."""

    session_id: str


class CommandOut(TypedDict):
    """A slash command, which the session answers itself or passes to the model. `name` is without the slash; `takes`
    describes the arguments."""

    name: str
    description: str
    source: CommandSource
    takes: str


class CommandsOut(TypedDict):
    """The result of `pygent/commands/list`."""

    commands: list[CommandOut]


class CommandTurnOut(TypedDict):
    """The turn that a command of `workspace/executeCommand` has started or queued."""

    sessionId: str
    turnId: str


class SentChatOut(TypedDict):
    """The turn that `pygent.sendChat`, `pygent.implement` or `pygent.ask` has started. Both fields are null if there
    was nothing to send, which a message tells the user, or if no prompt was given, for which the chat document is
    shown."""

    sessionId: str | None
    turnId: str | None


class ReviewedOut(TypedDict):
    """The result of the commands of the review: how many changes are left to review in all files."""

    left: int


class SetupOut(TypedDict):
    """The result of `pygent.setup`: whether the user is being asked. The outcome is reported by
    `window/showMessage`."""

    started: bool


class OpenedChatOut(TypedDict):
    """The chat document that `pygent.openChat` shows, or whose path it reports."""

    uri: str
