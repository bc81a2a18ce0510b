"""The `Questioner` port without an editor: a question of the model on the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pygent_ls.agent.asker import Answered, NotAnswered, Question, QuestionAnswer
from pygent_ls.agent.tool import visible
from pygent_ls.editors.terminal.approver import Terminal
from pygent_ls.editors.terminal.text import Palette, wrapped

WAYS_WITH_CHOICES = "Number of a choice, or your own answer (Enter to skip): "
WAYS_TO_CHOOSE = "Number of a choice (Enter to cancel): "
WAYS_UNSEEN = "Type or paste it; input is hidden (Enter to cancel): "
WAYS_WITHOUT = "Your answer (Enter to skip): "

NO_TERMINAL = (
    "There is no terminal to ask the user on. Decide yourself and state your assumptions in your answer, or end "
    "your turn with the question."
)
NOT_WANTED = (
    "The user allowed everything in advance and must not be asked. Decide yourself and state your assumptions in "
    "your answer."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalQuestioner:
    """Asks the person at the terminal, for as long as they take."""

    terminal: Terminal
    palette: Palette
    ready_to_ask: Callable[[str], Awaitable[None]]
    """Given the id of the call that asks, returns when everything that led to the question is shown."""
    width: int = 0
    """Columns that a question is wrapped to; 0: it is left to the terminal."""

    async def ask(self, question: Question) -> QuestionAnswer:
        """See the port. An empty line, and the end of input, is `NotAnswered`."""
        await self.ready_to_ask(question.tool_id)
        if not question.secret:
            return await self._asked(question)
        try:
            with self.terminal.hidden():  # before the person is asked, who may type at once
                return await self._asked(question)
        except OSError:
            return NotAnswered()

    async def _asked(self, question: Question) -> QuestionAnswer:
        self.terminal.forget_typed()
        self.terminal.write(question_text(question, self.palette, self.width))
        try:
            line = await self.terminal.read_line()
        except asyncio.CancelledError:
            self.terminal.write("\n")
            raise
        return parse_answer(line or "", question)


def question_text(question: Question, palette: Palette, width: int = 0) -> str:
    """The question, its choices by number, and how to answer."""
    lines = [palette.paint(wrapped(visible(question.text), width), "bold")]
    for number, choice in enumerate(question.choices, start=1):
        meaning = f" — {visible(choice.description)}" if choice.description else ""
        text = wrapped(f"  {number}. {visible(choice.title)}{meaning}", width, indent=5)
        title, dash, meaning = text.partition(" —")
        lines.append(title + (palette.paint(dash + meaning, "dim") if dash else ""))
    return "\n".join([*lines, _ways(question)])


def _ways(question: Question) -> str:
    if question.secret:
        return WAYS_UNSEEN
    if not question.choices:
        return WAYS_WITHOUT
    return WAYS_WITH_CHOICES if question.from_model else WAYS_TO_CHOOSE


def parse_answer(line: str, question: Question) -> QuestionAnswer:
    """A choice by its number or its title; anything else that is not empty is an answer in the person's own words."""
    said = line.strip()
    if not said:
        return NotAnswered()
    if question.secret:
        return Answered(text=said)
    for number, choice in enumerate(question.choices, start=1):
        if said.rstrip(".") == str(number) or said.casefold() == choice.title.casefold():
            return Answered(choice=choice.title)
    return Answered(text=said)
