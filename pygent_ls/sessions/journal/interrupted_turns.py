"""Turns that began but did not end in a journal, and the events that close them.

A turn that never began is not closed: its prompt waits for the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import reduce

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.context.untrusted_text import OWN_WORDS
from pygent_ls.agent.events import (
    AgentEvent,
    Finished,
    Interrupted,
    LlmError,
    PermissionRequested,
    PermissionResolved,
    Steered,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
    TurnQueued,
    TurnStarted,
    UsageReported,
)
from pygent_ls.agent.messages import Message, TextBlock, ToolResultBlock, Usage
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.journal.records import Queued
from pygent_ls.sessions.journal.repair import INTERRUPTED_RESULT, NOT_ALLOWED_RESULT, interrupted

CUT_OFF = "\n[cut off: pygent-ls exited here]"
"""Text appended to a message that was being streamed when the daemon ended."""

NEEDED = frozenset(
    {
        "text_delta",
        "text",
        "llm_error",
        "tool_call",
        "permission_requested",
        "permission_resolved",
        "tool_result",
        "usage",
    }
)
"""Event types read of an open turn, besides those of its begin and its end."""


class _OpenTurn(Struct):
    turn_id: str
    queued: TurnQueued | None = None
    kept: Queued | None = None
    """Record to run the turn from, if it was queued."""
    has_started: bool = False
    iteration: int = 0
    total_tokens: int = 0
    happened_at: datetime | None = None
    """Time of the last event that was read of it."""
    usage: Usage = field(default_factory=Usage)
    """Last reported usage. Each report, by the turn or a subagent, is the total of all of them."""
    calls: dict[str, tuple[ToolCall, str | None]] = field(default_factory=dict[str, tuple[ToolCall, str | None]])
    """Calls without a result, each with the call whose subagent made it."""
    asked: dict[str, tuple[PermissionRequested, str | None]] = field(
        default_factory=dict[str, tuple[PermissionRequested, str | None]]
    )
    """Permission requests without an answer, each with the call whose subagent made it."""
    results: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    """Text of the model, by item."""
    said: list[str] = field(default_factory=list[str])
    """Texts that are in the conversation."""
    answers: dict[str, ToolResultBlock] = field(default_factory=dict[str, ToolResultBlock])
    """Tool results that are in the conversation."""
    changes: dict[str, FileChange] = field(default_factory=dict[str, FileChange])

    def add(self, told: SessionEvent) -> None:
        self.iteration, self.total_tokens, self.happened_at = told.iteration, told.total_tokens, told.timestamp
        is_own = told.parent_tool_id is None
        self._ask(told)
        match told.event:
            case TurnQueued() as queued:
                self.queued = queued
            case TurnStarted():
                self.has_started = True
            case TextDelta(item_id=item, content=content) if is_own:
                self.texts[item] = self.texts.get(item, "") + content
            case Text(item_id=item, content=content) if is_own:
                self.texts[item] = content
            case LlmError(withdrawn=withdrawn):
                for item in withdrawn:
                    self.texts.pop(item, None)
            case ToolCall() as call:
                self.calls[call.tool_id] = (call, told.parent_tool_id)
            case ToolResult() as result:
                self.calls.pop(result.tool_id, None)
                self.results[result.tool_id] = result
                self.changes |= {str(each.path): each for each in result.changes}
            case UsageReported(usage=usage):
                self.usage = usage
            case _:
                pass

    def _ask(self, told: SessionEvent) -> None:
        if isinstance(told.event, PermissionRequested):
            self.asked[told.event.permission_id] = (told.event, told.parent_tool_id)
        elif isinstance(told.event, PermissionResolved):
            self.asked.pop(told.event.permission_id, None)

    @property
    def lost_words(self) -> str:
        """The model's last text, if it is not in the conversation; else empty."""
        last = list(self.texts.values())[-1] if self.texts else ""
        return "" if any(last in said for said in self.said) else last

    def interrupted(self, tool_id: str) -> str:
        """Return the result of an unfinished call. It says that nothing was done if its permission request was
        unanswered."""
        is_asked = any(question.tool_id == tool_id for question, _ in self.asked.values())
        return NOT_ALLOWED_RESULT if is_asked else INTERRUPTED_RESULT

    @property
    def held(self) -> Queued | None:
        """Queued prompt of a turn that did not begin; it waits for the user. None if the turn began."""
        return None if self.has_started else self.kept

    def closing(self) -> Iterator[tuple[AgentEvent, str | None]]:
        """Yield the missing events, each with the call whose subagent it belongs to."""
        if self.held is not None:
            if self.queued is None or not self.queued.held:
                yield replace(self.held.told, held=True), None
            return
        if not self.has_started and self.queued is not None:
            yield TurnStarted.after(self.queued), None
        for question, parent in self.asked.values():
            yield (
                PermissionResolved(
                    permission_id=question.permission_id, tool_id=question.tool_id, outcome="cancelled", by="user"
                ),
                parent,
            )
        for call, parent in reversed(self.calls.values()):
            known = self.answers.get(call.tool_id)  # its result was stored, but its event was not
            result = ToolResult(
                tool_id=call.tool_id,
                tool_name=call.tool_name,
                content=known.content if known else self.interrupted(call.tool_id),
                is_error=known.is_error if known else True,
                cached=False,
                truncated=False,
                duration_s=0.0,
            )
            yield result, parent
        yield Interrupted(), None
        changes = tuple(self.changes.values())
        yield Finished(stop_reason="interrupted", usage=self.usage, files_changed=changes), None


