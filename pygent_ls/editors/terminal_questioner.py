"""The `Questioner` port without an editor: a question of the model on the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pygent_ls.agent.asker import Answered, NotAnswered, Question, QuestionAnswer
from pygent_ls.agent.tool import visible
from pygent_ls.editors.terminal_approver import Terminal
from pygent_ls.editors.terminal_text import Palette

WAYS_WITH_CHOICES = "The number of a choice, or an answer in your own words (nothing to leave it open): "
WAYS_WITHOUT = "Your answer (nothing to leave it open): "

NO_TERMINAL = (
    "There is no terminal, so nobody could be asked. Decide yourself, and say in your answer what you assumed; or end "
    "your turn with the question."
)
NOT_WANTED = (
    "The user is not to be asked anything: they allowed everything beforehand. Decide yourself, and say in your answer "
    "what you assumed."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalQuestioner:
    """Asks the person at the terminal, for as long as they take."""

    terminal: Terminal
    palette: Palette
    ready_to_ask: Callable[[str], Awaitable[None]]
    """Given the id of the call that asks, returns when everything that led to the question is shown."""

    async def ask(self, question: Question) -> QuestionAnswer:
        """See the port. An empty line, and the end of input, is `NotAnswered`."""
        await self.ready_to_ask(question.tool_id)
        self.terminal.forget_typed()
        self.terminal.write(question_text(question, self.palette))
        try:
            line = await self.terminal.read_line()
        except asyncio.CancelledError:
            self.terminal.write("\n")
            raise
        return parse_answer(line or "", question)


def question_text(question: Question, palette: Palette) -> str:
    """The question, its choices by number, and how to answer."""
    lines = [palette.paint(visible(question.text), "bold")]
    for number, choice in enumerate(question.choices, start=1):
        meaning = palette.paint(f" — {visible(choice.description)}", "dim") if choice.description else ""
        lines.append(f"  {number}. {visible(choice.title)}{meaning}")
    return "\n".join([*lines, WAYS_WITH_CHOICES if question.choices else WAYS_WITHOUT])


def parse_answer(line: str, question: Question) -> QuestionAnswer:
    """A choice by its number or its title; anything else that is not empty is an answer in the person's own words."""
    said = line.strip()
    if not said:
        return NotAnswered()
    for number, choice in enumerate(question.choices, start=1):
        if said.rstrip(".") == str(number) or said.casefold() == choice.title.casefold():
            return Answered(choice=choice.title)
    return Answered(text=said)
