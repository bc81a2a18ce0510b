"""Questions to the user through the client: permission for tool calls, and everything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast
from uuid import uuid4

from pygent_ls.agent.display_text import capitalized, visible
from pygent_ls.agent.permissions.choices import PermissionChoice, choices_for
from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionOutcome, PermissionRequest
from pygent_ls.agent.ports.questioner import CannotAsk, Question, QuestionAnswer, QuestionAnswered, QuestionNotAnswered
from pygent_ls.editors.acp.content import diff_content, text_block

KINDS: Mapping[PermissionOutcome, str] = {
    "allow_once": "allow_once",
    "allow_session": "allow_always",
    "allow_always": "allow_always",
    "reject_once": "reject_once",
    "reject_always": "reject_always",
    "cancelled": "reject_once",
}
"""Kinds of the protocol's options; the protocol does not tell a session from all of them, so the titles do."""

NO_WORDS = (
    "This client shows no forms, so the user can only choose among given answers. Offer choices, or ask in your answer."
)


class Ask(Protocol):
    """Sends the client a request about one session."""

    async def __call__(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the client's result; None if it refused the request or is gone."""
        ...


class ClientUser:
    """The user of one session, who is asked through the client. Approver and questioner."""

    def __init__(self, ask: Ask, spelled: Callable[[Path], str], *, asks_forms: bool) -> None:
        """`spelled` returns a path as the client spells it."""
        self._ask = ask
        self._spelled = spelled
        self._asks_forms = asks_forms

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """Implement `Approver`."""
        choices = choices_for(request)
        given = await self._ask(
            "session/request_permission",
            {
                "toolCall": _call_of(request, self._spelled),
                "options": [_option(choice) for choice in choices],
            },
        )
        chosen = _chosen(given)
        if chosen is None:
            return PermissionAnswer(outcome="reject_once")
        found = next((each for each in choices if each.id == chosen), None)
        return found.answer() if found else PermissionAnswer(outcome="reject_once")

    async def ask(self, question: Question) -> QuestionAnswer:
        """Implement `Questioner`. A key cannot be asked for: a client may show or store it."""
        if question.secret:
            return CannotAsk(NO_WORDS)
        titles = [each.title for each in question.choices]
        if self._asks_forms:
            return await self._answer_in_a_form(question, titles)
        if not titles:
            return CannotAsk(NO_WORDS)
        options = [
            {"optionId": str(number), "name": visible(title), "kind": "allow_once"}
            for number, title in enumerate(titles)
        ]
        chosen = _chosen(await self._put(question.text, options))
        found = next((title for number, title in enumerate(titles) if str(number) == chosen), None)
        return QuestionNotAnswered() if found is None else QuestionAnswered(choice=found)

    async def _put(self, text: str, options: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Ask a question that no tool call of the model belongs to: the protocol has no other way to show choices."""
        call = {
            "toolCallId": f"question-{uuid4().hex[:12]}",
            "title": visible(text).splitlines()[0],
            "kind": "other",
            "status": "pending",
            "content": [{"type": "content", "content": text_block(visible(text))}],
        }
        return await self._ask("session/request_permission", {"toolCall": call, "options": list(options)})

    async def _answer_in_a_form(self, question: Question, titles: Sequence[str]) -> QuestionAnswer:
        field: dict[str, Any] = {"type": "string", "title": "Answer"}
        if titles:
            field["enum"] = list(titles)
        schema = {"type": "object", "properties": {"answer": field}, "required": ["answer"]}
        given = await self._ask(
            "elicitation/create", {"mode": "form", "message": visible(question.text), "requestedSchema": schema}
        )
        content: object = given.get("content") if given and given.get("action") == "accept" else None
        answer = cast("dict[str, object]", content).get("answer") if isinstance(content, dict) else None
        if not isinstance(answer, str) or not answer.strip():
            return QuestionNotAnswered()
        if titles:
            return QuestionAnswered(choice=answer) if answer in titles else QuestionNotAnswered()
        return QuestionAnswered(text=answer)


def _call_of(request: PermissionRequest, spelled: Callable[[Path], str]) -> dict[str, Any]:
    """Return the call as the user is shown it: the diff, or all of what it will do."""
    source = f" ({visible(request.source)})" if request.source else ""
    lines = [request.description, request.action + source, capitalized(request.confinement)]
    said = {"type": "content", "content": text_block("\n".join(filter(None, lines)))}
    return {
        "toolCallId": request.tool_id,
        "title": request.title or request.tool_name,
        "kind": request.kind,
        "status": "pending",
        "content": [*diff_content(request.changes, spelled), said],
        "locations": [{"path": spelled(path)} for path in request.paths],
        "rawInput": dict(request.input),
    }


def _option(choice: PermissionChoice) -> dict[str, str]:
    """Return a choice with what it covers, since the protocol shows nothing but its name."""
    covers = f": {choice.applies_to}" if choice.rules else ""
    return {"optionId": choice.id, "name": choice.title + covers, "kind": KINDS[choice.outcome]}


def _chosen(given: Mapping[str, Any] | None) -> str | None:
    """Return the id of the chosen option; None without one."""
    match given:
        case {"outcome": {"outcome": "selected", "optionId": str(option)}}:
            return option
        case _:
            return None
