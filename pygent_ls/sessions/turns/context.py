"""Context of a session between its turns: its size, and compaction on request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.compaction.compactor import Compactor
from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.context.window import ContextMode, ContextRules
from pygent_ls.agent.events import AgentEvent, Compacted, Notice, UsageReported
from pygent_ls.agent.hook_runner import HookRunner
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.turn.request_builder import chars_of_tools
from pygent_ls.errors import ModelError, SessionError
from pygent_ls.sessions.turns.choices import Choices, narrowed
from pygent_ls.sessions.turns.prompt import system_prompt
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.session_parts import ActiveParts


class ContextReport(Struct, frozen=True, kw_only=True):
    """What the next request would contain of the conversation, and how full that makes the context window."""

    mode: ContextMode
    n_messages: int
    """Messages in the whole conversation."""
    n_sent: int
    """Messages in the context, including those that replace others."""
    n_replaced: int
    """Messages of the conversation that are replaced."""
    tokens: int
    """Tokens of the context, including what was last sent besides the conversation. Counted by the provider as far as
    possible, otherwise estimated."""
    limit: int
    strategy: str
    compacts_at: int
    """Number of tokens at which the context is compacted."""


class SessionContext(Struct, kw_only=True):
    """Context of one session between its turns."""

    messages: list[Message]
    """The session's own list."""
    active: ActiveParts
    choices: Choices
    tell: Callable[[AgentEvent], Awaitable[None]]
    """Emits an event in the running turn."""
    spend: Callable[[Usage], None]
    """Counts usage outside the model's turns."""
    mode: ContextMode | None = None
    """Mode that was chosen for this session; None for the settings'."""

    @property
    def rules(self) -> ContextRules:
        """Rules from the settings, with the mode chosen for this session."""
        return self.rules_for(None)

    def rules_for(self, agents: ContextMode | None) -> ContextRules:
        """Return the rules for an agent, which may have a mode of its own."""
        rules = self.active.limits.model.context
        own = self.mode if "context.mode" not in self.choices.admin.locked else None
        return replace(rules, mode=own or agents or rules.mode)

    def summarizer(self) -> tuple[Model | None, Sequence[str]]:
        """Return the configured model for summaries, and notices; None if the turn's own model writes them."""
        name = self.active.limits.summarizer
        if not name:
            return None, ()
        try:
            return self.choices.made(name), ()
        except ModelError as error:
            return None, (
                (
                    f"compaction.model {name} is not available, so the model of the turn writes the summary: "
                    f"{error.message}"
                ),
            )

    async def measure(self) -> None:
        """Compute the size of what is sent besides the conversation, if no request was made since the daemon
        started."""
        window = self.active.services.memory.window
        if not window.n_chars_around:
            window.n_chars_around = await self._chars_around()

    async def _chars_around(self) -> int:
        """Return the number of characters of the system prompt and the tools of a turn that chooses nothing."""
        parts, request = self.active.parts, TurnRequest(parts=())
        chosen = self.choices.for_turn(request)
        services = narrowed(parts.services, chosen.profile, request)
        tools = [each.name for each in services.tools.list_all()]
        wanted = PromptFor(mode=chosen.mode, tools=tools, agent=chosen.profile.prompt)
        system = await system_prompt(parts.services, parts.make_system_prompt, wanted)
        return len(system) + chars_of_tools(services.tools)

    def report(self) -> ContextReport:
        """Return how full the context is. Raises `ModelError` if the session's model is unavailable."""
        memory, rules, settings = self.active.services.memory.window, self.rules, self.active.limits.model
        memory.follow(self.messages, counts_words=rules.max_words > 0)
        cut = memory.cut(rules, self._last_turn_id())
        limit = memory.limit(rules, self._model())
        used = memory.compaction
        return ContextReport(
            mode=rules.mode,
            n_messages=len(self.messages),
            n_sent=len(cut.of(memory.messages)),
            n_replaced=used.end - used.start if used else 0,
            tokens=memory.tokens(cut, memory.n_chars_around),
            limit=limit,
            strategy=settings.compaction.strategy,
            compacts_at=int(settings.compaction.at * limit),
        )

    async def compact(self, instruction: str = "") -> Compacted:
        """Summarize the conversation now, according to the instruction, but keep the last exchange. Nothing else may
        work on the conversation meanwhile.

        Raises `SessionError` (`nothing_to_compact`, `denied_by_hook`), and `ModelError` if the summary failed. Then,
        and when cancelled, nothing has changed.
        """
        services, model = self.active.services, self._model()
        await self.measure()
        summarizer, problems = self.summarizer()
        for problem in problems:
            await self.tell(Notice(content=problem, level="warning"))
        spent: list[Usage] = []
        compacting = Compactor(
            services=services,
            settings=replace(self.active.limits.model, context=self.rules),
            turn_id=self._last_turn_id(),
            model=model,
            summarizer=summarizer or model,
            tell=self.tell,
            hooks=HookRunner(services=services, turn_id=self._last_turn_id(), emit=self.tell),
            spend=spent.append,
        )
        said = await services.memory.secrets.masked(instruction)
        try:
            done = await compacting.run(self.messages, services.memory.window.n_chars_around, "manual", said)
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
        """Return the usage of the calls, and how full the context is after them."""
        if not spent:
            return Usage()
        total = reduce(Usage.plus, spent, Usage())
        report = self.report()
        return replace(total, context_tokens=report.tokens, context_limit=report.limit)

    def _model(self) -> Model:
        """Return the session's model. Raises `ModelError`."""
        return self.choices.for_turn(TurnRequest(parts=())).model

    def _last_turn_id(self) -> str:
        return next((each.turn_id for each in reversed(self.messages) if each.turn_id), "")
