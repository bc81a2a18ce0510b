"""Context selection: which messages of a conversation the model is sent. Modes and limits are pure functions.

The history belongs to the session and keeps everything. The context is never stored: `cut_for` computes it from the
history when a message is added, and again when a request is built, so it is within its limits at both moments. What a
limit leaves out can still be read, searched and exported.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

ContextMode = Literal["continue", "fresh", "sliding"]

Strategy = Literal["summarize", "drop_tool_results", "trim", "off"]

CHARS_PER_TOKEN = 4
"""Estimated characters per token of text that no provider has counted yet: English prose and code are near it."""

IMAGE_CHARS = 6_400
"""Estimated characters of an image: 1,600 tokens, the most that Anthropic charges for one that it has scaled down."""

UNKNOWN_WINDOW = 100_000
"""Assumed window, in tokens, of a model whose window is unknown: smaller than that of any current hosted model."""


class ContextRules(Struct, frozen=True, kw_only=True):
    """Limits on the part of a conversation in a request; 0 means unlimited, except for `max_tokens`."""

    mode: ContextMode = "continue"
    """`continue`: all of it; `fresh`: the running turn; `sliding`: the last `sliding_messages`."""
    sliding_messages: int = 50
    max_tokens: int = 0
    """Maximum tokens of the whole request; 0 for the model's own window."""
    max_messages: int = 0
    max_chars: int = 0
    max_words: int = 0

    @property
    def most_messages(self) -> int:
        """Maximum number of messages, from mode and setting; 0 means unlimited."""
        if self.mode != "sliding":
            return self.max_messages
        return min(self.sliding_messages, self.max_messages or self.sliding_messages)


class CompactionRules(Struct, frozen=True, kw_only=True):
    """When and how a conversation is compacted."""

    strategy: Strategy = "summarize"
    at: float = 0.8
    """Share of the window at which it is compacted."""


def chars_of(message: Message) -> int:
    """Return the number of characters of everything in the message that is sent, including thinking and arguments."""
    if isinstance(message.content, str):
        return len(message.content)
    return sum(map(_chars_of_block, message.content))


def _chars_of_block(block: Block) -> int:
    match block:
        case TextBlock(text=text):
            return len(text)
        case ThinkingBlock(thinking=thinking, signature=signature, provider_data=data):
            return len(thinking) + len(signature or "") + _chars_of_json(data)
        case ImageBlock():
            return IMAGE_CHARS
        case ToolUseBlock(name=name, input=given, provider_data=data):
            return len(name) + _chars_of_json(given) + _chars_of_json(data)
        case ToolResultBlock(content=content):
            return len(content)


def _chars_of_json(value: Mapping[str, Any] | None) -> int:
    return 0 if value is None else len(json.dumps(dict(value), ensure_ascii=False, default=str))


def words_of(message: Message) -> int:
    """Return the number of words, separated by whitespace, in the message's texts, results, thinking and arguments."""
    return sum(len(text.split()) for block in message.blocks if (text := _text_of(block)))


def _text_of(block: Block) -> str:
    match block:
        case TextBlock(text=text):
            return text
        case ThinkingBlock(thinking=thinking):
            return thinking
        case ToolResultBlock(content=content):
            return content
        case ToolUseBlock(input=given):
            return json.dumps(dict(given), ensure_ascii=False, default=str)
        case ImageBlock():
            return ""


def tokens_of(n_chars: int) -> int:
    """Return the estimated number of tokens."""
    return (n_chars + CHARS_PER_TOKEN - 1) // CHARS_PER_TOKEN


def is_prompt(message: Message) -> bool:
    """Whether it is a user message without tool results."""
    return message.role == "user" and not any(isinstance(block, ToolResultBlock) for block in message.blocks)


class ContextRow(Struct, frozen=True, kw_only=True):
    """Message of a conversation, with its position and running totals."""

    message: Message
    unit: int
    """Index of the first message of its unit; the messages of a unit, a call and its results, are never separated."""
    head: int
    """Index of the prompt with which a context must begin if it begins with this unit; the unit's own index if it is
    that prompt."""
    chars: int
    """Characters of this message and all before it."""
    words: int
    """Words of this message and all before it; 0 if words are not counted."""


class ContextRows:
    """Conversation whose messages are measured once each; it grows at its end."""

    def __init__(self, messages: Sequence[Message] = (), *, counts_words: bool = False) -> None:
        self.counts_words = counts_words
        self._rows: list[ContextRow] = []
        self._prompts: dict[str, int] = {}
        """Index of each turn's first prompt."""
        self._last_prompt: int | None = None
        self._open: set[str] = set()
        """Ids of calls that have no result yet."""
        for message in messages:
            self.append(message)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> ContextRow:
        return self._rows[place]

    def append(self, message: Message) -> None:
        """Append a message to the conversation."""
        place, before = len(self._rows), self._rows[-1] if self._rows else None
        if before is not None and self._open:
            unit, head = before.unit, before.head
        else:
            unit, head = place, self._head_of(message, place)
        if is_prompt(message):
            self._last_prompt = place
            self._prompts.setdefault(message.turn_id, place)
        for block in message.blocks:
            if isinstance(block, ToolUseBlock):
                self._open.add(block.id)
            elif isinstance(block, ToolResultBlock):
                self._open.discard(block.tool_use_id)
        self._rows.append(
            ContextRow(
                message=message,
                unit=unit,
                head=head,
                chars=(before.chars if before else 0) + chars_of(message),
                words=(before.words if before else 0) + (words_of(message) if self.counts_words else 0),
            )
        )

    def _head_of(self, message: Message, place: int) -> int:
        first = self._prompts.get(message.turn_id) if message.turn_id else None
        if first is not None:
            return first
        return place if self._last_prompt is None or is_prompt(message) else self._last_prompt

    def first_of(self, turn_id: str) -> int:
        """Return the index at which the turn begins; that of the last unit if the conversation has no message of the
        turn."""
        if not self._rows:
            return 0
        found = next((place for place, row in enumerate(self._rows) if row.message.turn_id == turn_id), None)
        return self._rows[-1].unit if found is None else self._rows[found].unit


