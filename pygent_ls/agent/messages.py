"""Values that make up a conversation. All are frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import unquote

from msgspec import Struct, field
from msgspec.structs import replace

Role = Literal["user", "assistant"]


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class RejectedFile(Struct, frozen=True, kw_only=True):
    """File in which the user rejected changes of the agent."""

    uri: str
    """URI as the editor spells it."""
    n_changes: int

    @property
    def name(self) -> str:
        """Last part of its path."""
        return unquote(self.uri.rstrip("/").rsplit("/", 1)[-1])


def rejections_in_words(files: Sequence[RejectedFile]) -> str:
    """Describe the rejections: `You rejected 1 change in prices.py`."""
    n_changes = sum(each.n_changes for each in files)
    where = " and ".join(each.name for each in files) if len(files) <= 2 else f"{len(files)} files"
    return f"You rejected {n_changes} change{'s' if n_changes != 1 else ''} in {where}"


class TextBlock(Struct, frozen=True, kw_only=True):
    """Plain text of the user or the model, or an attachment of the user."""

    text: str
    from_outside: bool = False
    """Whether it comes from a file or the editor: data, never an instruction."""
    rejected: tuple[RejectedFile, ...] = ()
    """Files of a review report; empty for all other text. A report is the user's decision in the editor's words."""
    type: Literal["text"] = "text"

    @property
    def is_typed(self) -> bool:
        """Whether the user or the model wrote this text: neither an attachment nor a review report."""
        return not self.from_outside and not self.rejected


class ThinkingBlock(Struct, frozen=True, kw_only=True):
    """Thinking of the model; `signature` is the provider's seal, sent back unchanged."""

    thinking: str
    signature: str | None = None
    redacted: str | None = None
    """Thinking that the provider returns only encrypted, sent back unchanged; `thinking` is then empty."""
    model: str = ""
    """Name of the model that produced it; empty if unknown."""
    family: str = ""
    """Family of that model (`ModelFacts.family`); the block is sent to no other family. Empty in older journals."""
    provider_data: Mapping[str, Any] | None = None
    """JSON that the provider wants back verbatim, under the key that its adapter reads. The block may have no text."""
    type: Literal["thinking"] = "thinking"


class ImageBlock(Struct, frozen=True, kw_only=True):
    """Image; `data` is base64."""

    mime_type: str
    data: str
    type: Literal["image"] = "image"


class ToolUseBlock(Struct, frozen=True, kw_only=True):
    """Tool call of the model. `id` is unique within the session's history.

    `problem` is set if the arguments that the provider sent were not a JSON object: the call stays in the history with
    an empty input, so that the next request is valid, and its result quotes the problem.
    """

    id: str
    name: str
    input: Mapping[str, Any]
    problem: str | None = None
    family: str = ""
    """Family of the model that `provider_data` belongs to."""
    provider_data: Mapping[str, Any] | None = None
    """JSON that the provider wants back verbatim with the call, such as Gemini's thought signature."""
    type: Literal["tool_use"] = "tool_use"


class ToolResultBlock(Struct, frozen=True, kw_only=True):
    """Result of a tool call as the model reads it; exactly one for each `ToolUseBlock` of a history."""

    tool_use_id: str
    content: str
    is_error: bool = False
    from_outside: bool = True
    """Whether it holds or quotes text of files, programs, web pages or other tools; False for our own words alone."""
    type: Literal["tool_result"] = "tool_result"


Block = TextBlock | ThinkingBlock | ImageBlock | ToolUseBlock | ToolResultBlock


class Message(Struct, frozen=True, kw_only=True):
    """One message. Tool results are in a `user` message, in the order of their calls."""

    role: Role
    content: str | tuple[Block, ...]
    turn_id: str = ""
    timestamp: datetime = field(default_factory=now)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Content as blocks; plain text is one `TextBlock`."""
        if isinstance(self.content, str):
            return (TextBlock(text=self.content),)
        return self.content

    @property
    def text(self) -> str:
        """Text blocks joined, without thinking, tools and review reports."""
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock) and not block.rejected)

    @property
    def tool_calls(self) -> tuple[ToolUseBlock, ...]:
        """Tool calls, in the model's order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolUseBlock))


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens as the provider counted them, and their cost; None for an unknown price."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None
    context_tokens: int = 0
    """Tokens of the last request and its answer: how full the context window is."""
    context_limit: int | None = None

    @property
    def total_tokens(self) -> int:
        """Input tokens, cached or not, and output tokens."""
        return self.input_tokens + self.output_tokens

    @property
    def cost_in_words(self) -> str:
        """Cost as text: `$0.0123`, or `cost unknown`."""
        return "cost unknown" if self.cost_usd is None else f"${self.cost_usd:.4f}"

    @property
    def is_nothing(self) -> bool:
        """Whether it counts no model call: no token, and no cost."""
        return self.total_tokens == 0 and self.cost_usd is None

    def plus(self, call: Usage) -> Usage:
        """Return the totals after one more model call, or one more turn; an unknown cost makes the sum unknown."""
        if call.is_nothing:  # a turn that ended before its first call
            return self
        known = self.is_nothing or self.cost_usd is not None
        cost = (self.cost_usd or 0.0) + call.cost_usd if known and call.cost_usd is not None else None
        return Usage(
            input_tokens=self.input_tokens + call.input_tokens,
            output_tokens=self.output_tokens + call.output_tokens,
            cache_read_tokens=self.cache_read_tokens + call.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + call.cache_write_tokens,
            cost_usd=cost,
            context_tokens=call.context_tokens or call.total_tokens,
            context_limit=call.context_limit or self.context_limit,
        )

    def beside(self, other: Usage) -> Usage:
        """Return the totals after calls with another context, which do not change how full this one is."""
        return replace(self.plus(other), context_tokens=self.context_tokens, context_limit=self.context_limit)

    def since(self, before: Usage) -> Usage:
        """Return what was used after `before`, an earlier value of these totals."""
        if self.total_tokens == before.total_tokens:
            return Usage()
        return Usage(
            input_tokens=self.input_tokens - before.input_tokens,
            output_tokens=self.output_tokens - before.output_tokens,
            cache_read_tokens=self.cache_read_tokens - before.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens - before.cache_write_tokens,
            cost_usd=_dollars_between(self.cost_usd, before.cost_usd),
        )


def _dollars_between(cost: float | None, before: float | None) -> float | None:
    return None if cost is None else max(0.0, cost - (before or 0.0))


def user_message(content: str | tuple[Block, ...], *, turn_id: str = "") -> Message:
    """Return a message of the user, or one with tool results."""
    return Message(role="user", content=content, turn_id=turn_id)
