"""Handlers of the requests about turns."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec.structs import replace

from pygent_ls.agent.context.attachments import PromptPart, is_background
from pygent_ls.agent.turn.structured_answer import StructuredAnswer
from pygent_ls.editors.lsp.ports.progress import Token, TurnProgress
from pygent_ls.editors.lsp.protocol.content import ContentBlock, DiagnosticsContent, EditorContext
from pygent_ls.editors.lsp.protocol.conversion import BadBlockError, prompt_parts, turn_result
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError, JsonRpcError
from pygent_ls.errors import SessionError
from pygent_ls.sessions.lifecycle.defaults import NewSession
from pygent_ls.sessions.steering import steer
from pygent_ls.sessions.turns.request import TurnRequest

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.client import Client
    from pygent_ls.editors.lsp.protocol.turns import (
        AcceptedOut,
        ResumeParams,
        SideQuestionParams,
        SteerParams,
        TurnResultOut,
        TurnStartParams,
    )
    from pygent_ls.editors.lsp.review.pending_review import PendingReview
    from pygent_ls.sessions.event_stream import Subscriber
    from pygent_ls.sessions.session import Session
    from pygent_ls.sessions.store import Sessions
    from pygent_ls.sessions.turns.turn import RunningTurn

REQUEST_CANCELLED = -32800

_COMMAND = re.compile(r"\s*/[\w:-]+(?:\s|\Z)")


class Turns:
    """Starts turns for requests and commands, and finds them by work-done token."""

    def __init__(self, client: Client, sessions: Sessions, review: PendingReview) -> None:
        self._client = client
        self._review = review
        self._sessions = sessions
        self._by_token: dict[Token, RunningTurn] = {}

    async def start(self, params: TurnStartParams) -> TurnResultOut:
        """Handle `pygent/turn/start`. Raises `JsonRpcError`."""
        request = request_of(params)
        self._learn(params)
        session = await self.session_for(params)
        turn = self.begin(session, request, events_token=params.partial_result_token, work_token=params.work_done_token)
        return await self._result(session, turn)

    async def resume(self, params: ResumeParams) -> TurnResultOut:
        """Handle `pygent/turn/resume`. Raises `JsonRpcError`, `SessionError`."""
        session = await self._sessions.hold(params.session_id)
        request = session.held_request(params.turn_id)
        turn = self.begin(session, request, events_token=params.partial_result_token, work_token=params.work_done_token)
        return await self._result(session, turn)

    async def ask_beside(self, params: SideQuestionParams) -> TurnResultOut:
        """Handle `pygent/sideQuestion`. Raises `JsonRpcError`, `SessionError`."""
        request = TurnRequest(parts=_parts_of(params.question, None), turn_id=params.question_id, takes_commands=False)
        session = await self._sessions.hold(params.session_id)
        progress = self._progress(params.partial_result_token, params.work_done_token)
        asked = session.side_questions.ask(request, progress)
        if params.work_done_token is not None:
            self._remember(params.work_done_token, asked)
        return await self._result(session, asked)

    async def steer(self, params: SteerParams) -> AcceptedOut:
        """Handle `pygent/turn/steer`. Raises `JsonRpcError`."""
        session = await self._sessions.hold(params.session_id)
        return {"accepted": await steer(session, params.turn_id, _parts_of(params.prompt, None))}

    def _learn(self, params: TurnStartParams) -> None:
        """Store the editor context of the request, which also applies to later turns."""
        if params.context is not None:
            self._client.told.take(params.context)
        for block in params.prompt if isinstance(params.prompt, list) else ():
            if isinstance(block, DiagnosticsContent):
                self._client.told.add(block.uri, block.items)

    async def session_for(self, params: TurnStartParams) -> Session:
        """Return the session with that id, or a new one."""
        if params.session_id is not None:
            return await self._sessions.hold(params.session_id)
        return self._sessions.new(NewSession(agent=params.agent, model=params.model, mode=params.mode))

    def begin(
        self,
        session: Session,
        request: TurnRequest,
        *,
        events_token: Token | None,
        work_token: Token | None,
        through: Callable[[Subscriber], Subscriber] = lambda progress: progress,
    ) -> RunningTurn:
        """Start or queue a turn that reports to the client; creates a work-done progress if no token is given.
        `through` wraps the turn's progress in another subscriber."""
        client = self._client
        progress = self._progress(events_token, work_token)
        if self._sessions.for_folder(session.working_directory) is not self._sessions:  # the user is in other files
            request = replace(request, parts=tuple(each for each in request.parts if not _is_told(each)))
        is_command = _COMMAND.match(request.prompt) is not None  # the model may not read it
        report = None if is_command else self._review.report(session)
        if report is not None:
            request = replace(request, parts=(report.part, *request.parts))
        turn = session.start_turn(request, through(progress), self._sessions)
        if report is not None:
            self._review.told(report, turn.turn_id)
        if work_token is not None:
            self._remember(work_token, turn)
        elif client.features.work_done_progress:
            token = f"pygent-{uuid4().hex[:12]}"
            self._remember(token, turn)
            client.endpoint.ask_without_waiting(
                "window/workDoneProgress/create", {"token": token}, lambda _: progress.accept_token(token)
            )
        return turn

    def _progress(self, events_token: Token | None, work_token: Token | None) -> TurnProgress:
        client = self._client
        return TurnProgress(
            endpoint=client.endpoint,
            line=client.line,
            uri_of=client.uri_of,
            events_token=events_token,
            work_token=work_token,
        )

    def _remember(self, token: Token, turn: RunningTurn) -> None:
        self._by_token[token] = turn
        if turn.task is not None:
            turn.task.add_done_callback(lambda _: self._forget(token, turn))

    def _forget(self, token: Token, turn: RunningTurn) -> None:
        if self._by_token.get(token) is turn:  # a later turn may use the same token
            del self._by_token[token]

    def cancel_progress(self, token: Token) -> None:
        """Handle `window/workDoneProgress/cancel`."""
        turn = self._by_token.get(token)
        if turn is not None:
            turn.cancel()

    async def _result(self, session: Session, turn: RunningTurn) -> TurnResultOut:
        """Wait for the turn. Cancelling the request cancels the turn, and the error then contains the turn's result."""
        assert turn.task is not None
        uri_of = self._client.uri_of
        try:
            result = await asyncio.shield(turn.task)
        except asyncio.CancelledError:
            in_time = turn.cancel()
            result = await turn.task
            if not in_time:
                return turn_result(session.id, turn.turn_id, result, uri_of)
            data = turn_result(session.id, turn.turn_id, result, uri_of)
            raise JsonRpcError("the turn was cancelled", REQUEST_CANCELLED, data) from None
        return turn_result(session.id, turn.turn_id, result, uri_of)


