"""The `Approver` and the `Questioner` port as lines: the program at the other end is asked, and waited for."""

from __future__ import annotations

from asyncio import Future, get_running_loop
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pygent_ls.agent.approver import PermissionAnswer, PermissionOutcome, PermissionRequest
from pygent_ls.agent.asker import Answered, CannotAsk, NotAnswered, Question, QuestionAnswer
from pygent_ls.editors.scripts.lines import ControlCancelLine, ControlRequestLine

if TYPE_CHECKING:  # with it come pydantic's models of all that a program may write
    from pygent_ls.editors.scripts.incoming import Answer

ASK_USER = "ask_user"
"""The tool by which the model asks; a test compares it."""

GONE = "The program that would be asked has closed its end."


@dataclass(kw_only=True)
class LineApprover:
    """Asks with `can_use_tool`. Whatever is no answer (an error, the end of input) is a `reject_once`; it leaves a
    question of the model's open."""

    write: Callable[[ControlRequestLine | ControlCancelLine], None]
    new_id: Callable[[], str]
    is_closed: bool = False
    _open: dict[str, Future[Answer | str]] = field(default_factory=dict[str, "Future[Answer | str]"])
    """What was asked, by its id, and what was answered: text says why nothing was."""

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """See the port."""
        if self.is_closed:
            return _rejected(GONE)
        answer = await self._asked(_question(request))
        return _rejected(answer) if isinstance(answer, str) else _answer_of(answer)

    async def ask(self, question: Question) -> QuestionAnswer:
        """See the port of questions of the model's."""
        if self.is_closed:
            return CannotAsk(f"{GONE} Decide yourself, and say in your answer what you assumed.")
        answer = await self._asked(_own_question(question))
        return NotAnswered() if isinstance(answer, str) else _said(answer, question)

    async def _asked(self, question: Mapping[str, Any]) -> Answer | str:
        """Where the question is withdrawn, the program is told."""
        request_id = self.new_id()
        answer = self._open[request_id] = get_running_loop().create_future()
        self.write({"type": "control_request", "request_id": request_id, "request": question})
        try:
            return await answer
        finally:
            del self._open[request_id]
            if answer.cancelled():
                self.write({"type": "control_cancel_request", "request_id": request_id})

    def take(self, answer: Answer) -> bool:
        """Take the program's answer; False where no such question is open."""
        question = self._open.get(answer.request_id)
        if question is None or question.done():
            return False
        question.set_result(answer)
        return True

    def refuse(self, request_id: str, problem: str) -> None:
        """Take an answer that cannot be understood."""
        if (question := self._open.get(request_id)) and not question.done():
            question.set_result(f"The answer could not be understood: {problem}")

    def close(self) -> None:
        """Nobody answers any more."""
        self.is_closed = True
        for question in self._open.values():
            if not question.done():
                question.set_result(GONE)


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
    """What would allow the same from now on."""
    rules: list[dict[str, str]] = []
    for rule in request.rules:
        name, bracket, rest = rule.partition("(")
        rules.append({"toolName": name} | ({"ruleContent": rest.removesuffix(")")} if bracket else {}))
    return {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}


def _answer_of(answer: Answer) -> PermissionAnswer:
    if not answer.allows:
        return PermissionAnswer(outcome="reject_once", feedback=answer.message)
    outcome: PermissionOutcome = "allow_once"
    if answer.rules:
        outcome = "allow_always" if answer.are_kept else "allow_session"
    return PermissionAnswer(outcome=outcome, rules=answer.rules or None, feedback=answer.message, input=answer.input)


def _said(answer: Answer, question: Question) -> QuestionAnswer:
    """What stands in the input as `answer`, or among `answers` by the question's text."""
    given = answer.input or {}
    among = given.get("answers")
    by_text = cast("Mapping[str, object]", among).get(question.text) if isinstance(among, Mapping) else None
    said = given.get("answer", by_text)
    if not answer.allows or not isinstance(said, str) or not said.strip():
        return NotAnswered()
    titles = {each.title.casefold(): each.title for each in question.choices}
    title = titles.get(said.strip().casefold())
    return Answered(choice=title) if title is not None else Answered(text=said.strip())


def _rejected(why: str) -> PermissionAnswer:
    return PermissionAnswer(outcome="reject_once", feedback=why, by="mode")
