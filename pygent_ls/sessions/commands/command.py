"""Definition of a command: its name, its arguments, and what answers it: code, or a prompt for a model."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec import Struct, field

from pygent_ls.errors import SessionError
from pygent_ls.sessions.turns.command_turn import ModelPrompt

if TYPE_CHECKING:
    from pygent_ls.sessions.commands.ports import CommandFacts, SessionShelf
    from pygent_ls.sessions.turns.ports import SessionOfCommands

CommandSource = Literal["built-in", "user", "workspace", "alias", "mcp", "agent"]
"""Origin of a command."""

Value = TypeVar("Value")


class WordChoice(Struct, frozen=True, kw_only=True):
    """A word that may follow in a command, and its meaning."""

    word: str
    detail: str = ""


class CommandCall(Struct, frozen=True, kw_only=True):
    """A command as it was entered, and what it acts on."""

    session: SessionOfCommands
    shelf: SessionShelf
    facts: CommandFacts
    listing: CommandList
    text: str = ""
    """Text after the name, unchanged except that white space around it is removed."""

    @property
    def words(self) -> tuple[str, ...]:
        """Words of the text; quotes group words. An unclosed quote is ordinary text."""
        try:
            return tuple(shlex.split(self.text, posix=True))
        except ValueError:
            return tuple(self.text.split())


Run = Callable[[CommandCall], Awaitable[str]]
"""Returns the text for the user, as Markdown; raises `SessionError`, `ModelError` or `ToolError`, all for the user."""

Prompt = Callable[[CommandCall], Awaitable[ModelPrompt | None]]
"""Returns the prompt for a model; None if the command answers itself. Raises like `Run`."""

Complete = Callable[[CommandCall], Awaitable[Sequence[WordChoice]]]
"""Returns the candidates for the next word; the words before it are the call's."""


class Command(Struct, frozen=True, kw_only=True):
    """A command; its name is without the slash."""

    name: str
    description: str
    takes: str = ""
    """Arguments as the usage shows them, such as `[NAME]`; empty if it takes none."""
    run: Run | None = None
    prompt: Prompt | None = None
    """At least one of `run`, `prompt` and `parts` is set. `prompt` is tried before `run`."""
    parts: tuple[Command, ...] = ()
    """Subcommands. Without an argument, the first one runs. If `run` is set, too, it answers other arguments."""
    complete: Complete | None = None
    takes_files: bool = False
    """Whether its arguments are files of the workspace."""
    can_be_cancelled: bool = False
    """Whether its answer may take a while. If it is cancelled, nothing has changed."""
    source: CommandSource = "built-in"

    @property
    def usages(self) -> list[str]:
        """Each way to write the command, without the slash."""
        own = [f"{self.name} {self.takes}".rstrip()] if self.run is not None or not self.parts else []
        return [*own, *(f"{self.name} {usage}" for part in self.parts for usage in part.usages)]


class CommandList(Struct, frozen=True, kw_only=True):
    """All current commands by name, in the order in which they are listed."""

    commands: Mapping[str, Command] = field(default_factory=dict[str, Command])
    problems: tuple[str, ...] = ()
    """Commands that were left out, and why."""


class UnknownCommandError(SessionError):
    """The prompt looks like a command but is not one. The message lists the commands."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="unknown_command")


class UsageError(SessionError):
    """The arguments are not those that the command takes."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="invalid_arguments")


def first_word(text: str) -> tuple[str, str]:
    """Return the first word and the text after it, without the white space between them; empty strings if missing."""
    first, *rest = text.split(maxsplit=1) or [""]
    return first, "".join(rest)


def usage_of(command: Command, path: str = "") -> str:
    """Return the command's usage for the user; `path` is the name of its parent command."""
    prefix = f"{path} " if path else ""
    return "Usage: " + ", ".join(f"`/{prefix}{usage}`" for usage in command.usages)


def one_of(call: CommandCall, what: str, known: Mapping[str, Value]) -> Value:
    """Return the value that the only word of a call names. Raises `UsageError`, which lists the known names."""
    if len(call.words) == 1 and call.words[0] in known:
        return known[call.words[0]]
    listed = ", ".join(f"`{name}`" for name in known) or "none"
    raise UsageError(f"{what}: {call.text!r} must be one of {listed}.")
