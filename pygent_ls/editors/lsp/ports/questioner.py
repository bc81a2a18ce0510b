"""The `Questioner` port on an editor: the client's own question dialog if it has one, else a message with buttons."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from pygent_ls.agent.ports.questioner import CannotAsk, Question, QuestionAnswer, QuestionAnswered, QuestionNotAnswered
from pygent_ls.editors.lsp.ports.dialogs import ask_in_its_form, chosen_title
from pygent_ls.editors.lsp.protocol.questions import ChoiceOut, QuestionCancelledOut, QuestionRequestOut, QuestionResult
from pygent_ls.editors.lsp.protocol.validation import InvalidValueError, valid
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.standard import MessageType

QUESTION_REQUEST = "pygent/question/request"
QUESTION_CANCELLED = "pygent/question/cancelled"

NO_INPUT = (
    "This editor can only offer choices; the user cannot type an answer. Ask again with choices, or end your turn "
    "with the question so that the user can answer it in the next prompt."
)


class LspQuestioner(Struct, frozen=True, kw_only=True):
    """Asks the user, without a time limit."""

    endpoint: RpcEndpoint
    has_own_form: bool
    """Whether the client answers `pygent/question/request`."""

    async def ask(self, question: Question) -> QuestionAnswer:
        if not self.has_own_form and not question.choices:
            return CannotAsk(NO_INPUT)
        if not self.has_own_form:
            title = await chosen_title(self.endpoint, question_message(question))
            return QuestionAnswered(choice=title) if title else QuestionNotAnswered()
        withdrawn: QuestionCancelledOut = {"questionId": question.question_id}
        answer = await ask_in_its_form(
            self.endpoint, QUESTION_REQUEST, question_out(question), withdrawal=(QUESTION_CANCELLED, withdrawn)
        )
        return read_answer(answer, question)


def question_out(question: Question) -> QuestionRequestOut:
    """Return the parameters of `pygent/question/request`."""
    choices: list[ChoiceOut] = []
    for choice in question.choices:
        choice_out: ChoiceOut = {"title": choice.title}
        if choice.description:
            choice_out["description"] = choice.description
        choices.append(choice_out)
    out: QuestionRequestOut = {
        "questionId": question.question_id,
        "sessionId": question.session_id,
        "question": question.text,
        "choices": choices,
        "allowText": question.takes_words,
    }
    if question.secret:
        out["secret"] = True
    if question.server:
        out["mcpServer"] = question.server
    if question.offers_setup:
        out["setup"] = True
    return out


def question_message(question: Question) -> dict[str, Any]:
    """Return the parameters of `window/showMessageRequest`; the text explains the choices."""
    meanings = [f"{choice.title}: {choice.description}" for choice in question.choices if choice.description]
    return {
        "type": int(MessageType.INFO),
        "message": "\n".join([f"pygent asks: {question.text}" if question.from_model else question.text, *meanings]),
        "actions": [{"title": choice.title} for choice in question.choices],
    }


def read_answer(answer: object, question: Question) -> QuestionAnswer:
    """Return the chosen title, the user's own text, or both. Anything else counts as unanswered."""
    try:
        given = valid(QuestionResult, answer)
    except InvalidValueError:
        return QuestionNotAnswered()
    words = (given.text or "").strip() if question.takes_words else ""
    chosen = next((each.title for each in question.choices if each.title == given.choice), "")
    return QuestionAnswered(choice=chosen, text=words) if chosen or words else QuestionNotAnswered()
