"""Tool that asks the user."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from pygent_ls.agent.display_text import one_line, visible
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.questioner import AnswerChoice, CannotAsk, QuestionAnswered, QuestionNotAnswered
from pygent_ls.agent.tools.signature import ArgumentObject
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError

MAX_CHOICES = 9
"""Maximum number of choices: what a person can survey, and the digits of a terminal."""

MAX_TITLE_CHARS = 80
"""Maximum length of a choice's title: editors show it on a button or in one line of a list."""


class ChoiceArgument(ArgumentObject, frozen=True, kw_only=True):
    """Choice as given by the model."""

    text_field: ClassVar[str] = "title"
    """Models write plain text for a choice without a description."""

    title: Annotated[str, Meta(min_length=1, description="A few words, like the label of a button.")]
    description: Annotated[str, Meta(description="What this choice means.")] = ""


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.AGENT,
    kind="other",
    title="Ask: {question}",
    timeout_s=None,
)
async def ask_user(
    context: ToolContext,
    question: Annotated[
        str, Meta(min_length=1, description="One question, including what the user needs to know to answer it.")
    ],
    choices: Annotated[
        list[ChoiceArgument],
        Meta(max_length=MAX_CHOICES, description="The choices to offer; give some whenever you can."),
    ]
    | None = None,
) -> str:
    """Ask the user a question and wait for the answer.

    Use it for decisions that only the user can make and that change what you do next: which of two approaches to take,
    a name, a missing fact. Do not use it for permission, which is requested automatically, or for facts that you can
    find out yourself. The user may answer in their own words instead of choosing.

    Raises:
        ToolError: the titles of the choices are not distinct, or the user cannot be asked.
    """
    offered = [
        AnswerChoice(title=_title(each.title), description=visible(each.description).strip()) for each in choices or ()
    ]
    titles = [each.title for each in offered]
    if not all(titles) or len({title.casefold() for title in titles}) < len(titles):
        raise ToolError("Every choice needs its own title. Ask again with distinct titles.")
    text = visible(question).strip()
    if not text:
        raise ToolError("The question is empty.")
    match await context.ask_user(text, offered):
        case QuestionAnswered(choice=choice, text=words) if choice and words:
            return f"The user chose: {choice}\nThey added: {words}"
        case QuestionAnswered(choice=choice) if choice:
            return f"The user chose: {choice}"
        case QuestionAnswered(text=words):
            return f"The user answered: {words}"
        case QuestionNotAnswered():
            return (
                "The user did not answer. Do not ask the same question again. Continue with the most likely "
                "answer and state your assumption, or end your turn with the question."
            )
        case CannotAsk(reason=reason):
            raise ToolError(reason)


def _title(text: str) -> str:
    return one_line(text, MAX_TITLE_CHARS)
