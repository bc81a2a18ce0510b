"""A session's memory of its context: the size of each message, token counts of the provider, and the compactions that
replace parts of the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from pathlib import Path
from typing import Any

from msgspec import Struct

from pygent_ls.agent.context.window import (
    UNKNOWN_WINDOW,
    ContextCut,
    ContextRows,
    ContextRules,
    cut_for,
    size_of,
    tokens_of,
)
from pygent_ls.agent.messages import Block, Message, Usage
from pygent_ls.agent.ports.model import Model

MOST_SCALE = 4.0
"""Maximum factor by which a provider's count corrects the estimate for other texts: a token per character, as in
Chinese."""

LEAST_TO_SCALE = 1_000
"""Minimum tokens of a request whose count is used to correct the estimate."""


class Compaction(Struct, frozen=True, kw_only=True):
    """Part of the history, and the messages that replace it in requests.

    The history itself does not change. If it is cut back before `end`, or is a different one, the compaction does not
    apply.
    """

    start: int
    end: int
    first: Message
    """Message at `start`."""
    last: Message
    """Last message before `end`."""
    stands: tuple[Message, ...]
    task: tuple[Block, ...] = ()
    """The user's first message, with which `stands` begins; empty if that was not summarised."""
    words: tuple[str, ...] = ()
    """What the user said since; empty if that was not summarised."""
    summary: str = ""

    def applies_to(self, history: Sequence[Message]) -> bool:
        """Whether the part of the history is still what was compacted."""
        if len(history) < self.end:
            return False
        return _same(history[self.start], self.first) and _same(history[self.end - 1], self.last)

    def applied(self, history: Sequence[Message]) -> list[Message]:
        """Return the history with the part replaced."""
        return [*history[: self.start], *self.stands, *history[self.end :]]


def _same(one: Message, other: Message) -> bool:
    return one is other or one == other


class _Counted(Struct, frozen=True, kw_only=True):
    """A provider's token count: of a request with the context as it was then, and of its answer."""

    tokens: int
    compaction: Compaction | None
    cut: ContextCut
    length: int
    last: Message | None

    def still_begins(self, memory: ContextMemory, cut: ContextCut) -> bool:
        messages = memory.messages
        if self.cut != cut or self.compaction is not memory.compaction or len(messages) < self.length:
            return False
        return self.last is (messages[self.length - 1] if self.length else None)


