"""Ends of a session's background commands and subagents: who is told, and what is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.events import Notice
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.processes import BackgroundCommand
from pygent_ls.agent.truncation import cut
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.errors import ModelError, SessionError
from pygent_ls.sessions.event_stream import NoSubscriber, Subscriber
from pygent_ls.sessions.journal.records import AgentNote
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.session_parts import ActiveParts
from pygent_ls.sessions.turns.turn import RunningTurn

MAX_COMMAND_CHARS = 80
"""Maximum number of characters of a command line shown in a notice."""

MAX_WAKES = 3
"""Maximum number of turns in a row that reports start, without a prompt of the user between them."""

WAKE = (
    "[Not from the user: a subagent in the background has ended, and its report is attached. Continue the work that "
    "waited for it, or tell the user what it found. If nothing is left to do, say so in a sentence.]"
)

INTERRUPTED = (
    "The background agent {name} ({task}) was interrupted because its session ended. It made no report, and changes "
    "that it had made until then remain."
)

_WAS = {True: "was ", False: ""}


class ReportedSession(Protocol):
    """What reports need of their session."""

    id: str
    usage: Usage

    @property
    def running(self) -> RunningTurn | None:
        """Turn that is running."""
        ...

    @property
    def is_idle(self) -> bool: ...

    def start_turn(self, request: TurnRequest, subscriber: Subscriber) -> RunningTurn:
        """Start a turn. Raises `ModelError`, `SessionError`."""
        ...

    def keep(self) -> None:
        """Write what is new to the journal."""
        ...


class BackgroundReports:
    """Tells the user and the model of what ended in the background of one session, and owns the tasks for that."""

    def __init__(self, session: ReportedSession, active: ActiveParts, recalled: Sequence[AgentNote]) -> None:
        """`recalled` are the subagents of an earlier daemon whose reports the model has not read."""
        self._session = session
        self._active = active
        self.n_wakes = 0
        """Number of turns that reports have started since the user's last prompt."""
        self.is_closing = False
        """Whether the session ends: reports start no turn any more."""
        self._remarks: list[str] = []
        """Texts that the model is given when the next turn begins."""
        self._waiting: dict[str, AgentNote] = {}
        """Subagents that run, or whose reports wait for the model."""
        self._given: set[str] = set()
        """Names of those whose reports were given to the running turn."""
        self._telling: set[asyncio.Task[None]] = set()
        self._outlived: list[tuple[RunningTurn, Usage]] = []
        """Ended turns with running subagents, each with its usage as far as it is counted in the session's."""
        for each in recalled:
            said = INTERRUPTED.format(name=each.name, task=each.task) if each.report is None else each.report
            self._remarks.append(said)
            self._waiting[f"{each.name} of an earlier daemon"] = replace(each, report=said)

    @property
    def notes(self) -> tuple[AgentNote, ...]:
        """Subagents that the model has to be told of after a restart."""
        return tuple(self._waiting.values())

    def take(self) -> Sequence[str]:
        """Return the texts for the turn that begins."""
        taken, self._remarks = self._remarks, []
        self._waiting = {name: each for name, each in self._waiting.items() if each.report is None}
        return taken

    # Ends

    def listen(self) -> None:
        """Begin to follow what runs in the background."""
        background = self._active.services.environment.processes.background
        background.listen(self._session.id, self)

    def changed(self) -> None:
        """Implement `BackgroundListener`."""
        jobs = self._active.services.environment.processes.background.running_jobs(self._session.id)
        running = {each.name: AgentNote(name=each.name, task=each.command) for each in jobs}
        reported = {name: each for name, each in self._waiting.items() if each.report is not None}
        self._waiting = {**reported, **running}
        self.count_usage()
        self._session.keep()
        self._active.parts.on_change(self._session.id, "background")

    def end_read(self, name: str) -> None:
        """Implement `BackgroundListener`: what a call returns need not be said again."""
        turn = self._turn
        note = self._waiting.get(name)
        if turn is not None and note is not None and note.report is not None and turn.withdraw(note.report):
            del self._waiting[name]
            self._given.discard(name)

    def ended(self, command: BackgroundCommand) -> None:
        """Implement `BackgroundListener`: tell the user and the model."""
        line = one_line(command.command, MAX_COMMAND_CHARS)
        what = "command" if command.kind == "command" else "agent"
        told = f"The background {what} {command.name} ({line}) {_WAS[command.stopped_by_user]}{command.ending}."
        said = f"{told} Its report:\n{self._shortened(command)}" if command.report else told
        turn = self._turn
        if turn is not None and self._is_given(turn, command, said):
            telling = asyncio.create_task(turn.tell(Notice(content=told)))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)
            return
        self._remarks.append(said)
        if command.kind == "agent":
            self._waiting[command.name] = AgentNote(name=command.name, task=line, report=said)
        self._active.parts.tell(told)
        asyncio.get_running_loop().call_soon(self.wake)

    @property
    def _turn(self) -> Turn | None:
        """Turn of the loop that is running."""
        running = self._session.running
        return running.turn if running is not None and isinstance(running.turn, Turn) else None

    def _is_given(self, turn: Turn, command: BackgroundCommand, said: str) -> bool:
        """Give a turn what is said of an end, unless one of its calls returns it; return False if it is too late."""
        if command.kind == "command":
            return turn.remark(said)
        if command.was_read:
            return not turn.closing
        if not turn.report(said):
            return False
        self._waiting[command.name] = AgentNote(name=command.name, task=command.command, report=said)
        self._given.add(command.name)
        return True

    def _shortened(self, command: BackgroundCommand) -> str:
        most = self._active.services.environment.max_tool_result_chars
        return cut(command.report, f"report of {command.name}", most)[0]

    def wake(self) -> None:
        """Start a turn for the reports that wait, if the settings say so and nothing runs in the session."""
        is_wanted = self._active.limits.wakes and self.n_wakes < MAX_WAKES
        has_reports = any(each.report is not None for each in self._waiting.values())
        if self.is_closing or not (is_wanted and has_reports and self._session.is_idle):
            return
        n_wakes = self.n_wakes
        try:
            self._session.start_turn(TurnRequest(parts=(WAKE,), takes_commands=False), NoSubscriber())
        except (ModelError, SessionError) as error:
            self._active.parts.tell(f"The report of a background agent waits for your next prompt: {error}")
            return
        self.n_wakes = n_wakes + 1

    # Turns

    def turn_ended(self, ended: RunningTurn) -> None:
        """Note that a turn has ended, whose usage is counted. Reports that it was given are in the conversation."""
        for name in self._given:
            self._waiting.pop(name, None)
        self._given.clear()
        if isinstance(ended.turn, Turn) and ended.turn.has_subagents:
            self._outlived.append((ended, ended.turn.usage))

    def count_usage(self) -> None:
        """Count what subagents have used since the ends of their turns."""
        session, left = self._session, list[tuple[RunningTurn, Usage]]()
        for turn, counted in self._outlived:
            assert isinstance(turn.turn, Turn)
            usage = turn.turn.usage
            before = session.usage
            session.usage = before.beside(usage.since(counted))
            if turn.turn.has_subagents:
                left.append((turn, usage))
        self._outlived = left

    async def close(self) -> None:
        """End everything that runs in the background and wait for it."""
        await self._active.services.environment.processes.background.end_all(self._session.id)
        self.count_usage()
        await asyncio.gather(*self._telling, return_exceptions=True)
