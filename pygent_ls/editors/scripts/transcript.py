"""Conversion of a turn's events to JSON lines: one for each block of an answer, and one for each tool result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct, field

from pygent_ls.agent import events as ev
from pygent_ls.agent.messages import Usage
from pygent_ls.editors.scripts.output_lines import (
    AnthropicUsage,
    AssistantLine,
    Denial,
    StreamEventLine,
    ToolCallDeltaLine,
    TurnLine,
    stop_reason_of,
    usage_out,
)
from pygent_ls.editors.turn_summary import Limit, limit_line
from pygent_ls.sessions.event_stream import SessionEvent

Said = ev.TextDelta | ev.ThinkingDelta | ev.Text | ev.Thinking | ev.ToolCallDelta
Done = ev.ToolCall | ev.PermissionDenied | ev.ToolProgress | ev.ToolResult


class _OpenMessage(Struct):
    """An answer that is being written."""

    id: str
    blocks: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Blocks that arrived as a whole and wait for the answer's usage."""
    answered: ev.ModelAnswered | None = None
    n_calls: int = 0
    """Number of tool calls that are still to come."""
    n_parts: int = 0
    """Number of blocks that were written as deltas."""
    part: str = ""
    """Item whose deltas are being written; empty between two items."""
    told: dict[str, str] = field(default_factory=dict[str, str])
    """Text already written, by item."""


class _Speaker(Struct):
    """The turn's agent, or one of its subagents."""

    parent: str | None
    """Id of the call that runs this subagent; None for the turn's agent."""
    model: str
    message: _OpenMessage | None = None


