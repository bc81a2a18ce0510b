"""A turn that waits for the user to let it go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pygent_ls.agent.asker import Answered, Choice, Question
from pygent_ls.agent.events import Notice
from pygent_ls.agent.limits import Allowance, Spent, Stop
from pygent_ls.agent.turn import TurnState

STOP, CONTINUE = "Stop", "Continue"


@dataclass(kw_only=True)
class Pauses:
    """The limits of one turn, and the questions whether it may go on beyond them."""

    state: TurnState
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        self.allowance = Allowance(self.state.spec.limits)
        self._began = self.clock()
        self._paused_s = 0.0
        self._n_questions = 0

    def begin(self) -> None:
        """The turn begins now."""
        self._began = self.clock()

    @property
    def spent(self) -> Spent:
        """What the turn has taken so far."""
        seconds = self.clock() - self._began - self._paused_s
        return Spent(iterations=self.state.iterations, usage=self.state.usage, seconds=seconds)

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
        answer = await state.around.pauser.ask(question)
        self._paused_s += self.clock() - asked
        if not isinstance(answer, Answered) or answer.choice != CONTINUE:
            return False
        self.allowance.grant(stop, self.spent)
        await state.emit(Notice(content="The user lets the turn go on."))
        return True
