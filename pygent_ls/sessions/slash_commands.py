"""Prompts that are commands: `/undo` and its like are answered by the session itself, and no model is asked."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from pygent_ls.agent.events import AgentEvent, Finished, StopReason, Text, TextDelta, TurnStarted
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.turn import TurnResult
from pygent_ls.errors import ModelError, SessionError
from pygent_ls.sessions.checkpoints import Checkpoint, FileDiff
from pygent_ls.sessions.rewind import Restored

MAX_NAMED = 20
"""Files that an answer names for one reason; more are counted."""

CommandSource = Literal["built-in"]
"""Where a command comes from."""


class CommandSession(Protocol):
    """What the commands need of the session that they are given in. The methods raise `SessionError`."""

    @property
    def checkpoints(self) -> Sequence[Checkpoint]:
        """What can be gone back to, the oldest first."""
        ...

    def shown(self, path: Path) -> str:
        """The path as a person reads it."""
        ...

    async def take_back(self) -> Restored:
        """Take back the last turn, from within a turn of this session."""
        ...

    async def bring_again(self) -> Restored:
        """Take back what took back the last turn, likewise."""
        ...

    async def diff(self, checkpoint: Checkpoint) -> list[FileDiff]:
        """What differs from the checkpoint to now."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommand:
    """A command by its name, without the slash."""

    name: str
    description: str
    run: Callable[[CommandSession], Awaitable[str]]
    """Returns what the user reads, as Markdown; raises `SessionError`."""
    source: CommandSource = "built-in"


class UnknownCommandError(SessionError):
    """The prompt looks like a command and is none; the text lists those that there are."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="unknown_command")


def command_in(prompt: str) -> SlashCommand | UnknownCommandError | None:
    """The command that the whole prompt is, or the error where it looks like one that there is not; None for what a
    model is to read: prose, also about `/tmp`, and paths."""
    text = prompt.strip()
    found = re.fullmatch(r"/([A-Za-z][\w-]*)(\s.*)?", text, re.DOTALL)
    if found is None:
        return None
    name, more = found[1].lower(), (found[2] or "").strip()
    known = COMMANDS.get(name)
    if known is not None:
        return UnknownCommandError(f"`/{name}` stands alone: it takes nothing behind it.") if more else known
    if more or os.path.lexists(text):
        return None
    near = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f" Did you mean `/{near[0]}`?" if near else ""
    return UnknownCommandError(f"There is no command `/{name}`.{hint}\n\n{_list()}")


@dataclass(kw_only=True)
class CommandTurn:
    """A turn that is a command: its events are those of any turn, and its history stays out of the conversation."""

    session: CommandSession
    command: SlashCommand | UnknownCommandError
    beginning: TurnStarted
    item_id: str
    sink: Callable[[AgentEvent], Awaitable[None]]
    closing: bool = False
    """It cannot be cancelled: what it does is short, and half of it is worse than the whole."""
    usage: Usage = field(default_factory=Usage)

    async def run(self) -> TurnResult:
        """Run to the end; a `SessionError` is what the user reads."""
        self.closing = True
        stop: StopReason = "error"
        error: ModelError | None = None
        text = ""
        try:
            await self.sink(self.beginning)
            try:
                text = await self._answer()
                stop = "end_turn"
            except SessionError as problem:
                text = str(problem)
                error = ModelError(text.partition("\n")[0], type="invalid_request")
            await self.sink(TextDelta(item_id=self.item_id, content=text))
            await self.sink(Text(item_id=self.item_id, content=text))
        finally:
            await self.sink(Finished(stop_reason=stop, usage=self.usage, files_changed=()))
        return TurnResult(stop_reason=stop, text=text, usage=self.usage, iterations=0, files_changed=(), error=error)

    async def _answer(self) -> str:
        if isinstance(self.command, UnknownCommandError):
            raise self.command
        return await self.command.run(self.session)


def what_went_back(done: Restored, shown: Callable[[Path], str]) -> str:
    """What became of the files, for a person: what was brought back, and what was not and why."""
    if done.was_not_kept:
        lines = ["The files could not be kept before this turn, so what it changed in them stays."]
    elif done.restored:
        lines = [f"Brought back: {_named([shown(path) for path in done.restored])}."]
    else:
        lines = ["No file had to be brought back." if not done.skipped else "No file was brought back."]
    reasons: dict[str, list[str]] = {}
    for each in done.skipped:
        reasons.setdefault(each.reason, []).append(shown(each.path))
    lines += [f"Left alone: {_named(names)}: {reason}." for reason, names in reasons.items()]
    return "\n".join(lines)


def _named(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    listed = ", ".join(f"`{name}`" for name in names[:MAX_NAMED])
    return f"{listed} and {more} more" if more > 0 else listed


def _list() -> str:
    lines = [f"- `/{each.name}`: {each.description}" for each in COMMANDS.values()]
    return "\n".join(["The commands are:", *lines])


async def _help(session: CommandSession) -> str:
    return _list()


async def _undo(session: CommandSession) -> str:
    done = await session.take_back()
    return f"The last turn is taken back.\n{what_went_back(done, session.shown)}\n`/redo` brings it again."


async def _redo(session: CommandSession) -> str:
    done = await session.bring_again()
    return f"The turn is there again.\n{what_went_back(done, session.shown)}"


async def _checkpoints(session: CommandSession) -> str:
    points = session.checkpoints
    if not points:
        return "There is no checkpoint yet: one is made before the first change of a turn, and around each command."
    lines = [f"- {each.created_at:%H:%M:%S} UTC `{each.id}` {each.label}" for each in points]
    return "\n".join(["The oldest first:", *lines])


async def _diff(session: CommandSession) -> str:
    points = [each for each in session.checkpoints if each.messages is None]
    if not points:
        raise SessionError("No turn of this session has changed a file.", kind="no_checkpoints")
    first = next(each for each in points if each.turn_id == points[-1].turn_id)
    patches = [each.patch for each in await session.diff(first)]
    if not patches:
        return "Nothing differs from what was there before the last turn that changed files."
    text = "".join(patches)
    fence = "`" * max(3, max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"Since the last turn that changed files began:\n\n{fence}diff\n{text.rstrip()}\n{fence}"


COMMANDS: Mapping[str, SlashCommand] = {
    each.name: each
    for each in (
        SlashCommand(name="undo", description="take back the last turn, its files and its words", run=_undo),
        SlashCommand(name="redo", description="bring again what /undo took back", run=_redo),
        SlashCommand(name="diff", description="what has changed since the last turn that changed files", run=_diff),
        SlashCommand(name="checkpoints", description="the states that can be gone back to", run=_checkpoints),
        SlashCommand(name="help", description="these commands", run=_help),
    )
}
"""By name, in the order in which they are listed."""