class ContextMemory:
    """A session's context memory. It belongs to the event loop's thread."""

    def __init__(self) -> None:
        self.compaction: Compaction | None = None
        """Compaction that applies, as of the last `follow`."""
        self.messages: list[Message] = []
        """Conversation with compacted parts replaced, as of the last `follow`."""
        self.rows = ContextRows()
        self.seen: tuple[Compaction | None, ContextCut] = (None, ContextCut())
        """Context that the model was last sent."""
        self.n_chars_around = 0
        """Characters of the system prompt and the tools that were sent with it."""
        self.told_left_out: tuple[str, ...] | None = None
        """Reasons, as last shown to the user, why the model was sent less than the whole conversation; None if it is
        sent all."""
        self.tried: tuple[Message, str] | None = None
        """Last message of the conversation at the last attempt to compact it, and the trigger of the attempt."""
        self.compactions: list[Compaction] = []
        """All compactions, in order. None is removed: a history that was cut back may be restored."""
        self.files_shown: list[tuple[Path, ...]] = []
        """Files that the results of each message show, for the messages examined so far."""
        self.reuse: dict[str, Any] = {}
        """Memory for the adapters of models (`ModelRequest.reuse`)."""
        self._marked: list[Message] = []
        self._marked_for = ""
        self._counted: _Counted | None = None
        self._scale = 1.0
        self._learned: dict[str, int] = {}

    def copy(self) -> ContextMemory:
        """Return a memory with the same compactions and what was learned of the models, for a request that is not part
        of the conversation."""
        other = ContextMemory()
        other.compactions = list(self.compactions)
        other.told_left_out = self.told_left_out
        other._scale, other._learned = self._scale, dict(self._learned)
        return other

    def follow(self, history: Sequence[Message], *, counts_words: bool = False) -> None:
        """Update to the current history; messages that are already known are not measured again."""
        used = self._longest(history)
        messages = used.applied(history) if used else list(history)
        n_known = len(self.messages)
        grows = n_known <= len(messages) and all(map(is_, self.messages, messages))
        if not grows or self.rows.counts_words != counts_words:
            self.rows = ContextRows(counts_words=counts_words)
            self._marked = []
            self.files_shown = []
            n_known = 0
        for message in messages[n_known:]:
            self.rows.append(message)
        self.messages = messages
        self.compaction = used

    def _longest(self, history: Sequence[Message]) -> Compaction | None:
        """Return the compaction that covers most of the history; of equals the last one."""
        applicable = [each for each in reversed(self.compactions) if each.applies_to(history)]
        return max(applicable, key=lambda each: each.end, default=None)

    def cut(self, rules: ContextRules, turn_id: str, max_chars: int = 0) -> ContextCut:
        """Return the context that `cut_for` selects."""
        return cut_for(self.rows, rules, turn_id, max_chars)

    def marked(self, cut: ContextCut, mark: Callable[[Message], Message], reader: str) -> list[Message]:
        """Return the messages of a context as they are sent to `reader`. Each message is marked once, and is the same
        object each time."""
        if self._marked_for != reader:
            self._marked_for, self._marked = reader, []
        self._marked += map(mark, self.messages[len(self._marked) :])
        return cut.of(self._marked)

    # Tokens

    def tokens(self, cut: ContextCut, n_chars_around: int) -> int:
        """Return the tokens of a request: the provider's count plus the estimate for what was added since, or the
        estimate alone.

        `n_chars_around` is the number of characters sent beside the messages.
        """
        counted = self._counted
        if counted is None or not counted.still_begins(self, cut):
            return self.scaled(size_of(self.rows, cut) + n_chars_around)
        begin = counted.length
        if begin < len(self.messages) and self.messages[begin].role == "assistant":  # the answer, which was counted
            begin += 1
        if begin >= len(self.messages):
            return counted.tokens
        return counted.tokens + tokens_of(size_of(self.rows, ContextCut(begin)))

    def scaled(self, n_chars: int) -> int:
        """Return the estimated tokens, scaled up if a provider was seen to count more."""
        return int(tokens_of(n_chars) * self._scale)

    def chars_for(self, n_tokens: int) -> int:
        """Return the number of characters estimated for `n_tokens`; at least one."""
        return max(1, int(n_tokens * 4 / self._scale))

    def counted(self, usage: Usage, cut: ContextCut, n_chars_around: int) -> int:
        """Record that a request with the context was answered; return how many tokens of the window are used."""
        tokens = usage.context_tokens or usage.total_tokens
        n_chars = size_of(self.rows, cut) + n_chars_around
        if not tokens:
            return self.scaled(n_chars)
        estimate = tokens_of(n_chars)
        if estimate >= LEAST_TO_SCALE:
            self._scale = min(max(usage.input_tokens / estimate, 1.0), MOST_SCALE)
        self._counted = _Counted(
            tokens=tokens,
            compaction=self.compaction,
            cut=cut,
            length=len(self.messages),
            last=self.messages[-1] if self.messages else None,
        )
        return tokens

    def limit(self, rules: ContextRules, model: Model) -> int:
        """Return the maximum tokens of a request to the model: the settings' limit, else its window; less if a smaller
        request was refused."""
        limit = rules.max_tokens or model.facts.context_limit or UNKNOWN_WINDOW
        return min(limit, self._learned.get(model.name, limit))

    def refused(self, model: Model, n_tokens: int) -> None:
        """Record that the model has no room for a request of `n_tokens`."""
        self._learned[model.name] = min(n_tokens, self._learned.get(model.name, n_tokens))

    # Compacting

    def recall(self, compactions: Iterable[Compaction]) -> None:
        """Restore the compactions that an earlier daemon made."""
        self.compactions = list(compactions)

    def add(self, compaction: Compaction, history: Sequence[Message]) -> None:
        """Add a compaction and apply it to the history."""
        self.compactions.append(compaction)
        self.follow(history, counts_words=self.rows.counts_words)
