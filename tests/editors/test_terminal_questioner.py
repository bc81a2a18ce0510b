"""A question of the model at a real pseudo terminal."""

from __future__ import annotations

import asyncio
import os
import pty
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from pygent_ls.agent.asker import Answered, Choice, NotAnswered, Question, QuestionAnswer
from pygent_ls.editors.terminal_approver import Terminal
from pygent_ls.editors.terminal_questioner import (
    WAYS_WITH_CHOICES,
    WAYS_WITHOUT,
    TerminalQuestioner,
    parse_answer,
    question_text,
)
from pygent_ls.editors.terminal_text import Palette
from tests.fakes import bounded

PLAIN = Palette(on=False)

COLOURS = Question(
    question_id="q1",
    session_id="s1",
    tool_id="c1",
    text="Which colour?",
    choices=(Choice(title="Red", description="as now"), Choice(title="Blue")),
)


class Person:
    """Sits at the other end of the pseudo terminal."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.seen = ""

    def types(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    async def sees(self, text: str) -> None:
        """Wait until the screen has shown the text."""
        loop = asyncio.get_running_loop()
        while text not in self.seen:
            readable = asyncio.Event()
            loop.add_reader(self._fd, readable.set)
            try:
                await bounded(readable.wait())
            finally:
                loop.remove_reader(self._fd)
            self.seen += os.read(self._fd, 65_536).decode()


async def at_once(tool_id: str) -> None:
    """Nothing has to be shown before."""


@asynccontextmanager
async def asked(
    question: Question = COLOURS, ready_to_ask: Callable[[str], Awaitable[None]] = at_once
) -> AsyncGenerator[tuple[Person, asyncio.Task[QuestionAnswer]]]:
    """A person who is asked, and the answer that the core will get."""
    own_end, programs_end = pty.openpty()
    try:
        questioner = TerminalQuestioner(terminal=Terminal(fd=programs_end), palette=PLAIN, ready_to_ask=ready_to_ask)
        async with asyncio.TaskGroup() as group:
            answer = group.create_task(questioner.ask(question))
            yield Person(own_end), answer
            answer.cancel()
    finally:
        os.close(own_end)
        os.close(programs_end)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("2\n", Answered(choice="Blue")),
        ("red\n", Answered(choice="Red")),
        ("a dark green\n", Answered(text="a dark green")),
        ("\n", NotAnswered()),
        ("\x04", NotAnswered()),
    ],
)
async def test_the_person_types_a_number_or_words_or_nothing(typed: str, answer: QuestionAnswer) -> None:
    async with asked() as (person, given):
        await person.sees(WAYS_WITH_CHOICES)
        person.types(typed)

        assert await bounded(given) == answer


async def test_what_was_typed_before_the_question_is_no_answer_to_it() -> None:
    shown = asyncio.Event()

    async def wait_for_it(tool_id: str) -> None:
        assert tool_id == "c1"
        await shown.wait()

    async with asked(ready_to_ask=wait_for_it) as (person, given):
        person.types("1\n")
        await person.sees("1\r\n")
        shown.set()
        await person.sees(WAYS_WITH_CHOICES)
        person.types("2\n")

        assert await bounded(given) == Answered(choice="Blue")


async def test_a_question_of_a_cancelled_turn_takes_no_answer_any_more() -> None:
    async with asked() as (person, given):
        await person.sees(WAYS_WITH_CHOICES)
        given.cancel()

        with pytest.raises(asyncio.CancelledError):
            await bounded(given)


def test_the_choices_stand_below_the_question_by_their_numbers() -> None:
    assert question_text(COLOURS, PLAIN).splitlines() == [
        "Which colour?",
        "  1. Red — as now",
        "  2. Blue",
        WAYS_WITH_CHOICES,
    ]


def test_without_choices_only_words_are_asked_for() -> None:
    open_question = Question(question_id="q", session_id="s", tool_id="c", text="Why\x1b[2A?")

    assert question_text(open_question, PLAIN).splitlines() == ["Why\\x1b[2A?", WAYS_WITHOUT]


@pytest.mark.parametrize("line", ["0", "3", "12", "-1", "1 and 2"])
def test_a_number_that_no_choice_has_is_an_answer_in_words(line: str) -> None:
    assert parse_answer(line, COLOURS) == Answered(text=line)
