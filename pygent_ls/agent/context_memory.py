"""What a session remembers of its context: how large each message is, what a provider has counted, and what stands for
the parts of the history that were compacted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import is_
from pathlib import Path

from pygent_ls.agent.context import UNKNOWN_WINDOW, ContextRules, Cut, Rows, cut_for, size_of, tokens_of
from pygent_ls.agent.messages import Block, Message, Usage
from pygent_ls.agent.model import Model

MOST_SCALE = 4.0
"""By how much a provider's count may exceed the estimate for it to be believed of other texts: a token a character, as
in Chinese."""

LEAST_TO_SCALE = 1_000
"""Tokens of a request from which its count says something about the estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """A part of the history, and the messages that stand for it in requests.

    The history itself stays as it is; where it is cut back before `end`, or is another one, this does not count.
    """

    start: int
    end: int
    first: Message
    """The one at `start`."""
    last: Message
    """The one before `end`."""
    stands: tuple[Message, ...]
    task: tuple[Block, ...] = ()
    """The first message of the user's, which `stands` begins with; empty where it is not summed up."""
    words: tuple[str, ...] = ()
    """What the user said since, likewise."""
    summary: str = ""

    def applies_to(self, history: Sequence[Message]) -> bool:
        """Whether the part is still what was compacted."""
        if len(history) < self.end:
            return False
        return _same(history[self.start], self.first) and _same(history[self.end - 1], self.last)

    def applied(self, history: Sequence[Message]) -> list[Message]:
        """The history with what stands for the part."""
        return [*history[: self.start], *self.stands, *history[self.end :]]


def _same(one: Message, other: Message) -> bool:
    return one is other or one == other


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """What a provider counted: a request of the context as it was then, and its answer."""

    tokens: int
    compaction: Compaction | None
    cut: Cut
    length: int
    last: Message | None

    def still_begins(self, memory: ContextMemory, cut: Cut) -> bool:
        messages = memory.messages
        if self.cut != cut or self.compaction is not memory.compaction or len(messages) < self.length:
            return False
        return self.last is (messages[self.length - 1] if self.length else None)


class ContextMemory:
    """A session's context. It belongs to the event loop's thread."""

    def __init__(self) -> None:
        self.compaction: Compaction | None = None
        """What counts now; as of the last `follow`."""
        self.messages: list[Message] = []
        """The conversation, with what stands for compacted parts; likewise."""
        self.rows = Rows()
        self.seen: tuple[Compaction | None, Cut] = (None, Cut())
        """What the model was sent last."""
        self.n_chars_around = 0
        """Of the system prompt and the tools that it was sent beside it."""
        self.told_left_out: tuple[str, ...] | None = None
        """Why the model was last sent less than the whole conversation, as the user was told; None if it is sent all.
        """
        self.tried: tuple[Message, str] | None = None
        """The last message of the conversation when compacting it was tried last, and why it was."""
        self.compactions: list[Compaction] = []
        """All that were made, in their order. None is forgotten: a history that was cut back may be brought again."""
        self.files_shown: list[tuple[Path, ...]] = []
        """Of each message, as far as it was looked at: the files that its results show."""
        self._marked: list[Message] = []
        self._marked_for = ""
        self._counted: _Counted | None = None
        self._scale = 1.0
        self._learned: dict[str, int] = {}

    def follow(self, history: Sequence[Message], *, counts_words: bool = False) -> None:
        """Take the history as it is now; what is known of its messages is not measured again."""
        used = self._longest(history)
        messages = used.applied(history) if used else list(history)
        n_known = len(self.messages)
        grows = n_known <= len(messages) and all(map(is_, self.messages, messages))
        if not grows or self.rows.counts_words != counts_words:
            self.rows = Rows(counts_words=counts_words)
            self._marked = []
            self.files_shown = []
            n_known = 0
        for message in messages[n_known:]:
            self.rows.append(message)
        self.messages = messages
        self.compaction = used

    def _longest(self, history: Sequence[Message]) -> Compaction | None:
        """The compaction that stands for most of the history; of equals the last one."""
        applicable = [each for each in reversed(self.compactions) if each.applies_to(history)]
        return max(applicable, key=lambda each: each.end, default=None)

    def cut(self, rules: ContextRules, turn_id: str, max_chars: int = 0) -> Cut:
        """See `cut_for`."""
        return cut_for(self.rows, rules, turn_id, max_chars)

    def marked(self, cut: Cut, mark: Callable[[Message], Message], reader: str) -> list[Message]:
        """The messages of a context as they are sent to `reader`; the same objects each time, which are never marked
        twice."""
        if self._marked_for != reader:
            self._marked_for, self._marked = reader, []
        self._marked += map(mark, self.messages[len(self._marked) :])
        return cut.of(self._marked)

    # Tokens

    def tokens(self, cut: Cut, n_chars_around: int) -> int:
        """Of a request: what the provider counted, and the estimate for what was added since; or the estimate alone.

        `n_chars_around` are those of what is sent beside the messages.
        """
        counted = self._counted
        if counted is None or not counted.still_begins(self, cut):
            return self.scaled(size_of(self.rows, cut) + n_chars_around)
        begin = counted.length
        if begin < len(self.messages) and self.messages[begin].role == "assistant":  # the answer, which was counted
            begin += 1
        if begin >= len(self.messages):
            return counted.tokens
        return counted.tokens + tokens_of(size_of(self.rows, Cut(begin)))

    def scaled(self, n_chars: int) -> int:
        """The estimate, made larger where a provider was seen to count more than it."""
        return int(tokens_of(n_chars) * self._scale)

    def chars_for(self, n_tokens: int) -> int:
        """The characters that so many tokens are taken for; at least one."""
        return max(1, int(n_tokens * 4 / self._scale))

    def counted(self, usage: Usage, cut: Cut, n_chars_around: int) -> int:
        """A request of the context was answered; returns how full the window is."""
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
        """Tokens that a request to the model may hold: the settings' limit, else its window; less where a request was
        refused that was smaller."""
        limit = rules.max_tokens or model.facts.context_limit or UNKNOWN_WINDOW
        return min(limit, self._learned.get(model.name, limit))

    def refused(self, model: Model, n_tokens: int) -> None:
        """The model has no room for a request of so many tokens."""
        self._learned[model.name] = min(n_tokens, self._learned.get(model.name, n_tokens))

    # Compacting

    def recall(self, compactions: Iterable[Compaction]) -> None:
        """Take over those of a daemon before this one."""
        self.compactions = list(compactions)

    def add(self, compaction: Compaction, history: Sequence[Message]) -> None:
        """From now on, messages stand for a part of the history."""
        self.compactions.append(compaction)
        self.follow(history, counts_words=self.rows.counts_words)