class Transcript:
    """Converts the events of one turn to lines, in order."""

    def __init__(self, *, shows_partial: bool, new_id: Callable[[], str]) -> None:
        self.denials: list[Denial] = []
        self.limit: Limit | None = None
        """The last limit that was reached."""
        self._shows_partial = shows_partial
        self._new_id = new_id
        self._calls: dict[str, ev.ToolCall] = {}
        self._begun: dict[str, datetime] = {}
        """Start time of each call."""
        self._speakers: dict[str | None, _Speaker] = {}
        self._model = ""

    def lines(self, told: SessionEvent) -> Iterator[TurnLine]:
        """Yield the lines of an event; often none."""
        speaker = self._speakers.setdefault(told.parent_tool_id, _Speaker(told.parent_tool_id, self._model))
        match told.event:
            case ev.TextDelta() | ev.ThinkingDelta() | ev.Text() | ev.Thinking() | ev.ToolCallDelta():
                yield from self._said(speaker, told.event)
            case ev.UsageReported(answered=answered) if answered is not None:
                yield from self._answered(speaker, answered)
            case ev.ToolCall() | ev.PermissionDenied() | ev.ToolProgress() | ev.ToolResult():
                yield from self._done(speaker, told.event, told.timestamp)
            case ev.Compacted():
                yield _compacted(told.event, is_wish=told.iteration == 0)
            case ev.TurnStarted(model=model):
                self._model = speaker.model = model
            case ev.LlmError() as error:
                yield from _failed(speaker, error)
            case ev.Finished():
                yield from self._rest()
            case (
                ev.IterationLimitReached()
                | ev.TokenLimitReached()
                | ev.BudgetLimitReached()
                | ev.TimeLimitReached()
                | ev.LoopDetected()
            ):
                self.limit = told.event
            case (
                ev.TurnQueued()
                | ev.UsageReported()
                | ev.PermissionRequested()
                | ev.PermissionResolved()
                | ev.PlanChanged()
                | ev.HookRan()
                | ev.Steered()
                | ev.Notice()
                | ev.Cancelled()
                | ev.Interrupted()
            ):
                pass  # not part of the conversation

    @property
    def limit_text(self) -> str:
        """The limit that was reached, as text; empty if none."""
        return limit_line(self.limit) if self.limit else ""

    # An answer

    def _said(self, speaker: _Speaker, event: Said) -> Iterator[TurnLine]:
        message = self._message(speaker)
        match event:
            case ev.TextDelta(item_id=item, content=content):
                yield from self._piece(speaker, item, {"type": "text_delta", "text": content})
            case ev.ThinkingDelta(item_id=item, content=content):
                yield from self._piece(speaker, item, {"type": "thinking_delta", "thinking": content})
            case ev.Text(item_id=item, content=content):
                rest = _rest_of(content, message.told.get(item, ""))
                yield from self._piece(speaker, item, {"type": "text_delta", "text": rest})
                message.blocks.append({"type": "text", "text": content})
            case ev.Thinking(item_id=item, content=content):
                rest = _rest_of(content, message.told.get(item, ""))
                yield from self._piece(speaker, item, {"type": "thinking_delta", "thinking": rest})
                message.blocks.append({"type": "thinking", "thinking": content, "signature": ""})
            case ev.ToolCallDelta():
                if self._shows_partial:
                    yield _call_piece(speaker, event)

    def _answered(self, speaker: _Speaker, answered: ev.ModelAnswered) -> Iterator[TurnLine]:
        """Write the answer's blocks; its calls follow."""
        message = self._message(speaker)
        speaker.model = answered.model
        message.answered, message.n_calls = answered, answered.n_calls
        yield from self._part_ends(speaker)
        yield from self._told_blocks(speaker, message)
        if not message.n_calls:
            yield from self._message_ends(speaker)

    def _told_blocks(self, speaker: _Speaker, message: _OpenMessage) -> Iterator[TurnLine]:
        blocks, message.blocks = message.blocks, []
        for block in blocks:
            yield _assistant(speaker, message, block)

    def _rest(self) -> Iterator[TurnLine]:
        """Write text that belongs to no model answer: that of a command, or of an answer that was cancelled at its
        end."""
        for speaker in self._speakers.values():
            if speaker.message is not None:
                yield from self._part_ends(speaker)
                yield from self._told_blocks(speaker, speaker.message)
                yield from self._message_ends(speaker)

    def _message(self, speaker: _Speaker) -> _OpenMessage:
        if speaker.message is None or speaker.message.answered is not None:
            speaker.message = _OpenMessage(f"msg_{self._new_id()}")
        return speaker.message

    # Calls

    def _done(self, speaker: _Speaker, event: Done, at: datetime) -> Iterator[TurnLine]:
        match event:
            case ev.ToolCall(tool_id=tool_id):
                if tool_id not in self._calls:  # the event is repeated if a hook changes the call
                    yield from self._called(speaker, event)
                    self._begun[tool_id] = at
                    self._calls[tool_id] = event
                    yield from self._progress(speaker, tool_id, "started", at)
                self._calls[tool_id] = event  # with the input as changed by a hook
            case ev.PermissionDenied(tool_id=tool_id, tool_name=name):
                call = self._calls.get(tool_id)
                self.denials.append(
                    {"tool_name": name, "tool_use_id": tool_id, "tool_input": call.input if call else {}}
                )
            case ev.ToolProgress(tool_id=tool_id, content=content):
                yield from self._progress(speaker, tool_id, "running", at, content)
            case ev.ToolResult(tool_id=tool_id, content=content, is_error=is_error):
                yield from self._progress(speaker, tool_id, "ended", at)
                block = {"type": "tool_result", "tool_use_id": tool_id, "content": content, "is_error": is_error}
                yield {
                    "type": "user",
                    "message": {"role": "user", "content": [block]},
                    "parent_tool_use_id": speaker.parent,
                }

    def _progress(
        self,
        speaker: _Speaker,
        tool_id: str,
        status: Literal["started", "running", "ended"],
        at: datetime,
        content: str = "",
    ) -> Iterator[TurnLine]:
        call = self._calls.get(tool_id)
        if self._shows_partial and call is not None:
            yield {
                "type": "tool_progress",
                "tool_use_id": tool_id,
                "tool_name": call.tool_name,
                "status": status,
                "content": content,
                "elapsed_time_seconds": round((at - self._begun[tool_id]).total_seconds(), 3),
                "parent_tool_use_id": speaker.parent,
            }

    def _called(self, speaker: _Speaker, call: ev.ToolCall) -> Iterator[TurnLine]:
        message = speaker.message or self._message(speaker)
        block = {"type": "tool_use", "id": call.tool_id, "name": call.tool_name, "input": dict(call.input)}
        given = json.dumps(dict(call.input), ensure_ascii=False)
        yield from self._piece(
            speaker, call.tool_id, {"type": "input_json_delta", "partial_json": given}, {**block, "input": {}}
        )
        yield from self._part_ends(speaker)
        yield _assistant(speaker, message, block)
        if message.answered is None:  # a search of the provider, within the answer
            return
        message.n_calls -= 1
        if message.n_calls <= 0:
            yield from self._message_ends(speaker)

    # Deltas

    def _piece(
        self, speaker: _Speaker, item: str, delta: Mapping[str, str], block: Mapping[str, Any] | None = None
    ) -> Iterator[TurnLine]:
        """Write a delta, preceded by the start of the block for the first one; `block` is its start value."""
        if not self._shows_partial:
            return
        message = speaker.message or self._message(speaker)
        *_, content = delta.values()
        if message.part != item and (content or item not in message.told):
            yield from self._part_begins(speaker, message, item, block or _empty(delta["type"]))
        message.told[item] = message.told.get(item, "") + content
        if content:
            yield _event(speaker, {"type": "content_block_delta", "index": message.n_parts - 1, "delta": dict(delta)})

    def _part_begins(
        self, speaker: _Speaker, message: _OpenMessage, item: str, block: Mapping[str, Any]
    ) -> Iterator[TurnLine]:
        yield from self._part_ends(speaker)
        if message.n_parts == 0:
            begun: dict[str, Any] = {
                **_envelope(speaker, message),
                "content": [],
                "stop_reason": None,
                "usage": usage_out(Usage()),
            }
            yield _event(speaker, {"type": "message_start", "message": begun})
        yield _event(speaker, {"type": "content_block_start", "index": message.n_parts, "content_block": dict(block)})
        message.n_parts += 1
        message.part = item

    def _part_ends(self, speaker: _Speaker) -> Iterator[TurnLine]:
        message = speaker.message
        if message is not None and message.part:
            message.part = ""
            yield _event(speaker, {"type": "content_block_stop", "index": message.n_parts - 1})

    def _message_ends(self, speaker: _Speaker) -> Iterator[TurnLine]:
        message, speaker.message = speaker.message, None
        if message is None or message.n_parts == 0:
            return
        delta = {"stop_reason": _stop_reason(message), "stop_sequence": None}
        yield _event(speaker, {"type": "message_delta", "delta": delta, "usage": _usage(message)})
        yield _event(speaker, {"type": "message_stop"})


