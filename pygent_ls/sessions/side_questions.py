"""Side questions of a session, which are answered beside its turns and leave no trace in its conversation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Protocol
from uuid import uuid4

from msgspec.structs import replace

from pygent_ls.agent.events import EventSink, Finished, Stamped
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.side_question import SideQuestion
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.agent.turn_spec import TurnSpec
from pygent_ls.errors import SessionError
from pygent_ls.sessions.event_stream import EventStream, NoSubscriber, Subscriber
from pygent_ls.sessions.turns.factory import TurnFactory
from pygent_ls.sessions.turns.prompt import content_of
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.session_parts import ActiveParts
from pygent_ls.sessions.turns.turn import RunningTurn

COMMAND = "btw"
"""Name of the slash command."""

MAX_AT_ONCE = 3
"""Maximum number of side questions of one session that are answered at the same time."""

_CALLED = re.compile(r"\s*/btw\s+(?P<question>\S.*)", re.DOTALL | re.IGNORECASE)


def question_in(request: TurnRequest) -> TurnRequest | None:
    """Return the request without the command if its prompt is `/btw QUESTION`; None if it is not."""
    called = _CALLED.fullmatch(request.prompt) if request.takes_commands and request.output_schema is None else None
    if called is None:
        return None
    attached = [part for part in request.parts if not isinstance(part, str)]
    return replace(request, parts=(called["question"].rstrip(), *attached), takes_commands=False)


class QuestionedSession(Protocol):
    """What side questions need of their session."""

    @property
    def messages(self) -> list[Message]: ...

    @property
    def running(self) -> RunningTurn | None:
        """Turn that is running."""
        ...


class SideQuestions:
    """Answers the side questions of one session, and owns their tasks."""

    def __init__(
        self,
        session: QuestionedSession,
        active: ActiveParts,
        factory: TurnFactory,
        spend: Callable[[Turn | None, SideQuestion], None],
    ) -> None:
        """`spend` receives each question when it has ended, with the turn that ran when it was asked."""
        self._session = session
        self._active = active
        self._factory = factory
        self._spend = spend
        self._open: list[RunningTurn] = []

    @property
    def open(self) -> Sequence[RunningTurn]:
        """Questions that are being answered."""
        return self._open

    def ask(self, request: TurnRequest, subscriber: Subscriber) -> RunningTurn:
        """Begin to answer the request's prompt, without a command. The subscriber receives events like those of a turn,
        numbered from 1; they are not stored.

        Raises `SessionError` (`too_many_side_questions`, `turn_id_taken`, `limit_reached`).
        """
        if len(self._open) >= MAX_AT_ONCE:
            raise SessionError(
                f"{MAX_AT_ONCE} side questions are already being answered. Wait for one or cancel it.",
                kind="too_many_side_questions",
            )
        question_id = request.turn_id or f"btw-{uuid4().hex[:12]}"
        if any(each.turn_id == question_id for each in self._open):
            raise SessionError(f"A side question {question_id!r} is already open.", kind="turn_id_taken")
        asked = RunningTurn(question_id, request, subscriber)
        running = self._session.running
        beside = running.turn if running is not None and isinstance(running.turn, Turn) else None
        if beside is not None and beside.limit_reached is not None:
            raise SessionError(
                "The running turn has reached its limit of tokens or cost, which side questions share. Let it "
                "continue, or wait until it ends.",
                kind="limit_reached",
            )
        history = tuple(self._session.messages)
        asked.task = asyncio.create_task(self._answer(asked, beside, history))
        self._open.append(asked)
        return asked

    async def answered(self, question: str) -> str:
        """Return the answer to a question. Raises `ModelError`, and `SessionError` as `ask` does."""
        asked = self.ask(TurnRequest(parts=(question,), takes_commands=False), NoSubscriber())
        assert asked.task is not None
        try:
            result = await asyncio.shield(asked.task)
        except asyncio.CancelledError:
            asked.cancel()
            raise
        if result.error is not None:
            raise result.error
        return result.text

    def cancel(self, question_id: str) -> bool:
        """Cancel the question with that id; return False if it is not open."""
        return any(each.cancel() for each in self._open if each.turn_id == question_id)

    async def close(self) -> None:
        """Cancel all questions and wait for them."""
        waiting = [each.task for each in self._open if each.task is not None]
        for each in self._open:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    async def _answer(self, asked: RunningTurn, beside: Turn | None, history: Sequence[Message]) -> TurnResult:
        stream = EventStream(flush_interval_s=self._active.limits.stream_flush_s)

        async def sink(stamped: Stamped) -> None:
            waits = not asked.cancel_requested and not isinstance(stamped.event, Finished)
            await stream.publish(stamped, asked.turn_id, asked.subscriber, waits=waits)

        question: SideQuestion | None = None
        try:
            asked.begin()
            question = await self._made(asked, beside, history, sink)
            return await question.run()
        except asyncio.CancelledError:
            if question is None:
                return TurnResult(stop_reason="cancelled", text="", usage=Usage(), iterations=0, files_changed=())
            if (task := asyncio.current_task()) is not None:
                while task.cancelling():
                    task.uncancel()
            return await question.cancelled()
        finally:
            self._open.remove(asked)
            if question is not None:
                self._spend(beside, question)
            stream.flush()

    async def _made(
        self, asked: RunningTurn, beside: Turn | None, history: Sequence[Message], sink: EventSink
    ) -> SideQuestion:
        services, spec = await self._context(beside, history)
        shown = await self._factory.shown_prompt(asked)
        content = await content_of(asked.request.parts, services, "workspace")
        if spec.model_settings.context.mode == "fresh":
            history = [each for each in history if each.turn_id == spec.turn_id]
        return SideQuestion(
            question_id=asked.turn_id,
            shown=shown,
            content=content,
            spec=spec,
            services=services,
            history=history,
            sink=sink,
        )

    async def _context(self, beside: Turn | None, history: Sequence[Message]) -> tuple[SessionServices, TurnSpec]:
        """Return the services and the specification of the running turn, or those of a turn that would begin now, with
        logs of their own of what was read and which instructions were given."""
        if beside is None:
            services, spec = await self._factory.beside_turns(history)
        else:
            now = beside.context
            services = SessionServices(environment=now.environment, memory=now.memory, tools=now.tools)
            spec = now.spec
        environment = replace(services.environment, instructions=services.environment.instructions.afresh())
        return replace(services, environment=environment, memory=replace(services.memory, reads=ReadLog())), spec