def _is_told(part: PromptPart) -> bool:
    """Return whether the editor reports a part, and the user did not attach it."""
    return not isinstance(part, str) and is_background(part)


def request_of(params: TurnStartParams) -> TurnRequest:
    """Return the turn request. Raises `JsonRpcError`."""
    parts = _parts_of(params.prompt, params.context)
    try:
        StructuredAnswer.to(params.output_schema)  # before a session is created for it
    except SessionError as error:
        raise JsonRpcError(f"outputSchema: {error}", InvalidParamsError.CODE, {"kind": error.kind}) from None
    return TurnRequest(
        parts=parts,
        turn_id=params.turn_id,
        agent=params.agent,
        model=params.model,
        mode=params.mode,
        max_iterations=params.max_iterations,
        max_tokens=params.max_tokens,
        max_budget_usd=params.max_budget_usd,
        effort=params.effort,
        output_schema=params.output_schema,
    )


def _parts_of(prompt: str | list[ContentBlock], context: EditorContext | None) -> tuple[PromptPart, ...]:
    try:
        parts = prompt_parts(prompt, context)
    except BadBlockError as error:
        raise InvalidParamsError(f"prompt: {error}") from None
    if not any(part.strip() if isinstance(part, str) else not is_background(part) for part in parts):
        raise InvalidParamsError("prompt: it is empty")
    return parts
