"""A fake user who is asked questions."""

from __future__ import annotations

from collections.abc import Callable

from pygent_ls.agent.ports.questioner import Question, QuestionAnswer, QuestionNotAnswered
from tests.fakes import Gate


class FakeQuestioner:
    """Records each question, and answers the next of `answers`; none after the last. `gate` keeps a question open."""

    def __init__(self, *answers: QuestionAnswer) -> None:
        self.questions: list[Question] = []
        self.gate: Gate | None = None
        self.n_open = 0
        self.on_question: Callable[[Question], None] | None = None
        self._answers = list(answers)

    async def ask(self, question: Question) -> QuestionAnswer:
        """Answer."""
        self.questions.append(question)
        self.n_open += 1
        try:
            if self.on_question:
                self.on_question(question)
            if self.gate:
                await self.gate.pass_through()
            return self._answers.pop(0) if self._answers else QuestionNotAnswered()
        finally:
            self.n_open -= 1
