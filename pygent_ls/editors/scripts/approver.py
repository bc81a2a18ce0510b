"""The `Approver` and `Questioner` ports as JSON lines: the program is asked, and its answer is awaited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionOutcome, PermissionRequest
from pygent_ls.agent.ports.questioner import CannotAsk, Question, QuestionAnswer, QuestionAnswered, QuestionNotAnswered
from pygent_ls.editors.scripts.requests import GONE, OpenRequests

if TYPE_CHECKING:  # imports pydantic and the models of all program input
    from pygent_ls.editors.scripts.input_lines import ToolPermissionResponse

ASK_USER = "ask_user"
"""The tool with which the model asks the user; a test compares the name."""


class LineApprover(Struct, kw_only=True):
    """Asks with `can_use_tool`. An invalid answer, an error or the end of input is a `reject_once`, and leaves a
    question of the model unanswered."""

    requests: OpenRequests[ToolPermissionResponse]

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        answer = await self.requests.ask(_question(request))
        return _rejected(answer) if isinstance(answer, str) else _answer_of(answer)

    async def ask(self, question: Question) -> QuestionAnswer:
        """Ask a question of the model."""
        if self.requests.is_closed:
            return CannotAsk(f"{GONE} Decide yourself and state your assumptions in your answer.")
        answer = await self.requests.ask(_own_question(question))
        return QuestionNotAnswered() if isinstance(answer, str) else _said(answer, question)


def _question(request: PermissionRequest) -> dict[str, Any]:
    question: dict[str, Any] = {
        "subtype": "can_use_tool",
        "tool_name": request.tool_name,
        "tool_use_id": request.tool_id,
        "input": dict(request.input),
        "title": request.title,
        "description": request.action,
        "risk": request.risk.value,
        "permission_suggestions": [_suggestion(request)] if request.rules else [],
    }
    if request.source:
        question["source"] = request.source
    return question


def _own_question(question: Question) -> dict[str, Any]:
    choices = [{"title": each.title, "description": each.description} for each in question.choices]
    return {
        "subtype": "can_use_tool",
        "tool_name": ASK_USER,
        "tool_use_id": question.tool_id,
        "input": {"question": question.text, "choices": choices},
        "title": question.text,
        "description": question.text,
        "risk": "low",
        "permission_suggestions": [],
    }


def _suggestion(request: PermissionRequest) -> dict[str, Any]:
    """Return the permission update that would allow the same from now on."""
    rules: list[dict[str, str]] = []
    for rule in request.rules:
        name, bracket, rest = rule.partition("(")
        rules.append({"toolName": name} | ({"ruleContent": rest.removesuffix(")")} if bracket else {}))
    return {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}


def _answer_of(answer: ToolPermissionResponse) -> PermissionAnswer:
    if not answer.allows:
        return PermissionAnswer(outcome="reject_once", feedback=answer.message)
    outcome: PermissionOutcome = "allow_once"
    if answer.rules:
        outcome = "allow_always" if answer.are_kept else "allow_session"
    return PermissionAnswer(outcome=outcome, rules=answer.rules or None, feedback=answer.message, input=answer.input)


def _said(answer: ToolPermissionResponse, question: Question) -> QuestionAnswer:
    """Return the answer in the input's `answer`, or in `answers` by the question's text."""
    given = answer.input or {}
    among = given.get("answers")
    by_text = cast("Mapping[str, object]", among).get(question.text) if isinstance(among, Mapping) else None
    said = given.get("answer", by_text)
    if not answer.allows or not isinstance(said, str) or not said.strip():
        return QuestionNotAnswered()
    titles = {each.title.casefold(): each.title for each in question.choices}
    title = titles.get(said.strip().casefold())
    return QuestionAnswered(choice=title) if title is not None else QuestionAnswered(text=said.strip())


def _rejected(why: str) -> PermissionAnswer:
    return PermissionAnswer(outcome="reject_once", feedback=why, by="mode")
