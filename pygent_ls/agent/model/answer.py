"""The model's answer, assembled from the chunks of a stream."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from msgspec import Struct, field

from pygent_ls.agent.messages import Block, Message, TextBlock, ThinkingBlock, ToolUseBlock, Usage
from pygent_ls.agent.ports.model import (
    ENDLESS,
    FINISH_REASONS,
    Chunk,
    Completion,
    FinishChunk,
    FinishReason,
    NoticeChunk,
    SearchChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)
from pygent_ls.agent.tools.arguments import parse_arguments

CUT_OFF = "\n[cut off: the turn was cancelled here]"
"""Suffix of the text of a cancelled answer, so that the model does not take it for complete."""


class _CallParts(Struct):
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    provider_data: Mapping[str, Any] | None = None
    item_id: str = ""
    """Item under which it was shown while it arrived; empty if it was not."""


class _Thought(Struct):
    parts: list[str] = field(default_factory=list[str])
    signature: str | None = None
    redacted: str | None = None
    provider_data: Mapping[str, Any] | None = None

    @property
    def is_over(self) -> bool:
        return self.signature is not None or self.redacted is not None or self.provider_data is not None


class ModelAnswer(Struct):
    """Answer of one model call, which grows chunk by chunk."""

    model: str = ""
    """Name of the model that answers."""
    family: str = ""
    """Family of that model (`ModelFacts.family`)."""
    text: str = ""
    thinking: str = ""
    usage: Usage = field(default_factory=Usage)
    finish: str | None = None
    """The provider's finish reason; None while the answer streams, or if the stream ended without one."""
    items: dict[str, str] = field(default_factory=dict[str, str])
    """Items of calls that were shown while they arrived, by the ids of the calls in `message`."""
    _said: list[list[str] | _Thought | _CallParts] = field(default_factory=list["list[str] | _Thought | _CallParts"])
    """Texts (in pieces), thoughts and calls in the order in which they began: providers require them back in this
    order."""
    _calls: dict[int, _CallParts] = field(default_factory=dict[int, _CallParts])

    @classmethod
    def of(cls, completion: Completion) -> ModelAnswer:
        """Return the answer of a completion that was not streamed."""
        return cls(text=completion.text, usage=completion.usage, finish="stop", _said=[[completion.text]])

    def add(self, chunk: Chunk) -> None:
        """Add the next chunk."""
        match chunk:
            case TextChunk(text=text):
                self._add_text(text)
            case ThinkingChunk():
                self._add_thinking(chunk)
            case ToolCallChunk():
                self._add_call(chunk)
            case UsageChunk(usage=usage):
                self.usage = usage
            case FinishChunk(reason=reason):
                self.finish = reason
            case SearchChunk() | NoticeChunk():
                pass

    def _add_text(self, text: str) -> None:
        last = self._said[-1] if self._said else None
        if isinstance(last, list):
            last.append(text)
        else:
            self._said.append([text])

    def _add_thinking(self, chunk: ThinkingChunk) -> None:
        """Add the piece to the open thought; a provider that seals no thoughts has only one."""
        thought = next((each for each in self._said if isinstance(each, _Thought) and not each.is_over), None)
        if thought is None:
            thought = _Thought()
            self._said.append(thought)
        thought.parts.append(chunk.thinking)
        thought.signature = chunk.signature or thought.signature
        thought.redacted = chunk.redacted or thought.redacted
        thought.provider_data = chunk.provider_data or thought.provider_data

    def _add_call(self, chunk: ToolCallChunk) -> None:
        parts = self._calls.get(chunk.index)
        if parts is None:
            parts = self._calls[chunk.index] = _CallParts()
            self._said.append(parts)
        parts.provider_data = chunk.provider_data or parts.provider_data
        parts.id = parts.id or chunk.id or ""
        parts.name = parts.name or chunk.name or ""
        parts.arguments.append(chunk.arguments)

    def note_item(self, index: int, item_id: str) -> None:
        """Remember the item under which a call is shown while it arrives."""
        self._calls[index].item_id = item_id

    def close(self) -> None:
        """Join the pieces. Called once the stream is over, however it ended."""
        self.text = "".join("".join(each) for each in self._said if isinstance(each, list))
        thoughts = ("".join(each.parts) for each in self._said if isinstance(each, _Thought))
        self.thinking = "\n\n".join(filter(None, thoughts))

    @property
    def finish_reason(self) -> FinishReason:
        """Normalised finish reason."""
        return FINISH_REASONS.get(self.finish or "", "unknown")

    @property
    def is_endless(self) -> bool:
        """Whether the stream was stopped because it went far beyond its limit."""
        return self.finish == ENDLESS

    @property
    def has_calls(self) -> bool:
        """Whether a tool call has begun."""
        return bool(self._calls)

    @property
    def n_calls(self) -> int:
        """Number of tool calls that are used: 0 if the answer was cut off or withheld."""
        return 0 if self.finish_reason in ("length", "refusal") else len(self._calls)

    @property
    def is_empty(self) -> bool:
        """Whether it has neither text nor a tool call."""
        return not self.text.strip() and not self._calls

    def message(self, turn_id: str, taken_ids: Container[str], readers: Container[str] = ()) -> Message:
        """Return the complete answer as a message. Ids that are empty or already taken are replaced by unique ones.
        Broken arguments are repaired, more liberally for `readers`, the tools that only read."""
        calls = self._tool_calls(turn_id, taken_ids, readers)
        return Message(role="assistant", content=tuple(self._blocks(calls)), turn_id=turn_id)

    def message_without_calls(self, turn_id: str, *, cut_off: bool) -> Message | None:
        """Return the answer without its tool calls, which must not run; None if nothing is left."""
        if not self.text.strip():
            return None
        blocks = self._blocks({})
        if cut_off:
            number, last = [(place, block) for place, block in enumerate(blocks) if isinstance(block, TextBlock)][-1]
            blocks[number] = TextBlock(text=last.text + CUT_OFF)
        return Message(role="assistant", content=tuple(blocks), turn_id=turn_id)

    def _blocks(self, calls: Mapping[int, ToolUseBlock]) -> list[Block]:
        """Return texts, thoughts and calls in order, without whitespace-only texts, which providers reject.

        A call that is not in `calls` is left out together with the thoughts that led to it: a provider does not accept
        a thought without what followed it.
        """
        blocks: list[Block] = []
        indices = iter(sorted(self._calls))
        for each in self._said:
            match each:
                case list():
                    text = "".join(each)
                    if text.strip():
                        blocks.append(TextBlock(text=text))
                case _Thought():
                    if each.is_over or any(each.parts):
                        blocks.append(self._thinking_block(each))
                case _CallParts():
                    index = next(indices)
                    if index in calls:
                        blocks.append(calls[index])
                    else:
                        while blocks and isinstance(blocks[-1], ThinkingBlock):
                            blocks.pop()
        return blocks

    def _thinking_block(self, thought: _Thought) -> ThinkingBlock:
        return ThinkingBlock(
            thinking="".join(thought.parts),
            signature=thought.signature,
            redacted=thought.redacted,
            model=self.model,
            family=self.family,
            provider_data=thought.provider_data,
        )

    def _tool_calls(
        self, turn_id: str, taken_ids: Container[str], readers: Container[str]
    ) -> Mapping[int, ToolUseBlock]:
        """Return the calls by their index in the stream."""
        calls: dict[int, ToolUseBlock] = {}
        seen: set[str] = set()
        for index, parts in sorted(self._calls.items()):
            call_id = parts.id
            n = index
            while not call_id or call_id in seen or call_id in taken_ids:
                call_id = f"call_{turn_id}_{n}"
                n += 1
            seen.add(call_id)
            if parts.item_id:
                self.items[call_id] = parts.item_id
            given, problem = parse_arguments("".join(parts.arguments), may_close=parts.name in readers)
            calls[index] = ToolUseBlock(
                id=call_id,
                name=parts.name,
                input=given,
                problem=problem,
                family=self.family if parts.provider_data else "",
                provider_data=parts.provider_data,
            )
        return calls
