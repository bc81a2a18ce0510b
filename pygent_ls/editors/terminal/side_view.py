"""Answers of side questions on a terminal: as a whole, between the lines of the running turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pygent_ls.agent import events as ev
from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.terminal.markdown import MarkdownStream
from pygent_ls.editors.terminal.view import TerminalView
from pygent_ls.editors.turn_summary import STOP_WORDS
from pygent_ls.sessions.event_stream import SessionEvent

MAX_QUESTION_CHARS = 80
"""Maximum number of characters of the question above its answer."""


@dataclass(kw_only=True)
class SideView:
    """Subscriber of a side question that shows nothing before its end: the running turn writes meanwhile."""

    view: TerminalView
    markdown: MarkdownStream
    """Renders the answer; that of the turn is still being rendered."""
    question: str = field(default="", init=False)
    congested = False

    def deliver(self, events: Sequence[SessionEvent]) -> None:
        """Take the question as it is shown."""
        for each in events:
            match each.event:
                case ev.TurnStarted(prompt=prompt):
                    self.question = prompt
                case ev.Notice(content=content):
                    self.view.tell(content, "yellow")
                case _:
                    pass

    async def drained(self) -> None:
        """Return at once."""

    def end(self, result: TurnResult) -> None:
        """Show the answer."""
        self.view.tell(f"btw · {one_line(self.question, MAX_QUESTION_CHARS)}", "dim")
        if result.error is not None:
            self.view.fail(result.error.message)
            return
        if result.text.strip():
            shown = self.markdown.feed(result.text) + self.markdown.close()
            self.view.show(shown if shown.endswith("\n") else f"{shown}\n")
        if result.stop_reason != "end_turn":
            self.view.tell(STOP_WORDS[result.stop_reason], "yellow")
        self.view.tell("· end of the side answer", "dim")
