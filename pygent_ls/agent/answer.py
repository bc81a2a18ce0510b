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
class _Thought:
    parts: list[str] = field(default_factory=list[str])
    signature: str | None = None
    redacted: str | None = None

    @property
    def is_over(self) -> bool:
        return self.signature is not None or self.redacted is not None


@dataclass(slots=True)
class Answer:
    """One model call's answer, growing chunk by chunk."""

    model: str = ""
    """The name of the model that gives it."""
    text: str = ""
    thinking: str = ""
    usage: Usage = field(default_factory=Usage)
    finish: str | None = None
    """The provider's word for why it stopped; None while it streams, or where the stream ended without one."""
    _said: list[list[str] | _Thought] = field(default_factory=list["list[str] | _Thought"])
    """Texts, in pieces, and thoughts, in the order in which they began: providers want theirs back in it."""
    _calls: dict[int, _CallParts] = field(default_factory=dict[int, _CallParts])

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk."""
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

    def _add_text(self, text: str) -> None:
        if not self._said or isinstance(self._said[-1], _Thought):
            self._said.append([])
        last = self._said[-1]
        if isinstance(last, list):
            last.append(text)

    def _add_thinking(self, chunk: ThinkingChunk) -> None:
        """The piece joins the thought that is not over; a provider that seals none has one thought."""
        thought = next((each for each in self._said if isinstance(each, _Thought) and not each.is_over), None)
        if thought is None:
            thought = _Thought()
            self._said.append(thought)
        thought.parts.append(chunk.thinking)
        thought.signature = chunk.signature or thought.signature
        thought.redacted = chunk.redacted or thought.redacted

    def _add_call(self, chunk: ToolCallChunk) -> None:
        parts = self._calls.setdefault(chunk.index, _CallParts())
        parts.id = parts.id or chunk.id or ""
        parts.name = parts.name or chunk.name or ""
        parts.arguments.append(chunk.arguments)

    def close(self) -> None:
        """Join the pieces; called once the stream is over, however it ended."""
        self.text = "".join("".join(each) for each in self._said if isinstance(each, list))
        thoughts = ("".join(each.parts) for each in self._said if isinstance(each, _Thought))
        self.thinking = "\n\n".join(filter(None, thoughts))

    @property
    def finish_reason(self) -> FinishReason:
        """The reason in our words."""
        return FINISH_REASONS.get(self.finish or "", "unknown")

    @property
    def has_calls(self) -> bool:
        """Whether a tool call has begun."""
        return bool(self._calls)

    @property
    def n_calls(self) -> int:
        """The tool calls that are taken from it: none of an answer that was cut off or withheld."""
        return 0 if self.finish_reason in ("length", "refusal") else len(self._calls)

    @property
    def is_empty(self) -> bool:
        """Neither text nor a tool call."""
        return not self.text.strip() and not self._calls

    def message(self, turn_id: str, taken_ids: Container[str], readers: Container[str] = ()) -> Message:
        """The whole answer. Ids that are empty, or taken already, are made unique; broken arguments are mended, those
        of the `readers`, tools that only read, with more liberty."""
        calls = self._tool_calls(turn_id, taken_ids, readers)
        return Message(role="assistant", content=(*self._blocks(), *calls), turn_id=turn_id)

    def message_without_calls(self, turn_id: str, *, cut_off: bool) -> Message | None:
        """The answer less its tool calls, which must not run; None where nothing is left."""
        if not self.text.strip():
            return None
        blocks = self._blocks()
        if cut_off:
            number, last = [(place, block) for place, block in enumerate(blocks) if isinstance(block, TextBlock)][-1]
            blocks[number] = TextBlock(text=last.text + CUT_OFF)
        return Message(role="assistant", content=tuple(blocks), turn_id=turn_id)

    def _blocks(self) -> list[Block]:
        """Texts and thoughts in their order; without texts of white space, which providers reject."""
        blocks: list[Block] = []
        for each in self._said:
            if isinstance(each, list):
                text = "".join(each)
                if text.strip():
                    blocks.append(TextBlock(text=text))
            elif each.is_over or any(each.parts):
                thinking = "".join(each.parts)
                blocks.append(
                    ThinkingBlock(thinking=thinking, signature=each.signature, redacted=each.redacted, model=self.model)
                )
        return blocks

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