def _rest_of(content: str, told: str) -> str:
    """Return the part of a whole block that was not written yet."""
    return content[len(told) :] if content.startswith(told) else ""


def _empty(delta: str) -> dict[str, str]:
    return {"type": "text", "text": ""} if delta == "text_delta" else {"type": "thinking", "thinking": ""}


def _usage(message: _OpenMessage) -> AnthropicUsage:
    return usage_out(message.answered.usage if message.answered else Usage())


def _stop_reason(message: _OpenMessage) -> str | None:
    return stop_reason_of(message.answered) if message.answered else None


def _envelope(speaker: _Speaker, message: _OpenMessage) -> dict[str, Any]:
    return {"id": message.id, "type": "message", "role": "assistant", "model": speaker.model, "stop_sequence": None}


def _assistant(speaker: _Speaker, message: _OpenMessage, block: Mapping[str, Any]) -> AssistantLine:
    return {
        "type": "assistant",
        "message": {
            "id": message.id,
            "type": "message",
            "role": "assistant",
            "model": speaker.model,
            "content": [block],
            "stop_reason": _stop_reason(message),
            "stop_sequence": None,
            "usage": _usage(message),
        },
        "parent_tool_use_id": speaker.parent,
    }


def _event(speaker: _Speaker, event: Mapping[str, Any]) -> StreamEventLine:
    return {"type": "stream_event", "event": event, "parent_tool_use_id": speaker.parent}


def _call_piece(speaker: _Speaker, delta: ev.ToolCallDelta) -> ToolCallDeltaLine:
    return {
        "type": "tool_call_delta",
        "item_id": delta.item_id,
        "tool_name": delta.tool_name,
        "argument": delta.argument,
        "content": delta.content,
        "parent_tool_use_id": speaker.parent,
    }


def _failed(speaker: _Speaker, error: ev.LlmError) -> Iterator[TurnLine]:
    speaker.message = None  # its text was withdrawn
    if not error.will_retry and error.fallback_model is None:
        return
    yield {
        "type": "system",
        "subtype": "api_retry",
        "attempt": error.attempt,
        "retry_delay_ms": round(1000 * (error.retry_in_s or 0)),
        "error": error.error_type,
        "error_message": error.error_message,
        "fallback_model": error.fallback_model,
        "parent_tool_use_id": speaker.parent,
    }


def _compacted(event: ev.Compacted, *, is_wish: bool) -> TurnLine:
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "compact_metadata": {
            "trigger": "manual" if is_wish else "auto",
            "pre_tokens": event.tokens_before,
            "post_tokens": event.tokens_after,
            "messages_summarized": event.messages_summarised,
        },
    }
