"""Chunks of a stream put together into the model's answer."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

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

    def message(self, turn_id: str, taken_ids: Container[str]) -> Message:
        """The whole answer. Ids that are empty, or taken already, are made unique."""
        return self._message(turn_id, self._tool_calls(turn_id, taken_ids), self.text)

    def message_without_calls(self, turn_id: str, *, cut_off: bool) -> Message | None:
        """The answer less its tool calls, which must not run; None where nothing is left."""
        if not self.text.strip():
            return None
        return self._message(turn_id, (), self.text + CUT_OFF if cut_off else self.text)

    def _message(self, turn_id: str, calls: tuple[ToolUseBlock, ...], text: str) -> Message:
        blocks: list[Block] = []
        if self.thinking:
            blocks.append(ThinkingBlock(thinking=self.thinking, signature=self.signature))
        if text.strip():  # providers reject a block of white space
            blocks.append(TextBlock(text=text))
        return Message(role="assistant", content=(*blocks, *calls), turn_id=turn_id)

    def _tool_calls(self, turn_id: str, taken_ids: Container[str]) -> tuple[ToolUseBlock, ...]:
        calls: list[ToolUseBlock] = []
        seen: set[str] = set()
        for index, parts in sorted(self._calls.items()):
            call_id = parts.id
            n = index
            while not call_id or call_id in seen or call_id in taken_ids:
                call_id = f"call_{turn_id}_{n}"
                n += 1
            seen.add(call_id)
            given, problem = parse_arguments("".join(parts.arguments))
            calls.append(ToolUseBlock(id=call_id, name=parts.name, input=given, problem=problem))
        return tuple(calls)


MAX_NESTING = 64
"""Of lists and objects in arguments: far more than a tool has, far less than what exhausts the interpreter's stack
in whatever walks through them later."""

MAX_QUOTED_CHARS = 300
"""Of broken arguments, what an error quotes: enough to see the mistake."""


def parse_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """The arguments object; where the text is none, an empty one and what is wrong with it."""
    if not text.strip():
        return {}, None
    quoted = text if len(text) <= MAX_QUOTED_CHARS else text[:MAX_QUOTED_CHARS] + "…"
    try:
        value: Any = json.loads(text)
        if _depth_exceeds(value, MAX_NESTING):
            raise ValueError(f"nested deeper than {MAX_NESTING}")
        # the history goes back to the provider: no NaN, no half of a surrogate pair
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        return {}, f"The arguments are not valid JSON ({error}): {quoted}\nCall the tool again with one JSON object."
    if not isinstance(value, dict):
        return {}, f"The arguments must be one JSON object, not {type(value).__name__}: {quoted}"
    return value, None  # pyright: ignore[reportUnknownVariableType] - JSON keys are text


def _depth_exceeds(value: Any, limit: int) -> bool:
    """Whether lists and objects lie deeper than that in each other; level by level, as recursion may not reach."""
    level: list[Any] = [value]
    for _ in range(limit + 1):
        level = [inner for outer in level for inner in _members(outer)]
        if not level:
            return False
    return True


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()  # pyright: ignore[reportUnknownVariableType]
    return value if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType]
