"""The `Questioner` port on a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct

from pygent_ls.agent.display_text import visible
from pygent_ls.agent.ports.questioner import Question, QuestionAnswer, QuestionAnswered, QuestionNotAnswered
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


class TerminalQuestioner(Struct, frozen=True, kw_only=True):
    """Asks the user on the terminal and waits for as long as they take."""

    terminal: Terminal
    palette: Palette
    ready_to_ask: Callable[[str], Awaitable[None]]
    """Given the id of the tool call that asks, returns when the output before the question has been shown."""
    width: int = 0
    """Columns to wrap the question to; 0 leaves this to the terminal."""

    async def ask(self, question: Question) -> QuestionAnswer:
        """Ask the user. An empty line or the end of input is `QuestionNotAnswered`."""
        await self.ready_to_ask(question.tool_id)
        if not question.secret:
            return await self._asked(question)
        try:
            with self.terminal.hidden():  # before the question is shown, because the user may type at once
                return await self._asked(question)
        except OSError:
            return QuestionNotAnswered()

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
    """Return the question, its numbered choices, and how to answer."""
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
    """Return the choice with that number or title; any other text that is not empty is the user's own answer."""
    said = line.strip()
    if not said:
        return QuestionNotAnswered()
    if question.secret:
        return QuestionAnswered(text=said)
    for number, choice in enumerate(question.choices, start=1):
        if said.rstrip(".") == str(number) or said.casefold() == choice.title.casefold():
            return QuestionAnswered(choice=choice.title)
    return QuestionAnswered(text=said)
