"""What of a conversation the model is sent: modes and limits, as pure functions over messages.

The history is the session's and keeps everything. The context is never stored: it is what `cut_for` makes of the
history, when a message was added and again when a request is built, so it is within its limits at both moments, and
what a limit leaves out can still be read, searched and exported.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

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

CHARS_PER_TOKEN = 4
"""The estimate for what no provider has counted yet: English prose and code lie around it."""

IMAGE_CHARS = 6_400
"""What an image counts for: 1,600 tokens, the most that Anthropic charges for one that it has scaled down."""

UNKNOWN_WINDOW = 100_000
"""Tokens, for a model whose window nobody told: fewer than any current hosted model has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRules:
    """What a request may hold of the conversation; 0 is no limit, but for `max_tokens`."""

    mode: ContextMode = "continue"
    """`continue`: all of it; `fresh`: the turn that runs; `sliding`: the last `sliding_messages`."""
    sliding_messages: int = 50
    max_tokens: int = 0
    """Of the whole request; 0 is the model's own window."""
    max_messages: int = 0
    max_chars: int = 0
    max_words: int = 0

    @property
    def most_messages(self) -> int:
        """The limit of messages that mode and setting come to; 0 is none."""
        if self.mode != "sliding":
            return self.max_messages
        return min(self.sliding_messages, self.max_messages or self.sliding_messages)


def chars_of(message: Message) -> int:
    """Characters of everything in the message that is sent, thinking and arguments too."""
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
    """Words of the message's texts, results and thinking, as white space divides them."""
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
    """The estimate."""
    return (n_chars + CHARS_PER_TOKEN - 1) // CHARS_PER_TOKEN


def is_prompt(message: Message) -> bool:
    """Whether somebody said it, and it is no answer of tools."""
    return message.role == "user" and not any(isinstance(block, ToolResultBlock) for block in message.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A message of a conversation, and where it stands in it."""

    message: Message
    unit: int
    """The place of the first of the messages that this one is never separated from: a call and its results."""
    head: int
    """The place of the prompt that a context has to begin with which begins with that unit; its own where it is one."""
    chars: int
    """Of this message and all before it."""
    words: int
    """Likewise; 0 where words are not counted."""


class Rows:
    """A conversation measured message by message, each of them once; it grows at its end and is cut there."""

    def __init__(self, messages: Sequence[Message] = (), *, counts_words: bool = False) -> None:
        self.counts_words = counts_words
        self._rows: list[Row] = []
        self._prompts: dict[str, int] = {}
        """Where each turn's first prompt stands."""
        self._last_prompt: int | None = None
        self._open: set[str] = set()
        """Calls whose results are still to come."""
        for message in messages:
            self.append(message)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> Row:
        return self._rows[place]

    def append(self, message: Message) -> None:
        """Let the conversation grow by a message."""
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
            Row(
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
        """Where the turn begins; where none of it is there, the last unit."""
        if not self._rows:
            return 0
        found = next((place for place, row in enumerate(self._rows) if row.message.turn_id == turn_id), None)
        return self._rows[-1].unit if found is None else self._rows[found].unit


@dataclass(frozen=True, slots=True)
class Cut:
    """A context: the prompt at `head`, where it does not stand in the rest anyway, and everything from `start` on."""

    start: int = 0
    head: int | None = None

    def of(self, messages: Sequence[Message]) -> list[Message]:
        """The messages, each once, in their order."""
        rest = list(messages[self.start :])
        return rest if self.head is None else [messages[self.head], *rest]


def cut_for(rows: Rows, rules: ContextRules, turn_id: str, max_chars: int = 0) -> Cut:
    """The most of the conversation's end that mode and limits allow, at least its last unit.

    It begins with a prompt: of the turn in whose middle the rest begins, the first one is always kept.
    `max_chars` is a further limit of characters, for what tokens come to; 0 is none.
    """
    if not len(rows):
        return Cut()
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


def limits_reached(rows: Rows, rules: ContextRules, turn_id: str, max_chars: int) -> tuple[str, ...]:
    """The settings that leave something of the conversation out, each with its number.

    `max_chars` is what `max_tokens` comes to.
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
    """The context that the rules make of a conversation whose last turn is `turn_id`; see `cut_for`."""
    rows = Rows(messages, counts_words=rules.max_words > 0)
    return cut_for(rows, rules, turn_id, rules.max_tokens * CHARS_PER_TOKEN).of(messages)


def _cut_at(rows: Rows, place: int) -> Cut:
    head = rows[place].head
    return Cut(place, head if head < place else None)


def _next_unit(rows: Rows, place: int) -> int | None:
    for following in range(place + 1, len(rows)):
        if rows[following].unit == following:
            return following
    return None


@dataclass(frozen=True, slots=True)
class _Limits:
    messages: int
    chars: int
    words: int

    def least_place(self, rows: Rows) -> int:
        """The first unit from which on there is no more than the limits allow; where none is, the last unit."""
        found = bisect_left(range(len(rows)), 1, key=lambda place: self.allow(rows, Cut(place)))
        if found < len(rows) and rows[found].unit != found:
            found = _next_unit(rows, found) or len(rows)
        return found if found < len(rows) else rows[len(rows) - 1].unit

    def allow(self, rows: Rows, cut: Cut) -> bool:
        n_messages = len(rows) - cut.start + (cut.head is not None)
        if self.messages and n_messages > self.messages:
            return False
        if self.chars and size_of(rows, cut) > self.chars:
            return False
        return not self.words or _words(rows, cut) <= self.words


def size_of(rows: Rows, cut: Cut) -> int:
    """Characters of a context."""
    if not len(rows):
        return 0
    head = 0 if cut.head is None else rows[cut.head].chars - (rows[cut.head - 1].chars if cut.head else 0)
    return head + rows[len(rows) - 1].chars - (rows[cut.start - 1].chars if cut.start else 0)


def _words(rows: Rows, cut: Cut) -> int:
    head = 0 if cut.head is None else rows[cut.head].words - (rows[cut.head - 1].words if cut.head else 0)
    return head + rows[len(rows) - 1].words - (rows[cut.start - 1].words if cut.start else 0)