class ContextCut(Struct, frozen=True):
    """A context: everything from `start` on, after the prompt at `head` unless the rest contains that prompt."""

    start: int = 0
    head: int | None = None

    def of(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages of the context, each once, in order."""
        rest = list(messages[self.start :])
        return rest if self.head is None else [messages[self.head], *rest]


def cut_for(rows: ContextRows, rules: ContextRules, turn_id: str, max_chars: int = 0) -> ContextCut:
    """Return the largest part of the conversation's end that mode and limits allow, at least its last unit.

    A context begins with a prompt: if the rest begins in the middle of a turn, the turn's first prompt is always kept.
    `max_chars` is a further limit of characters, converted from a limit of tokens; 0 means unlimited.
    """
    if not len(rows):
        return ContextCut()
    chars = min(filter(None, (rules.max_chars, max_chars)), default=0)
    limits = _Limits(rules.most_messages, chars, rules.max_words)
    place = rows.first_of(turn_id) if rules.mode == "fresh" else 0
    place = max(place, limits.least_place(rows))
    while True:
        cut = _cut_at(rows, place)
        following = _next_unit(rows, place)
        if following is None or limits.allow(rows, cut):
            return cut
        place = following


def limits_reached(rows: ContextRows, rules: ContextRules, turn_id: str, max_chars: int) -> tuple[str, ...]:
    """Return the settings that leave part of the conversation out, each with its number.

    `max_chars` is `max_tokens`, converted to characters.
    """
    mode: ContextMode = "fresh" if rules.mode == "fresh" else "continue"
    whole = cut_for(rows, ContextRules(mode=mode), turn_id)
    limits: list[tuple[str, ContextRules, int]] = []
    if rules.mode == "sliding":
        sliding = ContextRules(mode="sliding", sliding_messages=rules.sliding_messages)
        limits.append((f"the mode `sliding` keeps {rules.sliding_messages} messages", sliding, 0))
    if rules.max_messages:
        limits.append((f"max_messages is {rules.max_messages:,}", ContextRules(max_messages=rules.max_messages), 0))
    if rules.max_chars:
        limits.append((f"max_chars is {rules.max_chars:,}", ContextRules(max_chars=rules.max_chars), 0))
    if rules.max_words:
        limits.append((f"max_words is {rules.max_words:,}", ContextRules(max_words=rules.max_words), 0))
    if rules.max_tokens:
        limits.append((f"max_tokens is {rules.max_tokens:,}", ContextRules(), max_chars))
    return tuple(
        name
        for name, alone, most in limits
        if cut_for(rows, alone if alone.mode == "sliding" else replace(alone, mode=mode), turn_id, most) != whole
    )


def window(messages: Sequence[Message], rules: ContextRules, turn_id: str) -> list[Message]:
    """Return the context that the rules select from a conversation whose last turn is `turn_id`, as `cut_for` does."""
    rows = ContextRows(messages, counts_words=rules.max_words > 0)
    return cut_for(rows, rules, turn_id, rules.max_tokens * CHARS_PER_TOKEN).of(messages)


def _cut_at(rows: ContextRows, place: int) -> ContextCut:
    head = rows[place].head
    return ContextCut(place, head if head < place else None)


def _next_unit(rows: ContextRows, place: int) -> int | None:
    for following in range(place + 1, len(rows)):
        if rows[following].unit == following:
            return following
    return None


class _Limits(Struct, frozen=True):
    messages: int
    chars: int
    words: int

    def least_place(self, rows: ContextRows) -> int:
        """Return the first unit from which on the conversation is within the limits; the last unit if none is found."""
        found = bisect_left(range(len(rows)), 1, key=lambda place: self.allow(rows, ContextCut(place)))
        if found < len(rows) and rows[found].unit != found:
            found = _next_unit(rows, found) or len(rows)
        return found if found < len(rows) else rows[len(rows) - 1].unit

    def allow(self, rows: ContextRows, cut: ContextCut) -> bool:
        n_messages = len(rows) - cut.start + (cut.head is not None)
        if self.messages and n_messages > self.messages:
            return False
        if self.chars and size_of(rows, cut) > self.chars:
            return False
        return not self.words or _words(rows, cut) <= self.words


def size_of(rows: ContextRows, cut: ContextCut) -> int:
    """Return the number of characters of a context."""
    if not len(rows):
        return 0
    head = 0 if cut.head is None else rows[cut.head].chars - (rows[cut.head - 1].chars if cut.head else 0)
    return head + rows[len(rows) - 1].chars - (rows[cut.start - 1].chars if cut.start else 0)


def _words(rows: ContextRows, cut: ContextCut) -> int:
    head = 0 if cut.head is None else rows[cut.head].words - (rows[cut.head - 1].words if cut.head else 0)
    return head + rows[len(rows) - 1].words - (rows[cut.start - 1].words if cut.start else 0)
