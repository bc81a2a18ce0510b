"""The answer of a turn as text of a chat document, made from the turn's events. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct, field

from pygent_ls.agent import events as ev
from pygent_ls.agent.display_text import on_one_line
from pygent_ls.editors.lsp.chat_document.document import (
    Fences,
    closed,
    escaped_line,
    may_be_escaped,
)
from pygent_ls.editors.turn_summary import STOP_WORDS, failure_line, limit_line, rejection_lines
from pygent_ls.sessions.event_stream import SessionEvent

MAX_LINE_CHARS = 300
"""Maximum length of a status line: wider than a window."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Control characters, which are not text and may control a terminal that shows the file; tabs and line breaks are
kept."""


class StreamedText:
    """Streamed text of the model. `text` only grows until `finish`."""

    def __init__(self, item_id: str) -> None:
        self.item_id = item_id
        self.text = ""
        self.said: list[str] = []
        """The pieces as received."""
        self.is_finished = False
        self._fences = Fences()
        self._line = ""
        """The last line so far."""
        self._shown = 0
        """Number of its characters already in `text`; 0 while it is undecided whether the line must be escaped."""
        self._gap = ""
        """Empty lines before the next line that is not empty; they are added together with it."""
        self._held = ""
        """First half of a surrogate pair or of a line break."""

    def feed(self, piece: str) -> None:
        """Add the next piece."""
        self.said.append(piece)
        piece = self._held + piece
        self._held = ""
        if piece and (piece[-1] == "\r" or "\ud800" <= piece[-1] <= "\udbff"):
            piece, self._held = piece[:-1], piece[-1]
        self._take(piece)

    def finish(self) -> None:
        """Finish the text: it is complete."""
        if self.is_finished:
            return
        held, self._held = self._held, ""
        self._take(held)
        self._end_line()
        self.text = closed(self.text, self._fences) if self.text else ""
        self.is_finished = True

    def _take(self, piece: str) -> None:
        first, *others = cleaned(piece).split("\n")
        self._line += first
        for line in others:
            self._end_line()
            self._gap += "\n" if self.text else ""
            self._line = line
        if self._line.strip() and (self._shown or self._fences.opened or not may_be_escaped(self._line)):
            self._show(self._line)

    def _end_line(self) -> None:
        line = self._line
        is_code = self._fences.takes(line)
        if line.strip():
            self._show(line if is_code or self._shown else escaped_line(line))
        elif self.text:
            self._gap += line
        self._line, self._shown = "", 0

    def _show(self, line: str) -> None:
        self.text += self._gap + line[self._shown :]
        self._gap, self._shown = "", len(line)


class _AnswerLine(Struct):
    """A line that the daemon writes."""

    text: str
    is_tool: bool = False


class AnswerSection(Struct):
    """The text below the answer heading. It grows at its end, and becomes shorter only when text is withdrawn."""

    _parts: list[StreamedText | _AnswerLine] = field(default_factory=list[StreamedText | _AnswerLine])
    _tool_ids: set[str] = field(default_factory=set[str])

    @property
    def text(self) -> str:
        """The whole text so far, with line feeds as line breaks."""
        shown = [each for each in self._parts if each.text]
        pieces: list[str] = []
        for before, each in zip([None, *shown], shown, strict=False):
            if before is not None:
                are_tools = all(isinstance(one, _AnswerLine) and one.is_tool for one in (before, each))
                pieces.append("\n" if are_tools else "\n\n")
            pieces.append(each.text)
        return "".join(pieces)

    def take(self, told: SessionEvent) -> None:
        """Handle the next event of the turn. A subagent's events are left out; the line of its tool call stands for
        them."""
        if told.parent_tool_id is None:
            self._take(told.event)

    def _take(self, event: ev.AgentEvent) -> None:
        match event:
            case ev.TextDelta(item_id=item, content=content):
                self._words(item).feed(content)
            case ev.Text(item_id=item, content=content):
                self._replace(item, content)
            case ev.ToolCall(tool_id=tool_id, title=title):
                self._call(tool_id, title)
            case ev.LlmError() as error:
                self._withdraw(error.withdrawn)
                if error.will_retry or error.fallback_model is not None:
                    self._say(failure_line(error))
            case (
                ev.IterationLimitReached()
                | ev.TokenLimitReached()
                | ev.BudgetLimitReached()
                | ev.TimeLimitReached()
                | ev.LoopDetected()
            ) as limit:
                self._say(limit_line(limit))
            case ev.Notice(content=content):
                self._say(content)
            case ev.Steered() as steered:
                self._steer(steered)
            case _:
                pass

    def end(self, stop_reason: ev.StopReason, failure: str = "") -> None:
        """Finish the answer at the end of the turn; `failure` is the reason if the turn failed."""
        self._finish_words()
        if failure:
            self._add(_AnswerLine(status_line("The turn failed", failure)))
        elif stop_reason != "end_turn":
            words = STOP_WORDS[stop_reason]
            self._add(_AnswerLine(status_line("The turn ended", words[0].lower() + words[1:])))

    def _steer(self, steered: ev.Steered) -> None:
        for report in rejection_lines(steered.attachments):
            self._say(report)
        if steered.content:
            self._say(f"Sent during this turn: {steered.content}")

    def _call(self, tool_id: str, title: str) -> None:
        if tool_id not in self._tool_ids:  # the event is repeated if a hook changes the call
            self._tool_ids.add(tool_id)
            self._add(_AnswerLine(f"> tool: {on_one_line(title)[:MAX_LINE_CHARS]}", is_tool=True))

    def _say(self, what: str) -> None:
        self._add(_AnswerLine(status_line("pygent", what)))

    def _add(self, line: _AnswerLine) -> None:
        self._finish_words()
        self._parts.append(line)

    def _words(self, item_id: str) -> StreamedText:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, StreamedText) and last.item_id == item_id and not last.is_finished:
            return last
        self._finish_words()
        words = StreamedText(item_id)
        self._parts.append(words)
        return words

    def _finish_words(self) -> None:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, StreamedText):
            last.finish()

    def _replace(self, item_id: str, content: str) -> None:
        """Set the whole text of an item if it differs from the streamed pieces."""
        found = [each for each in self._parts if isinstance(each, StreamedText) and each.item_id == item_id]
        if "".join(piece for each in found for piece in each.said) != content:
            whole = StreamedText(item_id)
            whole.feed(content)
            place = self._parts.index(found[0]) if found else len(self._parts)
            if not found:
                self._finish_words()
            self._parts = [each for each in self._parts if each not in found]
            self._parts.insert(place, whole)
            found = [whole]
        for each in found:
            each.finish()

    def _withdraw(self, item_ids: Sequence[str]) -> None:
        self._parts = [each for each in self._parts if isinstance(each, _AnswerLine) or each.item_id not in item_ids]


def status_line(what: str, text: str) -> str:
    """Return a status line in italics, which is not part of the conversation."""
    shown = on_one_line(" ".join(text.split()))
    shown = shown[: MAX_LINE_CHARS - 1] + "…" if len(shown) > MAX_LINE_CHARS else shown
    return f"*{what}: {shown.replace('*', chr(0x2217)) or 'no reason given'}*"


def cleaned(text: str) -> str:
    """Return the text with line feeds only, and without control characters and halves of surrogate pairs."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub("\ufffd", text)
