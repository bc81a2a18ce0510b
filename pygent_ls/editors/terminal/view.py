"""Terminal view of a turn: the answer on one stream, tool calls and notices as short lines on the other."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent import events as ev
from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.truncation import amount_shown
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.terminal.output_writer import OutputWriter
from pygent_ls.editors.terminal.spinner import PAUSE
from pygent_ls.editors.terminal.text import Colour, Palette, harmless
from pygent_ls.editors.turn_findings import TurnFindings
from pygent_ls.editors.turn_summary import Limit, failure_line, limit_line, rejection_lines, summary
from pygent_ls.sessions.event_stream import SessionEvent

MAX_LINE_CHARS = 160
"""Maximum length of a line about a tool result: two rows of a usual terminal."""

log = logging.getLogger(__name__)

NOTICE_COLOURS: Mapping[str, Colour] = {"info": "dim", "warning": "yellow", "error": "red"}

Said = ev.TextDelta | ev.ThinkingDelta | ev.Text | ev.Thinking
Done = ev.ToolCall | ev.ToolProgress | ev.ToolResult | ev.PermissionDenied
Trouble = ev.LlmError | Limit | ev.Notice | ev.Cancelled | ev.Interrupted
News = ev.Compacted | ev.PlanChanged | ev.HookRan | ev.Steered


class Waiting(Protocol):
    """Shows what a turn waits for while nothing else is written."""

    is_held: bool
    """Whether a line is incomplete."""

    def follow(self, told: SessionEvent) -> None:
        """Update from an event."""
        ...

    def asks(self, question_id: str) -> None:
        """Show nothing until events report the user's answer."""
        ...

    def clear(self) -> None:
        """Erase what is shown before other output."""
        ...


class Writer(Protocol):
    """The part of a text stream that is used."""

    def write(self, text: str, /) -> object:
        """Write a text. Raises OSError."""
        ...

    def flush(self) -> object:
        """Write buffered text. Raises OSError."""
        ...


class Rendering(Protocol):
    """Renders a streamed answer as terminal lines."""

    def feed(self, text: str) -> str:
        """Add a part; returns the lines that can already be shown."""
        ...

    def close(self) -> str:
        """End the answer and return its remaining lines."""
        ...


