"""The conversation that standard input drives: turns one after the other, and requests at any time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pygent_ls.agent.context.attachments import PromptPart
from pygent_ls.agent.kinds import Mode
from pygent_ls.editors.scripts.agent_definitions import MODES_OF_CLAUDE
from pygent_ls.editors.scripts.input_lines import (
    BadLineError,
    ControlRequest,
    Initialize,
    Interrupt,
    Prompt,
    Request,
    Response,
    SetMode,
    SetModel,
    SetThinking,
    ToolPermissionResponse,
    answer_of,
    read,
)
from pygent_ls.editors.scripts.program_hooks import ProgramHooks, callbacks_of
from pygent_ls.editors.scripts.requests import OpenRequests
from pygent_ls.editors.scripts.view import ScriptView
from pygent_ls.errors import PygentError, SettingError
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.turn import RunningTurn

MODES: Mapping[str, Mode] = {
    **{mode: mode for mode in ("default", "accept_edits", "plan", "trust", "bypass")},
    **MODES_OF_CLAUDE,
}


class RequestError(PygentError):
    """A request that cannot be fulfilled; the program receives the error."""


@dataclass(kw_only=True)
class ScriptConversation:
    """Runs the turns of one session. A prompt that arrives while a turn runs is queued."""

    session: Session
    view: ScriptView
    request: Callable[[tuple[PromptPart, ...]], TurnRequest]
    """Makes the turn request for a prompt."""
    abilities: Mapping[str, Any]
    """Response to `initialize`."""
    define_agents: Callable[[Mapping[str, Any]], None]
    """Adds agents for later turns. Raises `SettingError`."""
    hooks: ProgramHooks
    questions: OpenRequests[ToolPermissionResponse] | None = None
    """Permission prompts to the program; None if it is not asked."""
    _waiting: deque[Prompt] = field(default_factory=deque[Prompt])
    _running: RunningTurn | None = None
    _n_lines: int = 0
    _is_over: bool = False
    """Whether the input has ended."""

    def __post_init__(self) -> None:
        self._usual_model = self.session.model
        self._news = asyncio.Event()

    async def run(self, lines: AsyncIterable[bytes]) -> None:
        """Run until the input and the last turn have ended. On cancellation, cancel the running turn and report its
        end."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(lines))
                await self._take_turns()
        except asyncio.CancelledError:
            self._waiting.clear()
            if self._running is not None:
                self._running.cancel()
                await self._end_of_turn(self._running)
            raise

    async def _read(self, lines: AsyncIterable[bytes]) -> None:
        async for line in lines:
            self._n_lines += 1
            text = line.decode("utf-8-sig" if self._n_lines == 1 else "utf-8", "replace")
            if text.strip():
                self._take(text)
        self._is_over = True
        self._news.set()
        if self.questions is not None:
            self.questions.close()
        self.hooks.requests.close()

    def _take(self, line: str) -> None:
        try:
            self._do(line)
        except BadLineError as error:
            if error.request_id:
                self._respond_error(error.request_id, str(error))
                return
            if error.answer_to and self.questions is not None:
                self.questions.refuse(error.answer_to, str(error))
            problem = f"line {self._n_lines} was ignored: {error}"
            self.view.write({"type": "system", "subtype": "input_error", "line": self._n_lines, "error": problem})

    def _do(self, line: str) -> None:
        """Handle one line. Raises `BadLineError`."""
        match read(line):
            case Prompt() as prompt:
                self._waiting.append(prompt)
                self._begin_next()
            case ControlRequest(request_id=request_id, request=request):
                self._respond(request_id, request)
            case Response() as response:
                self._take_response(response)
            case None:
                pass

    # Turns

    def _begin_next(self) -> None:
        """Start the next turn if none runs: at once, so that a request that follows finds it running."""
        while self._running is None and self._waiting:
            prompt = self._waiting.popleft()
            self.view.begin()
            try:
                self._running = self.session.start_turn(self.request(prompt.parts), self.view)
            except PygentError as error:
                self.view.fail(str(error))
        self._news.set()

    async def _take_turns(self) -> None:
        while not (self._is_over and self._running is None):
            if self._running is None:
                self._news.clear()
                await self._news.wait()
                continue
            await self._end_of_turn(self._running)
            self._begin_next()

    async def _end_of_turn(self, turn: RunningTurn) -> None:
        assert turn.task is not None
        result = await asyncio.shield(turn.task)
        self._running = None
        self.view.end(result)

    def interrupt(self) -> bool:
        """Cancel the running turn; False if none runs."""
        return self._running is not None and self._running.cancel()

    # Requests

    def _respond(self, request_id: str, request: Request) -> None:
        try:
            done = self._done(request)
        except PygentError as error:
            self._respond_error(request_id, str(error))
            return
        response = {"subtype": "success", "request_id": request_id, "response": done}
        self.view.write({"type": "control_response", "response": response})

    def _respond_error(self, request_id: str, problem: str) -> None:
        response = {"subtype": "error", "request_id": request_id, "error": problem}
        self.view.write({"type": "control_response", "response": response})

    def _done(self, request: Request) -> Mapping[str, Any]:
        """Perform a request and return its response. Raises `PygentError` if it fails."""
        match request:
            case Initialize():
                return self._introduced(request)
            case Interrupt():
                return {"cancelled": self.interrupt()}
            case SetMode(mode=mode):
                self._set_mode(mode)
                return {"mode": self.session.permissions.mode}
            case SetModel(model=model):
                self.session.set_model(self._usual_model if model in (None, "default") else str(model))
                return {"model": self.session.model}
            case SetThinking(max_thinking_tokens=most):
                self.session.choices.max_thinking_tokens = most
                return {"max_thinking_tokens": most}

    def _introduced(self, request: Initialize) -> Mapping[str, Any]:
        if request.sdkMcpServers:
            raise RequestError("initialize: sdkMcpServers: in-process servers are not supported")
        callbacks = callbacks_of(request.hooks or {})
        abilities = dict(self.abilities)
        if request.agents:
            try:
                self.define_agents(request.agents)
            except SettingError as error:
                raise RequestError(f"initialize: agents: {error}") from None
            own = [
                {"name": name, "description": str(each.get("description", ""))} for name, each in request.agents.items()
            ]
            kept = [each for each in abilities.get("agents", ()) if each["name"] not in request.agents]
            abilities["agents"] = [*kept, *own]
        self.hooks.callbacks = callbacks
        return {**abilities, "hooks_applied": True, "hook_on_failure_supported": True}

    def _set_mode(self, named: str) -> None:
        if named not in MODES:
            raise RequestError(f"mode: {named!r} must be one of {', '.join(MODES)}")
        self.session.permissions.set_mode(MODES[named])

    def _take_response(self, response: Response) -> None:
        if self.hooks.requests.take(response.request_id, response):
            if response.body.get("continue") is False:
                self.interrupt()
            return
        if self.questions is None or not self.questions.has(response.request_id):
            raise BadLineError(f"response.request_id: there is no open request {response.request_id!r}")
        answer = answer_of(response)
        self.questions.take(response.request_id, answer)
        if answer.mode is not None:
            try:
                self._set_mode(answer.mode)
            except PygentError as error:
                raise BadLineError(f"updatedPermissions: {error}") from None
        if answer.interrupts:
            self.interrupt()