class OpenTurns:
    """Turns without an end, as far as the journal was read."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenTurn] = {}

    def needs(self, turn_id: object, kind: object) -> bool:
        """Whether an event of that type must be passed to `add`."""
        return kind in ("turn_queued", "turn_started") or (
            turn_id in self._open and (kind in NEEDED or kind in ("steered", "finished"))
        )

    def add(self, told: SessionEvent) -> None:
        """Process an event."""
        match told.event:
            case Finished():
                self._open.pop(told.turn_id, None)
            case Steered():
                said = (each for each in self._open.values() if each.kept and each.kept.steers == told.turn_id)
                if joined := next(said, None):
                    del self._open[joined.turn_id]
            case _:
                self._open.setdefault(told.turn_id, _OpenTurn(told.turn_id)).add(told)

    def queued(self, record: Queued) -> None:
        """Process the record of a queued prompt."""
        self._open.setdefault(record.turn, _OpenTurn(record.turn)).kept = record

    @property
    def held(self) -> tuple[Queued, ...]:
        """Prompts that were accepted but whose turns did not begin, in order."""
        return tuple(each.held for each in self._open.values() if each.held is not None)

    def said(self, message: Message) -> None:
        """Process a message of the conversation."""
        turn = self._open.get(message.turn_id)
        if turn is None:
            return
        if message.role == "assistant":
            turn.said.append(message.text)
        turn.answers |= {each.tool_use_id: each for each in message.blocks if isinstance(each, ToolResultBlock)}

    @property
    def usage(self) -> Usage:
        """Total usage of the open turns."""
        return reduce(Usage.plus, (each.usage for each in self._open.values()), Usage())

    @property
    def results(self) -> Mapping[str, ToolResultBlock]:
        """Results of calls in open turns, by call id: of finished calls whose results are not in the conversation,
        because events are written at once and results when all calls of an answer have ended; and of interrupted
        calls."""
        found: dict[str, ToolResultBlock] = {}
        for turn in self._open.values():
            for tool_id in turn.calls:
                found[tool_id] = interrupted(tool_id, turn.interrupted(tool_id))
            for tool_id, result in turn.results.items():
                found[tool_id] = ToolResultBlock(
                    tool_use_id=tool_id,
                    content=result.content,
                    is_error=result.is_error,
                    from_outside=result.tool_name not in OWN_WORDS,
                )
        return found

    def with_lost_words(self, messages: Sequence[Message]) -> list[Message]:
        """Return the conversation with the text that the model was streaming when it was cut off."""
        found = list(messages)
        for turn in self._open.values():
            words = turn.lost_words
            if words.strip() and found and found[-1].turn_id == turn.turn_id and found[-1].role == "user":
                block = TextBlock(text=words + CUT_OFF)
                found.append(replace(found[-1], role="assistant", content=(block,)))
        return found

    def closing(self, last_seq: int, otherwise: datetime) -> tuple[SessionEvent, ...]:
        """Return the events that close all open turns, numbered from `last_seq` + 1 on.

        Their time is that of the turn's last event, or `otherwise` if it has none: all who read the journal before it
        is closed are told the same.
        """
        found: list[SessionEvent] = []
        for turn in self._open.values():
            for event, parent in turn.closing():
                last_seq += 1
                found.append(
                    SessionEvent(
                        event=event,
                        seq=last_seq,
                        turn_id=turn.turn_id,
                        iteration=turn.iteration,
                        total_tokens=turn.total_tokens,
                        timestamp=turn.happened_at or otherwise,
                        parent_tool_id=parent,
                    )
                )
        return tuple(found)
