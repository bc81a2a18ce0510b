"""A turn that waits for the user to let it go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pygent_ls.agent.asker import Answered, Choice, Question
from pygent_ls.agent.events import Notice, StopReason
from pygent_ls.agent.limits import Allowance, Spent, Stop
from pygent_ls.agent.turn import TurnState

STOP, CONTINUE = "Stop", "Continue"


@dataclass(kw_only=True)
class Pauses:
    """The limits of one turn, and the questions whether it may go on beyond them."""

    state: TurnState
    clock: Callable[[], float]
    outer: Pauses | None = None
    """Those of the turn whose subagent this is."""

    def __post_init__(self) -> None:
        self.allowance = Allowance(self.state.spec.limits)
        self._began = self.clock()
        self._paused_s = 0.0
        self._n_questions = 0
        self._insists_on_price = False

    def begin(self) -> None:
        """The turn begins now."""
        self._began = self.clock()

    @property
    def spent(self) -> Spent:
        """What the turn has taken so far."""
        seconds = self.clock() - self._began - self._paused_s
        return Spent(iterations=self.state.iterations, usage=self.state.total, seconds=seconds)

    def before_call(self) -> Stop | None:
        """Looked at before each model call; also for what subagents took, and answers that called no tools."""
        has_answers = self.state.iterations > 0
        return self.allowance.before_call(self.spent) or (self.after_answer() if has_answers else self._outgrown())

    def after_answer(self) -> Stop | None:
        """Looked at after each answer, before its tools run."""
        return self.allowance.after_answer(self.spent, self._unpriced) or self._outgrown()

    @property
    def needs_price(self) -> bool:
        """Whether the cost counts, here or for a turn that this is a part of."""
        return self.allowance.needs_price or (self.outer is not None and self.outer.needs_price)

    async def stops_unpriced(self, model: str) -> StopReason | None:
        """Why a model whose price is not known is not called; None where no dollars are counted any more. It is asked
        before its first call, on behalf of the turn too whose subagent would call it: once, whatever the answer."""
        async with self.state.share.asking:
            if self.allowance.needs_price:
                stop = self.allowance.price_unknown(model)
                if self._insists_on_price or not await self.goes_on(stop):
                    self._insists_on_price = True
                    return stop.reason
        return None if self.outer is None else await self.outer.stops_unpriced(model)

    def _outgrown(self) -> Stop | None:
        """What stops a subagent: all that the turn may take has been taken, but for its model calls."""
        if self.outer is None:
            return None
        allowance, spent = self.outer.allowance, replace(self.outer.spent, iterations=0)
        stop = allowance.before_call(spent) or allowance.after_answer(spent, self._unpriced)
        return stop or self.outer._outgrown()

    @property
    def _unpriced(self) -> str:
        """The model whose price is missing, where one is."""
        return self.state.root.unpriced or self.state.model.name

    async def goes_on(self, stop: Stop) -> bool:
        """Tell of the limit, and ask the user, where one can be asked; only `Continue` goes on.

        A subagent asks nobody: it ends, and the turn that it is a part of goes on without the rest.
        """
        state = self.state
        for event in stop.events:
            await state.emit(event)
        if state.spec.parent_tool_id is not None:
            return False
        self._n_questions += 1
        question = Question(
            question_id=f"{state.spec.turn_id}-pause{self._n_questions}",
            session_id=state.around.session_id,
            tool_id="",
            text=stop.question,
            choices=(Choice(title=STOP), Choice(title=CONTINUE)),
            from_model=False,
        )
        asked = self.clock()
        with state.share.user_times.waiting():
            answer = await state.around.pauser.ask(question)
        self._paused_s += self.clock() - asked
        if not isinstance(answer, Answered) or answer.choice != CONTINUE:
            return False
        self.allowance.grant(stop, self.spent)
        await state.emit(Notice(content="The user let the turn continue."))
        return True
