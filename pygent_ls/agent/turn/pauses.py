"""Pauses of a turn that has reached a limit and needs the user's consent to continue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from pygent_ls.agent.events import Notice
from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.ports.questioner import AnswerChoice, Question, QuestionAnswered
from pygent_ls.agent.turn.limits import Allowance, Stop, TurnSpent
from pygent_ls.agent.turn.state import TurnState

STOP, CONTINUE = "Stop", "Continue"


@dataclass(kw_only=True)
class Pauses:
    """Limits of one turn, and the questions whether it may continue beyond them."""

    state: TurnState
    clock: Callable[[], float]
    outer: Pauses | None = None
    """Limits of the parent turn of a subagent."""

    def __post_init__(self) -> None:
        self.allowance = Allowance(self.state.spec.limits)
        self._began = self.clock()
        self._paused_s = 0.0
        self._n_questions = 0
        self._insists_on_price = False

    def begin(self) -> None:
        """Start the clock of the turn."""
        self._began = self.clock()

    @property
    def spent(self) -> TurnSpent:
        """What the turn has used so far."""
        seconds = self.clock() - self._began - self._paused_s
        return TurnSpent(iterations=self.state.iterations, usage=self.state.total, seconds=seconds)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the limit on the turn's duration is reached; None without a limit."""
        return self.allowance.seconds_left(self.spent)

    def before_call(self) -> Stop | None:
        """Check before each model call; also covers usage of subagents, and answers that called no tools."""
        has_answers = self.state.iterations > 0
        return self.allowance.before_call(self.spent) or (self.after_answer() if has_answers else self._outgrown())

    def after_answer(self) -> Stop | None:
        """Check after each answer, before its tools run."""
        return self.allowance.after_answer(self.spent, self._unpriced) or self._outgrown()

    @property
    def needs_price(self) -> bool:
        """Whether a limit in dollars applies to this turn or to a parent turn."""
        return self.allowance.needs_price or (self.outer is not None and self.outer.needs_price)

    async def stops_unpriced(self, model: str) -> StopReason | None:
        """Return why a model of unknown price is not called; None once no limit in dollars applies. The user is asked
        before the model's first call, also on behalf of the parent turns: once, whatever the answer."""
        async with self.state.context.share.asking:
            if self.allowance.needs_price:
                stop = self.allowance.price_unknown(model)
                is_over = self.state.closing  # a subagent in the background goes on
                if self._insists_on_price or is_over or not await self.goes_on(stop):
                    self._insists_on_price = True
                    return stop.reason
        return None if self.outer is None else await self.outer.stops_unpriced(model)

    def _outgrown(self) -> Stop | None:
        """Check the limits of the parent turns for a subagent, except for their model calls."""
        if self.outer is None:
            return None
        allowance, spent = self.outer.allowance, replace(self.outer.spent, iterations=0)
        stop = allowance.before_call(spent) or allowance.after_answer(spent, self._unpriced)
        return stop or self.outer._outgrown()

    @property
    def _unpriced(self) -> str:
        """Name of the model whose price is unknown; the current model if no price is missing."""
        return self.state.root.unpriced or self.state.model.name

    async def goes_on(self, stop: Stop) -> bool:
        """Emit the events of the limit, and ask the user whether to continue; only `Continue` does.

        A subagent does not ask: it ends, and the parent turn goes on without the rest.
        """
        state = self.state
        for event in stop.events:
            await state.emit(event)
        if state.spec.parent_tool_id is not None:
            return False
        if self.allowance.is_final(stop):
            await state.emit(Notice(content="This limit is the administrator's, so the turn ends.", level="warning"))
            return False
        self._n_questions += 1
        question = Question(
            question_id=f"{state.spec.turn_id}-pause{self._n_questions}",
            session_id=state.context.memory.session_id,
            tool_id="",
            text=stop.question,
            choices=(AnswerChoice(title=STOP), AnswerChoice(title=CONTINUE)),
            from_model=False,
        )
        asked = self.clock()
        with state.context.share.user_times.waiting():
            answer = await state.context.environment.pauser.ask(question)
        self._paused_s += self.clock() - asked
        if not isinstance(answer, QuestionAnswered) or answer.choice != CONTINUE:
            return False
        self.allowance.grant(stop, self.spent)
        await state.emit(Notice(content="The user let the turn continue."))
        return True
