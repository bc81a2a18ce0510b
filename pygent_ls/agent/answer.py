"""Chunks of a stream put together into the model's answer."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from pygent_ls.agent.arguments import parse_arguments
from pygent_ls.agent.messages import Block, Message, TextBlock, ThinkingBlock, ToolUseBlock, Usage
from pygent_ls.agent.model import (
    FINISH_REASONS,
    Chunk,
    FinishChunk,
    FinishReason,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)

CUT_OFF = "\n[cut off: the turn was cancelled here]"
"""Ends the text of an answer that was cancelled, so that the model does not take it for a whole one."""


@dataclass(slots=True)
class _CallParts:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Answer:
    """One model call's answer, growing chunk by chunk."""

    model: str = ""
    """The name of the model that gives it."""
    text: str = ""
    thinking: str = ""
    signature: str | None = None
    usage: Usage = field(default_factory=Usage)
    finish: str | None = None
    """The provider's word for why it stopped; None while it streams, or where the stream ended without one."""
    _text_parts: list[str] = field(default_factory=list[str])
    _thinking_parts: list[str] = field(default_factory=list[str])
    _calls: dict[int, _CallParts] = field(default_factory=dict[int, _CallParts])

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        match chunk:
            case TextChunk(text=text):
                self._text_parts.append(text)
            case ThinkingChunk(thinking=thinking, signature=signature):
                self._thinking_parts.append(thinking)
                self.signature = signature or self.signature
            case ToolCallChunk():
                self._add_call(chunk)
            case UsageChunk(usage=usage):
                self.usage = usage
            case FinishChunk(reason=reason):
                self.finish = reason

    def _add_call(self, chunk: ToolCallChunk) -> None:
        parts = self._calls.setdefault(chunk.index, _CallParts())
        parts.id = parts.id or chunk.id or ""
        parts.name = parts.name or chunk.name or ""
        parts.arguments.append(chunk.arguments)

    def close(self) -> None:
        """Join the pieces; called once the stream is over, however it ended."""
        self.text = "".join(self._text_parts)
        self.thinking = "".join(self._thinking_parts)

    @property
    def finish_reason(self) -> FinishReason:
        """The reason in our words."""
        return FINISH_REASONS.get(self.finish or "", "unknown")

    @property
    def has_calls(self) -> bool:
        """Whether a tool call has begun."""
        return bool(self._calls)

    @property
    def is_empty(self) -> bool:
        """Neither text nor a tool call."""
        return not self.text.strip() and not self._calls

    def message(self, turn_id: str, taken_ids: Container[str], readers: Container[str] = ()) -> Message:
        """The whole answer. Ids that are empty, or taken already, are made unique; broken arguments are mended, those
        of the `readers`, tools that only read, with more liberty."""
        return self._message(turn_id, self._tool_calls(turn_id, taken_ids, readers), self.text)

    def message_without_calls(self, turn_id: str, *, cut_off: bool) -> Message | None:
        """The answer less its tool calls, which must not run; None where nothing is left."""
        if not self.text.strip():
            return None
        return self._message(turn_id, (), self.text + CUT_OFF if cut_off else self.text)

    def _message(self, turn_id: str, calls: tuple[ToolUseBlock, ...], text: str) -> Message:
        blocks: list[Block] = []
        if self.thinking:
            blocks.append(ThinkingBlock(thinking=self.thinking, signature=self.signature, model=self.model))
        if text.strip():  # providers reject a block of white space
            blocks.append(TextBlock(text=text))
        return Message(role="assistant", content=(*blocks, *calls), turn_id=turn_id)

    def _tool_calls(self, turn_id: str, taken_ids: Container[str], readers: Container[str]) -> tuple[ToolUseBlock, ...]:
        calls: list[ToolUseBlock] = []
        seen: set[str] = set()
        for index, parts in sorted(self._calls.items()):
            call_id = parts.id
            n = index
            while not call_id or call_id in seen or call_id in taken_ids:
                call_id = f"call_{turn_id}_{n}"
                n += 1
            seen.add(call_id)
            given, problem = parse_arguments("".join(parts.arguments), may_close=parts.name in readers)
            calls.append(ToolUseBlock(id=call_id, name=parts.name, input=given, problem=problem))
        return tuple(calls)
