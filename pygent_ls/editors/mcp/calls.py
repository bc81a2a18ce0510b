"""Tool calls of another agent, each a turn, and what the turn asks the user through that agent's client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from msgspec import Struct, field

from pygent_ls.agent.display_text import capitalized, visible
from pygent_ls.agent.events import PermissionDenied, ToolCall
from pygent_ls.agent.permissions.choices import TITLES
from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionOutcome, PermissionRequest
from pygent_ls.agent.ports.questioner import CannotAsk, Question, QuestionAnswer, QuestionAnswered, QuestionNotAnswered
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest

CANNOT_ASK = (
    "The client of the calling agent cannot ask its user (it declares no `elicitation`). Allow the call with a rule in "
    "`permissions.allow`, or start `pygent-ls mcp serve` with another `--permission-mode`."
)

OFFERED: Mapping[str, PermissionOutcome] = {
    TITLES["allow_once"]: "allow_once",
    TITLES["allow_session"]: "allow_session",
    TITLES["reject_once"]: "reject_once",
}
"""Outcomes that are offered, by their titles. A client may let its agent answer, so no answer stores a rule."""

MAX_PATCH_CHARS = 4_000
"""Maximum length of the diffs in one question."""


class Form(Struct, frozen=True, kw_only=True):
    """Question for the user: a form with one field, `answer`."""

    message: str
    choices: tuple[str, ...] = ()
    """Valid answers; empty if any text is one."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """Schema of the form, as the protocol has it."""
        field_schema: dict[str, Any] = {"type": "string", "title": "Answer"}
        if self.choices:
            field_schema["enum"] = list(self.choices)
        return {"type": "object", "properties": {"answer": field_schema}, "required": ["answer"]}


class OpenForm(Struct, frozen=True, eq=False):
    """A form that waits for its answer: text, or None if the user gave none."""

    form: Form
    answer: asyncio.Future[str | None]


class AgentCall:
    """One call of another agent: its turn, and the forms that wait for the user."""

    congested = False

    def __init__(self, session: Session, request: TurnRequest, *, can_ask: bool) -> None:
        """Start the turn. Raises as `Session.start_turn`."""
        self.id = uuid4().hex
        """Secret of the agent's client, with which it goes on with the call after a form."""
        self.session = session
        self.can_ask = can_ask
        self.n_calls = 0
        """Number of tool calls that the client was told about."""
        self.denied: list[tuple[str, str]] = []
        """Titles of denied tool calls, each with the reason."""
        self._titles: dict[str, str] = {}
        self.open_form: OpenForm | None = None
        self._news: asyncio.Queue[str | OpenForm | None] = asyncio.Queue()
        self.turn = session.start_turn(request, self)
        assert self.turn.task is not None
        self.ended: asyncio.Task[TurnResult] = self.turn.task
        self.ended.add_done_callback(lambda _: self._news.put_nowait(None))

    def deliver(self, events: Sequence[SessionEvent]) -> None:
        """Implement `Subscriber`."""
        for event in (each.event for each in events):
            if isinstance(event, ToolCall):
                self._titles[event.tool_id] = visible(event.title)
                self._news.put_nowait(self._titles[event.tool_id])
            elif isinstance(event, PermissionDenied):
                title = self._titles.get(event.tool_id, event.tool_name)
                self.denied.append((title, visible(event.reason)))

    async def drained(self) -> None:
        """Implement `Subscriber`."""

    async def ask(self, form: Form) -> str | None:
        """Ask the user and return their answer; None if they gave none."""
        waiting = OpenForm(form, asyncio.get_running_loop().create_future())
        self._news.put_nowait(waiting)
        return await waiting.answer

    async def next(self) -> str | OpenForm | TurnResult:
        """Return the title of the next tool call, the next form for the user, or the result of the turn."""
        came = await self._news.get()
        if came is None:
            return await self.ended
        if isinstance(came, OpenForm):
            self.open_form = came
        return came

    def answer(self, text: str | None) -> None:
        """Answer the open form; an answer that is not one of its choices counts as none."""
        waiting, self.open_form = self.open_form, None
        if waiting is None or waiting.answer.done():
            return
        choices = waiting.form.choices
        waiting.answer.set_result(text if text and (not choices or text in choices) else None)

    async def cancel(self) -> None:
        """Stop the turn and wait for its end."""
        self.turn.cancel()
        await asyncio.wait([self.ended])


class AgentCalls(Struct, frozen=True):
    """The calls that run, by their sessions; the approver and questioner of all."""

    running: dict[str, AgentCall] = field(default_factory=dict[str, AgentCall])

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """Implement `Approver`."""
        call = self.running.get(request.session_id)
        if call is None or not call.can_ask:
            return PermissionAnswer(outcome="reject_once", feedback=CANNOT_ASK, by="mode")
        may_repeat = bool(request.rules or request.covers_session)
        titles = tuple(title for title in OFFERED if may_repeat or title != TITLES["allow_session"])
        answer = await call.ask(Form(message=_text_of(request), choices=titles))
        return PermissionAnswer(outcome="reject_once" if answer is None else OFFERED[answer])

    async def ask(self, question: Question) -> QuestionAnswer:
        """Implement `Questioner`. A question without a session, and one for a key, cannot be asked."""
        call = self.running.get(question.session_id)
        if call is None or not call.can_ask or question.secret:
            return CannotAsk(CANNOT_ASK)
        titles = tuple(each.title for each in question.choices)
        answer = await call.ask(Form(message=visible(question.text), choices=titles))
        if answer is None:
            return QuestionNotAnswered()
        return QuestionAnswered(choice=answer) if titles else QuestionAnswered(text=answer)


def _text_of(request: PermissionRequest) -> str:
    """Return what the user is asked to allow."""
    source = f", {visible(request.source)}" if request.source else ""
    lines = [f"pygent-ls asks for permission: {visible(request.tool_name)} ({request.severity.value} risk{source})"]
    lines += [request.description] if request.description else []
    lines.append(request.action)
    patches = "\n".join(visible(each.patch) for each in request.changes if each.patch)
    if len(patches) > MAX_PATCH_CHARS:
        patches = f"{patches[:MAX_PATCH_CHARS]}\n[{len(patches) - MAX_PATCH_CHARS:,} more characters]"
    lines += [patches] if patches else []
    lines += [capitalized(request.confinement)] if request.confinement else []
    return "\n".join(lines)
