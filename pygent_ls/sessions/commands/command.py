"""What a command is: its name, what may stand behind it, and what it answers, or has a model do."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

from pygent_ls.errors import SessionError

if TYPE_CHECKING:
    from pygent_ls.sessions.commands.ports import CommandFacts, CommandSession, SessionShelf

CommandSource = Literal["built-in", "user", "workspace", "alias"]
"""Where a command comes from."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A word that may stand in a place of a command, and what it means."""

    word: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrompt:
    """A prompt that a command makes for the model; None means the session's own."""

    text: str
    agent: str | None = None
    model: str | None = None
    tools: tuple[str, ...] | None = None
    """The only tools that the turn is offered."""
    notices: tuple[str, ...] = ()
    """For the user, when the turn begins."""
    own_words: str | None = None
    """What of the text the user wrote themselves, where the rest may choose no agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A command as it was given, and what it acts on."""

    session: CommandSession
    shelf: SessionShelf
    facts: CommandFacts
    listing: Listing
    text: str = ""
    """What stands behind the name, as it was written, without white space around it."""

    @property
    def words(self) -> tuple[str, ...]:
        """The text in words; quotes hold a word together. One that is not closed is text like any other."""
        try:
            return tuple(shlex.split(self.text, posix=True))
        except ValueError:
            return tuple(self.text.split())


Run = Callable[[Call], Awaitable[str]]
"""Returns what the user reads, as Markdown; raises `SessionError`, `ModelError` or `ToolError`, all for the user."""

Prompt = Callable[[Call], Awaitable[ModelPrompt | None]]
"""Returns what a model shall do; None where the command answers itself. Raises as `Run` does."""

Complete = Callable[[Call], Awaitable[Sequence[Choice]]]
"""What may stand where the next word is to be; the words before it are the call's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command by its name, without the slash."""

    name: str
    description: str
    takes: str = ""
    """What stands behind the name, as the usage shows it: `[NAME]`; empty where nothing may."""
    run: Run | None = None
    prompt: Prompt | None = None
    """One of these two is there at least, or `parts` are; `prompt` is asked first."""
    parts: tuple[Command, ...] = ()
    """The words of which one may stand first. Without any, the first part is meant."""
    complete: Complete | None = None
    takes_files: bool = False
    """Whether its words are files of the workspace."""
    can_be_cancelled: bool = False
    """Its answer takes a while, and when it is cancelled nothing has happened."""
    source: CommandSource = "built-in"

    @property
    def usages(self) -> list[str]:
        """Each way to write it, without the slash."""
        if not self.parts:
            return [f"{self.name} {self.takes}".rstrip()]
        return [f"{self.name} {usage}" for part in self.parts for usage in part.usages]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """All commands as they are now, by name, in the order in which they are listed."""

    commands: Mapping[str, Command] = field(default_factory=dict[str, Command])
    problems: tuple[str, ...] = ()
    """What was left out, and why."""


class UnknownCommandError(SessionError):
    """The prompt looks like a command and is none; the text lists those that there are."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="unknown_command")


class UsageError(SessionError):
    """What stands behind a command's name is not what it takes."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="invalid_arguments")


def first_word(text: str) -> tuple[str, str]:
    """The first word, and what stands behind it, without the white space between them; empty where there is none."""
    first, *rest = text.split(maxsplit=1) or [""]
    return first, "".join(rest)


def usage_of(command: Command, path: str = "") -> str:
    """How the command is written, for a person; `path` is the name of the command that it is a part of."""
    prefix = f"{path} " if path else ""
    return "Usage: " + ", ".join(f"`/{prefix}{usage}`" for usage in command.usages)


def one_of(call: Call, what: str, known: Mapping[str, Value]) -> Value:
    """What the only word of a call names. Raises `UsageError` that lists what it could be."""
    if len(call.words) == 1 and call.words[0] in known:
        return known[call.words[0]]
    listed = ", ".join(f"`{name}`" for name in known) or "none"
    raise UsageError(f"{what}: {call.text!r} must be one of {listed}.")
