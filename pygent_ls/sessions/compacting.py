"""A session's context at the user's wish: how full it is, and making it shorter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pygent_ls.agent.compacting import Compacting
from pygent_ls.agent.context import ContextMode, ContextRules
from pygent_ls.agent.events import AgentEvent, Compacted, Notice, UsageReported
from pygent_ls.agent.hooking import TurnHooks
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.agent.model import Model
from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.errors import ModelError, SessionError
from pygent_ls.sessions.turn_settings import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReport:
    """What the next request would hold of the conversation, and how full that makes the window."""

    mode: ContextMode
    n_messages: int
    """Of the whole conversation."""
    n_sent: int
    """Of the context; what stands for others is among them."""
    n_replaced: int
    """Of the conversation's, those that something stands for."""
    tokens: int
    """Of the context, with what was sent around it last: counted by the provider as far as it can be, else estimated.
    """
    limit: int
    strategy: str
    compacts_at: int
    """Tokens."""


@dataclass(kw_only=True)
class SessionContext:
    """The context of one session between its turns."""

    messages: list[Message]
    """The session's own list."""
    around: Callable[[], Surroundings]
    limits: Callable[[], Limits]
    model: Callable[[], Model]
    """The session's; raises `ModelError`."""
    make_model: Callable[[str], Model]
    """Likewise."""
    tell: Callable[[AgentEvent], Awaitable[None]]
    spend: Callable[[Usage], None]
    chars_around: Callable[[], Awaitable[int]]
    """Characters of the system prompt and the tools that the next request would hold."""
    mode: ContextMode | None = None
    """That was chosen for this session; None is the settings'."""

    @property
    def rules(self) -> ContextRules:
        """The settings', with what was chosen for this session."""
        return self.rules_for(None)

    def rules_for(self, agents: ContextMode | None) -> ContextRules:
        """The same for an agent that has a mode of its own."""
        rules = self.limits().context
        return replace(rules, mode=self.mode or agents or rules.mode)

    def summarizer(self) -> tuple[Model | None, Sequence[str]]:
        """The model of the settings that sums up, and what is to be told of it; None where the turn's own does."""
        name = self.limits().summarizer
        if not name:
            return None, ()
        try:
            return self.make_model(name), ()
        except ModelError as error:
            return None, (
                (
                    f"compaction.model {name} is not available, so the model of the turn writes the summary: "
                    f"{error.message}"
                ),
            )

    async def measure(self) -> None:
        """Learn what is sent beside the conversation, if no request was made since the daemon began."""
        memory = self.around().context
        if not memory.n_chars_around:
            memory.n_chars_around = await self.chars_around()

    def report(self) -> ContextReport:
        """How full the context is. Raises `ModelError` where the session's model cannot be had."""
        memory, rules, limits = self.around().context, self.rules, self.limits()
        memory.follow(self.messages, counts_words=rules.max_words > 0)
        cut = memory.cut(rules, self._last_turn_id())
        limit = memory.limit(rules, self.model())
        used = memory.compaction
        return ContextReport(
            mode=rules.mode,
            n_messages=len(self.messages),
            n_sent=len(cut.of(memory.messages)),
            n_replaced=used.end - used.start if used else 0,
            tokens=memory.tokens(cut, memory.n_chars_around),
            limit=limit,
            strategy=limits.compaction.strategy,
            compacts_at=int(limits.compaction.at * limit),
        )

    async def compact(self, instruction: str = "") -> Compacted:
        """Sum the conversation up now, with an eye to what the instruction says, and keep the last exchange. Only while
        nothing else works on the conversation.

        Raises `SessionError` (`nothing_to_compact`, `denied_by_hook`), and `ModelError` where it could not be summed
        up; then, and when cancelled, nothing has happened.
        """
        around, limits = self.around(), self.limits()
        model = self.model()
        await self.measure()
        summarizer, problems = self.summarizer()
        for problem in problems:
            await self.tell(Notice(content=problem, level="warning"))
        spent: list[Usage] = []
        compacting = Compacting(
            around=around,
            rules=limits.compaction,
            context=self.rules,
            turn_id=self._last_turn_id(),
            model=model,
            summarizer=summarizer or model,
            temperature=limits.temperature,
            tell=self.tell,
            hooks=TurnHooks(around=around, turn_id=self._last_turn_id(), emit=self.tell),
            spend=spent.append,
        )
        said = await around.secrets.masked(instruction)
        try:
            done = await compacting.run(self.messages, around.context.n_chars_around, "manual", said)
        finally:
            took = self._took(spent)
            self.spend(took)
        if spent:
            await self.tell(UsageReported(usage=took))
        if compacting.denied:
            raise SessionError(compacting.denied, kind="denied_by_hook")
        if done is None:
            raise SessionError(
                "There is nothing to compact: a summary would not be shorter.",
                kind="nothing_to_compact",
            )
        return done

    def _took(self, spent: Sequence[Usage]) -> Usage:
        """What the calls took, and how full the context is after them."""
        if not spent:
            return Usage()
        total = reduce(Usage.plus, spent, Usage())
        report = self.report()
        return replace(total, context_tokens=report.tokens, context_limit=report.limit)

    def _last_turn_id(self) -> str:
        return next((each.turn_id for each in reversed(self.messages) if each.turn_id), "")
