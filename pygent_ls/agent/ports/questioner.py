"""The questioner port: questions to the user, other than permission requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec import Struct


class AnswerChoice(Struct, frozen=True, kw_only=True):
    """Answer that the user may choose; titles are single lines, and unique within a question."""

    title: str
    description: str = ""


class Question(Struct, frozen=True, kw_only=True):
    """Question to the user. Without choices it can only be answered in their own words."""

    question_id: str
    session_id: str
    tool_id: str
    text: str
    choices: tuple[AnswerChoice, ...] = ()
    from_model: bool = True
    """Whether a tool call asks. Otherwise the turn itself asks, or the daemon (`session_id` is then empty), and only
    one of the choices is a valid answer."""
    secret: bool = False
    """Whether the answer is a key: it is typed without echo, and appears in no event, log or recording. Such a question
    has no choices."""
    is_open: bool = False
    """Whether only free text is a valid answer, although the model does not ask. Such a question has no choices."""
    server: str = ""
    """Name of the MCP server that asks; empty if none does."""
    offers_setup: bool = False
    """Whether the question is about setting up a model; an editor with its own form for that answers once it is done.
    """

    @property
    def takes_words(self) -> bool:
        """Whether the user may answer in their own words."""
        return self.from_model or self.secret or self.is_open


class QuestionAnswered(Struct, frozen=True, kw_only=True):
    """The user's answer: a choice, text, or both; at least one of them is not empty."""

    choice: str = ""
    """Title of the chosen choice."""
    text: str = ""


class QuestionNotAnswered(Struct, frozen=True):
    """The user closed the question, or gave an invalid answer."""


class CannotAsk(Struct, frozen=True):
    """The question could not be shown; `reason` tells the model why, and what would work."""

    reason: str


QuestionAnswer = QuestionAnswered | QuestionNotAnswered | CannotAsk

AskUser = Callable[[str, Sequence[AnswerChoice]], Awaitable[QuestionAnswer]]
"""Asks the user one question, given its text and its choices; a tool's access to the questioner."""


class Questioner(Protocol):
    """Asks the user questions."""

    async def ask(self, question: Question) -> QuestionAnswer:
        """Return the user's answer, however long they take. Every invalid answer (none, an unknown title, an error, a
        client that disconnected) is `QuestionNotAnswered`. Cancelling withdraws the question."""
        ...


NOBODY = "Nobody is available to answer. Decide yourself, and state your assumption in your answer."


class NobodyToAsk(Struct, frozen=True):
    """Questioner for runs without a user."""

    reason: str = NOBODY

    async def ask(self, question: Question) -> QuestionAnswer:
        """Return `CannotAsk`."""
        return CannotAsk(self.reason)


async def nobody_answers(text: str, choices: Sequence[AnswerChoice]) -> QuestionAnswer:
    """Return `CannotAsk`: the `AskUser` for runs without a user."""
    return CannotAsk(NOBODY)