class TerminalView(Struct, kw_only=True):
    """A turn's `Subscriber`.

    The model's text goes to `answer` and nothing else does, so that it can be piped on; tool calls, their output,
    notices and errors go to `status`.
    """

    answer: Writer
    status: Writer
    palette: Palette
    """Colours for `status`."""
    answer_is_terminal: bool
    """Whether the answer goes to a terminal. If so, its text is shown sanitised and as it arrives; otherwise unchanged,
    and only when it can no longer be withdrawn."""
    on_answer_lost: Callable[[], object]
    """Called once, when the answer can no longer be written: its reader is gone, or the disk is full."""
    answer_lost: bool = False
    value: Writer | None = None
    """Stream for the structured value that the turn returns; None if it answers with text, in `answer`."""
    spinner: Waiting | None = None
    """Drawn on `status` while nothing else is written."""
    markdown: Rendering | None = None
    """Renders the answer; None shows it as it is. Requires `answer_is_terminal`."""
    thoughts: Rendering | None = None
    """Renders thinking; None shows it as it is. Requires `answer_is_terminal`."""
    findings: TurnFindings | None = None
    """Findings of a review, which are written after its answer; None if another view shows them."""
    outlet: OutputWriter | None = None
    """Outlet that the streams write through; None if writing to them never blocks."""
    _streamed: dict[str, str] = field(default_factory=dict[str, str])
    """Text already written, by item."""
    _held: dict[str, str] = field(default_factory=dict[str, str])
    """Beginnings of answers that may still be withdrawn."""
    _calls: dict[str, ev.ToolCall] = field(default_factory=dict[str, ev.ToolCall])
    _denied: set[str] = field(default_factory=set[str])
    _questions: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    """Events by the id of the permission or of the call that asks; set when all output before the question has been
    shown."""
    _unfinished: Literal["", "answer", "thinking", "output"] = ""
    """Kind of the last line if it is incomplete."""

    @property
    def congested(self) -> bool:
        return self.outlet is not None and self.outlet.is_congested

    async def drained(self) -> None:
        if self.outlet is not None:
            await self.outlet.has_room()

    async def written(self) -> None:
        if self.outlet is not None:
            await self.outlet.written()

    def begin(self) -> None:
        """Do nothing: events show the turn."""

    def end(self, result: TurnResult) -> None:
        if self.findings is not None and (text := self.findings.take_text()):
            self.end_line()
            self._write(self.answer, "\n" + (harmless(text) if self.answer_is_terminal else text))
            self._flush()
        if self.value is not None and result.structured is not None:
            self.end_line()
            self._write(self.value, json.dumps(result.structured.value, ensure_ascii=False) + "\n")
            self._flush()

    def fail(self, problem: str) -> None:
        self.tell(f"Error: {problem}", "red")

    def deliver(self, events: Sequence[SessionEvent]) -> None:
        for each in events:
            self._follow(each)
            if each.parent_tool_id is None:
                self._show(each.event)
            else:
                self._show_inside(each.event)
        self._flush()

    def deliver_trouble(self, events: Sequence[SessionEvent]) -> None:
        """Show only failures and notices; other events are shown elsewhere."""
        for each in events:
            self._follow(each)
            match each.event:
                case ev.Notice(level="info"):
                    pass
                case ev.LlmError() as error:
                    self._show_trouble(replace(error, withdrawn=()))
                case (
                    ev.Notice()
                    | ev.IterationLimitReached()
                    | ev.TokenLimitReached()
                    | ev.BudgetLimitReached()
                    | ev.TimeLimitReached()
                    | ev.LoopDetected()
                ) as trouble:
                    self._show_trouble(trouble)
                case _:
                    pass
        self._flush()

    def asks(self, question_id: str) -> None:
        """Note that the user is asked on the terminal until events report the answer."""
        self.end_line()
        if self.spinner:
            self.spinner.asks(question_id)

    def tell(self, line: str, colour: Colour | None = None) -> None:
        """Write a line to `status`."""
        self.end_line()
        shown = harmless(line)
        self._write(self.status, (self.palette.paint(shown, colour) if colour else shown) + "\n")
        self._flush()

    def show(self, text: str) -> None:
        """Write text that is already sanitised and coloured."""
        self.end_line()
        self._write(self.status, text)
        self._flush()

    def show_answer(self, text: str) -> None:
        """Show the answer of an earlier turn."""
        self._write_said("answer", "", text)
        self._streamed.pop("", None)
        self._end_said()
        self.end_line()
        self._flush()

    def lose_answer(self, error: OSError) -> None:
        """Note that the answer can no longer be written."""
        if self.answer_lost:
            return
        self.answer_lost = True
        if not isinstance(error, BrokenPipeError):  # a reader such as `| head` exits on purpose
            self.tell(f"Error: the answer could not be written: {error.strerror}", "red")
        self.on_answer_lost()

    def end_line(self) -> None:
        """End an incomplete line, so that other text can follow."""
        if self._unfinished:
            self._write(self.answer if self._unfinished == "answer" else self.status, "\n")
            self._flush()
        self._unfinished = ""

    async def ready_to_ask(self, question_id: str) -> None:
        """Wait until the output before a question has been shown: events are delivered in batches of some
        milliseconds."""
        await self._question(question_id).wait()
        self.asks(question_id)
        await self.written()

    async def ready_to_pause(self, question_id: str) -> None:
        """Wait in the same way before the question whether to continue beyond a limit, which follows the event of that
        limit."""
        await self.ready_to_ask(PAUSE)
        self._questions.pop(PAUSE, None)

    def _question(self, question_id: str) -> asyncio.Event:
        return self._questions.setdefault(question_id, asyncio.Event())

    def _follow(self, told: SessionEvent) -> None:
        log.debug("event %d: %r", told.seq, told.event)
        if self.spinner:
            self.spinner.follow(told)

    # Events

    def _show(self, event: ev.AgentEvent) -> None:
        match event:
            case ev.TextDelta() | ev.ThinkingDelta() | ev.Text() | ev.Thinking():
                self._show_said(event)
            case ev.ToolCall() | ev.ToolProgress() | ev.ToolResult() | ev.PermissionDenied():
                self._show_done(event)
            case ev.Compacted() | ev.PlanChanged() | ev.HookRan() | ev.Steered():
                self._show_news(event)
            case ev.TurnStarted(model=model, mode=mode, agent=agent):
                own = f"agent {one_line(agent)} · " if agent != "default" else ""
                self.tell(f"{own}{model} · mode {mode}", "dim")
            case ev.Finished():
                self._write_held()
                self._end_said()
                self.tell(summary(event, " · "), "dim")
            case ev.PermissionRequested(permission_id=permission_id):
                self._question(permission_id).set()
            case ev.TurnQueued() | ev.PermissionResolved() | ev.UsageReported() | ev.ToolCallDelta():
                pass  # a single turn never queues, the answer was just typed, the summary has the totals, and a call
                # is shown as a whole
            case trouble:
                self._show_trouble(trouble)

    def _show_inside(self, event: ev.AgentEvent) -> None:
        """Show a subagent's events as lines of their own. Its text is for the agent that started it."""
        match event:
            case ev.ToolCall(tool_id=tool_id, title=title):
                self.tell(f"  ↳ {title}", "dim")
                self._question(tool_id).set()
            case ev.PermissionDenied(tool_name=name, reason=reason):
                self.tell(f"    {name} was not run: {one_line(reason, MAX_LINE_CHARS)}", "red")
            case ev.PermissionRequested(permission_id=permission_id):
                self._question(permission_id).set()
            case ev.LlmError() | ev.Notice():
                self._show_trouble(replace(event, withdrawn=()) if isinstance(event, ev.LlmError) else event)
            case _:
                pass  # the result of its call reports how it ended

    def _show_said(self, event: Said) -> None:
        match event:
            case ev.TextDelta(item_id=item, content=content):
                self._stream("answer", item, content)
            case ev.ThinkingDelta(item_id=item, content=content):
                self._stream("thinking", item, content)
            case ev.Text(item_id=item, content=content):
                self._complete("answer", item, content)
            case ev.Thinking(item_id=item, content=content):
                self._complete("thinking", item, content)

    def _show_done(self, event: Done) -> None:
        match event:
            case ev.ToolCall(tool_id=tool_id, title=title):
                self._calls[tool_id] = event
                self.tell(f"● {title}", "bold")
                self._question(tool_id).set()
            case ev.ToolProgress(content=content):
                self._show_output(content)
            case ev.PermissionDenied(tool_id=tool_id, reason=reason):
                self._denied.add(tool_id)
                self.tell(f"  not run: {one_line(reason, MAX_LINE_CHARS)}", "red")
            case ev.ToolResult(tool_id=tool_id) if tool_id not in self._denied:
                has_failed = event.is_error or event.exit_code not in (None, 0)
                self.tell(f"  {_outcome(event, self._calls.get(tool_id))}", "red" if has_failed else "dim")
                if shown := amount_shown(event.content) if event.truncated else "":
                    self.tell(f"  The model received {shown} of this result.", "yellow")
            case ev.ToolResult():
                pass  # the denial was already shown

    def _show_trouble(self, event: Trouble) -> None:
        match event:
            case ev.LlmError(will_retry=will_retry, fallback_model=fallback, withdrawn=withdrawn):
                self._end_said()
                if will_retry or fallback is not None:
                    self.tell(failure_line(event), "yellow")
                else:
                    self.tell(f"Error: {failure_line(event)}", "red")
                self._withdraw(withdrawn)
                if withdrawn:
                    self.tell("The partial answer above was discarded.", "dim")
            case ev.Notice(content=content, level=level):
                self.tell(content, NOTICE_COLOURS[level])
            case ev.Cancelled():
                self.tell("Cancelled.", "yellow")
            case ev.Interrupted():
                self.tell("Interrupted.", "yellow")
            case limit:
                self.tell(limit_line(limit), "yellow")
                self._question(PAUSE).set()

    def _show_news(self, event: News) -> None:
        match event:
            case ev.Compacted(messages_summarised=n, tokens_before=before, tokens_after=after):
                self.tell(f"Compacted: {n} messages, about {before} tokens, now {after}.", "dim")
            case ev.PlanChanged(entries=entries):
                for entry in entries:
                    self.tell(f"  {PLAN_SIGNS[entry.status]} {one_line(entry.content, MAX_LINE_CHARS)}", "dim")
            case ev.HookRan(command=command, decision=decision) if decision:
                self.tell(f"  hook {one_line(command, MAX_LINE_CHARS)}: {decision}", "dim")
            case ev.HookRan():
                pass  # the hook had no output
            case ev.Steered(content=content, attachments=attachments):
                for report in rejection_lines(attachments):
                    self.tell(one_line(report, MAX_LINE_CHARS), "dim")
                if content:
                    self.tell(f"You: {one_line(content, MAX_LINE_CHARS)}", "dim")

    # Writing

    def _stream(self, kind: Literal["answer", "thinking"], item: str, content: str) -> None:
        if not content:
            return
        if kind == "answer" and not self.answer_is_terminal:
            self._held[item] = self._held.get(item, "") + content
            return
        self._write_said(kind, item, content)

    def _write_said(self, kind: Literal["answer", "thinking"], item: str, content: str) -> None:
        if self._unfinished != kind:
            self.end_line()
        self._streamed[item] = self._streamed.get(item, "") + content
        rendering = self.thoughts if kind == "thinking" else self.markdown
        if rendering is not None:
            self._write_rendered(kind, rendering.feed(content))
            return
        if kind == "thinking":
            self._write(self.status, self.palette.paint(harmless(content), "dim"))
        else:
            self._write(self.answer, harmless(content) if self.answer_is_terminal else content)
        self._unfinished = "" if content.endswith("\n") else kind

    def _complete(self, kind: Literal["answer", "thinking"], item: str, content: str) -> None:
        """Write the part of a block that was not streamed, and end its line."""
        self._held.pop(item, None)
        streamed = self._streamed.pop(item, "")
        if content.startswith(streamed) and len(content) > len(streamed):
            self._write_said(kind, item, content[len(streamed) :])
        self._end_said()
        self.end_line()

    def _end_said(self) -> None:
        """Write the rest of the model's text and thinking."""
        if self.thoughts is not None:
            self._write_rendered("thinking", self.thoughts.close())
        if self.markdown is not None:
            self._write_rendered("answer", self.markdown.close())

    def _write_rendered(self, kind: Literal["answer", "thinking"], lines: str) -> None:
        if not lines:
            return
        if kind == "thinking":
            self._write(self.status, self.palette.paint(lines, "dim"))
        else:
            self._write(self.answer, lines)

    def _withdraw(self, items: Sequence[str]) -> None:
        for item in items:
            self._held.pop(item, None)

    def _write_held(self) -> None:
        """Write the held text of a cancelled turn: no more will follow."""
        held, self._held = self._held, {}
        for item, content in held.items():
            self._write_said("answer", item, content)
        self.end_line()

    def _show_output(self, content: str) -> None:
        """Show live output of a tool, with a bar before each line."""
        if self._unfinished != "output":
            self.end_line()
        for line in harmless(content).splitlines(keepends=True):
            bar = "" if self._unfinished == "output" else self.palette.paint("  │ ", "dim")
            self._write(self.status, bar + line)
            self._unfinished = "" if line.endswith("\n") else "output"

    def _write(self, stream: Writer, text: str) -> None:
        if self.spinner:
            self.spinner.clear()
        try:
            stream.write(text)
        except OSError as error:
            self._lost(stream, error)

    def _flush(self) -> None:
        if self.spinner:
            self.spinner.is_held = bool(self._unfinished)
        for stream in filter(None, (self.answer, self.status, self.value)):
            try:
                stream.flush()
            except OSError as error:
                self._lost(stream, error)

    def _lost(self, stream: Writer, error: OSError) -> None:
        if stream is (self.value or self.answer):  # the turn's text continues below the status lines
            self.lose_answer(error)


def _outcome(result: ev.ToolResult, call: ev.ToolCall | None) -> str:
    """Return one line about a tool result: the result itself if it is one line, else its size."""
    if result.changes:
        return ", ".join(f"{each.kind} {each.path.name} (+{each.added} −{each.removed})" for each in result.changes)
    lines = result.content.strip().splitlines() or [""]
    if result.truncated and len(lines) > 1:
        lines.pop()  # the amount that was cut has a line of its own
    if result.is_error or len(lines) == 1:
        return one_line(result.content, MAX_LINE_CHARS)
    if call is not None and call.kind == "execute":  # its output was already shown; the last line has the exit status
        return one_line(lines[-1], MAX_LINE_CHARS)
    cached = ", cached" if result.cached else ""
    return f"{result.tool_name}: {len(lines)} lines{cached}"


PLAN_SIGNS: Mapping[ev.PlanStatus, str] = {"pending": "☐", "in_progress": "▶", "completed": "☑"}
