"""View of a script's turns: all lines or only results on one stream, messages for the user on another."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pygent_ls.agent import events as ev
from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.scripts.output_lines import InitLine, Line
from pygent_ls.editors.scripts.results import Ended, failed_line, result_line
from pygent_ls.editors.scripts.transcript import Transcript
from pygent_ls.editors.scripts.writer import LineWriter
from pygent_ls.editors.terminal.text import Colour
from pygent_ls.editors.terminal.view import TerminalView
from pygent_ls.editors.turn_findings import TurnFindings
from pygent_ls.sessions.event_stream import SessionEvent

DescribeTurn = Callable[[ev.TurnStarted], InitLine]


@dataclass(kw_only=True)
class ScriptView:
    """A `Subscriber` for one turn after another."""

    writer: LineWriter
    status: TerminalView
    """View that shows failures to the user."""
    is_stream: bool
    """Whether to write all events as they happen, instead of the result only."""
    shows_partial: bool
    new_id: Callable[[], str]
    describe: DescribeTurn | None = None
    """Makes a turn's first line; None before the session exists."""
    findings: TurnFindings | None = None
    """Findings of a review; None if the front end takes none."""
    session_id: str = ""
    clock: Callable[[], float] = time.monotonic
    last_stop: StopReason | None = field(default=None, init=False)
    """Stop reason of the last turn; None before the first."""
    _transcript: Transcript = field(init=False)
    _began_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.begin()

    # The subscriber

    @property
    def congested(self) -> bool:
        return self.writer.is_congested

    async def drained(self) -> None:
        await self.writer.has_room()

    def deliver(self, events: Sequence[SessionEvent]) -> None:
        for each in events:
            if isinstance(each.event, ev.TurnStarted) and self.describe and self.is_stream:
                self.write(self.describe(each.event))
            for line in self._transcript.lines(each):
                if self.is_stream:
                    self.write(line)
        self.status.deliver_trouble(events)

    # A turn

    def begin(self) -> None:
        """Start the transcript of a turn that is about to begin."""
        self._transcript = Transcript(shows_partial=self.shows_partial and self.is_stream, new_id=self.new_id)
        self._began_s = self.clock()

    def end(self, result: TurnResult) -> None:
        """Write the result of a turn whose events were all delivered."""
        ended = Ended(
            result=result,
            limit_text=self._transcript.limit_text,
            denials=tuple(self._transcript.denials),
            duration_s=self.clock() - self._began_s,
        )
        self.last_stop = result.stop_reason
        line = result_line(ended)
        found = self.findings.take_json() if self.findings is not None else None
        if found is not None:
            line["findings"] = found
        self.write(line)

    def fail(self, problem: str) -> None:
        """Write the result of a turn that could not begin."""
        self.last_stop = "error"
        self.write(failed_line(problem))

    @property
    def answer_lost(self) -> bool:
        return self.writer.is_lost

    async def written(self) -> None:
        await self.writer.written()
        await self.status.written()

    def write(self, line: Line) -> None:
        """Write a line, with the fields that every line has."""
        self.writer.write({**line, "session_id": self.session_id, "uuid": self.new_id()})

    # Delegated to `TerminalView`

    def tell(self, line: str, colour: Colour | None = None) -> None:
        """Show a line to the user."""
        self.status.tell(line, colour)

    async def ready_to_ask(self, question_id: str) -> None:
        """Wait until a question may be shown on the terminal."""
        self.status.asks(question_id)
        await self.status.written()

    async def ready_to_pause(self, question_id: str) -> None:
        await self.status.ready_to_pause(question_id)
