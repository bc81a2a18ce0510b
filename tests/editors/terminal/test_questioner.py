"""A question of the model at a real pseudo terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import termios
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from pygent_ls.agent.ports.questioner import (
    AnswerChoice,
    Question,
    QuestionAnswer,
    QuestionAnswered,
    QuestionNotAnswered,
)
from pygent_ls.editors.terminal.approver import Terminal
from pygent_ls.editors.terminal.questioner import (
    WAYS_TO_CHOOSE,
    WAYS_UNSEEN,
    WAYS_WITH_CHOICES,
    WAYS_WITHOUT,
    TerminalQuestioner,
    parse_answer,
    question_text,
)
from pygent_ls.editors.terminal.text import Palette
from tests.fakes import bounded

PLAIN = Palette(on=False)

COLOURS = Question(
    question_id="q1",
    session_id="s1",
    tool_id="c1",
    text="Which colour?",
    choices=(AnswerChoice(title="Red", description="as now"), AnswerChoice(title="Blue")),
)


KEY = Question(question_id="q2", session_id="", tool_id="", text="The key of x:", from_model=False, secret=True)

LONG = Question(
    question_id="q3",
    session_id="",
    tool_id="",
    text="Which of all these models do you want to use for your prompts from now on?",
    choices=(AnswerChoice(title="The first of them", description="which has a description that is long, too"),),
    from_model=False,
)


class Person:
    """Sits at the other end of the pseudo terminal."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.seen = ""

    def types(self, text: str) -> None:
        """Press keys."""
        os.write(self.fd, text.encode())

    async def sees(self, text: str) -> None:
        """Wait until the screen has shown the text."""
        loop = asyncio.get_running_loop()
        while text not in self.seen:
            readable = asyncio.Event()
            loop.add_reader(self.fd, readable.set)
            try:
                await bounded(readable.wait())
            finally:
                loop.remove_reader(self.fd)
            self.seen += os.read(self.fd, 65_536).decode()


async def at_once(tool_id: str) -> None:
    """Nothing has to be shown before."""


@asynccontextmanager
async def asked(
    question: Question = COLOURS, ready_to_ask: Callable[[str], Awaitable[None]] = at_once, width: int = 0
) -> AsyncGenerator[tuple[Person, asyncio.Task[QuestionAnswer]]]:
    """A person who is asked, and the answer that the core will get."""
    own_end, programs_end = pty.openpty()
    try:
        questioner = TerminalQuestioner(
            terminal=Terminal(fd=programs_end), palette=PLAIN, ready_to_ask=ready_to_ask, width=width
        )
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
        ("2\n", QuestionAnswered(choice="Blue")),
        ("red\n", QuestionAnswered(choice="Red")),
        ("a dark green\n", QuestionAnswered(text="a dark green")),
        ("\n", QuestionNotAnswered()),
        ("\x04", QuestionNotAnswered()),
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

        assert await bounded(given) == QuestionAnswered(choice="Blue")


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
    assert parse_answer(line, COLOURS) == QuestionAnswered(text=line)


def echoes(fd: int) -> bool:
    return bool(termios.tcgetattr(fd)[3] & termios.ECHO)


async def test_a_key_is_typed_unseen_and_the_terminal_shows_again_what_is_typed() -> None:
    async with asked(KEY) as (person, answer):
        await person.sees(WAYS_UNSEEN)
        assert not echoes(person.fd)
        person.types("my0wnkey\n")
        assert await bounded(answer) == QuestionAnswered(text="my0wnkey")

        assert echoes(person.fd)
        await person.sees(f"{WAYS_UNSEEN}\r\n")
        assert "my0wnkey" not in person.seen


async def test_a_question_for_a_key_that_is_cancelled_leaves_the_terminal_as_it_was() -> None:
    async with asked(KEY) as (person, answer):
        await person.sees(WAYS_UNSEEN)
        answer.cancel()
        await asyncio.wait([answer])

        assert echoes(person.fd)


async def test_a_question_is_wrapped_to_the_terminals_width() -> None:
    async with asked(LONG, width=50) as (person, _):
        await person.sees(WAYS_TO_CHOOSE)

    assert all(len(line) <= 50 for line in person.seen.splitlines())
    assert "Which of all these models do you want to use" in person.seen
