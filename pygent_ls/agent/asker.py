"""The questioner port: a question of the model to the user, which is no question of permission."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of the answers that the user may choose; titles are unique within a question, and one line each."""

    title: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the user is asked. Without choices it can only be answered in their own words."""

    question_id: str
    session_id: str
    tool_id: str
    text: str
    choices: tuple[Choice, ...] = ()
    from_model: bool = True
    """A tool call asks. Else the turn itself does, or the daemon (`session_id` is then empty), and only one of the
    choices is an answer."""
    secret: bool = False
    """The answer is a key: it is typed unseen, and appears in no event, log or recording. There are no choices."""
    is_open: bool = False
    """Only the user's own words are an answer, although the model does not ask. There are no choices."""
    offers_setup: bool = False
    """Whether to set up a model; an editor with a form of its own for that answers once it is done."""

    @property
    def takes_words(self) -> bool:
        """Whether the user may answer in their own words."""
        return self.from_model or self.secret or self.is_open


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The user chose, or wrote, or both; one of the two is not empty."""

    choice: str = ""
    """The title of one of the choices."""
    text: str = ""


@dataclass(frozen=True, slots=True)
class NotAnswered:
    """The user closed the question, or answered with something that is no answer."""


@dataclass(frozen=True, slots=True)
class CannotAsk:
    """The question was not shown to anybody; `reason` tells the model why, and what would work."""

    reason: str


QuestionAnswer = Answered | NotAnswered | CannotAsk

AskUser = Callable[[str, Sequence[Choice]], Awaitable[QuestionAnswer]]
"""Puts one question to the user, by its text and its choices; how a tool reaches the questioner."""


class Questioner(Protocol):
    """Puts questions to the user."""

    async def ask(self, question: Question) -> QuestionAnswer:
        """Return what the user says, however long they take; every odd answer (none, an unknown title, an error, a
        client that went) is `NotAnswered`. When cancelled, the question no longer counts."""
        ...


NOBODY = "Nobody is available to answer. Decide yourself, and state your assumption in your answer."


@dataclass(frozen=True, slots=True)
class NobodyToAsk:
    """A questioner where no user is."""

    reason: str = NOBODY

    async def ask(self, question: Question) -> QuestionAnswer:
        """See the port."""
        return CannotAsk(self.reason)


async def nobody_answers(text: str, choices: Sequence[Choice]) -> QuestionAnswer:
    """An `AskUser` where no user is."""
    return CannotAsk(NOBODY)
