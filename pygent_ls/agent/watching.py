"""What a turn tells of itself to the telemetry, each thing within the one that it is a part of."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pygent_ls.agent.answer import Answer
from pygent_ls.agent.events import ToolResult
from pygent_ls.agent.messages import ToolUseBlock, Usage
from pygent_ls.agent.model import Completion, FinishChunk, FinishReason, ModelRequest, TextChunk
from pygent_ls.agent.telemetry import (
    UNOBSERVED,
    ModelCallBegan,
    ModelCallEnded,
    NoTelemetry,
    Observation,
    PermissionWaitBegan,
    Telemetry,
    ToolBegan,
    ToolEnded,
    TurnBegan,
    TurnEnded,
)
from pygent_ls.errors import ModelError


@dataclass(kw_only=True)
class WatchedCall:
    """A model call while it lasts."""

    clock: Callable[[], float]
    usage: Usage = field(default_factory=Usage)
    finish: FinishReason | None = None
    answer: Answer | None = None
    first_chunk_s: float | None = None

    def __post_init__(self) -> None:
        self._began_s = self.clock()

    def chunk_came(self) -> None:
        """A piece of the answer is there."""
        if self.first_chunk_s is None:
            self.first_chunk_s = self.clock() - self._began_s

    def answered(self, answer: Answer) -> None:
        """The answer, as far as it came."""
        self.usage = answer.usage
        self.answer = answer
        if answer.finish is not None:
            self.finish = answer.finish_reason

    def completed(self, completion: Completion) -> None:
        """The answer, which came as a whole."""
        answer = Answer(usage=completion.usage)
        answer.add(TextChunk(text=completion.text))
        answer.add(FinishChunk(reason="stop"))
        answer.close()
        self.answered(answer)


@dataclass(kw_only=True)
class WatchedTool:
    """A tool call while it lasts."""

    observed: Observation = UNOBSERVED
    result: ToolResult | None = None
    is_denied: bool = False


@dataclass(kw_only=True)
class TurnWatch:
    """What one turn tells, or one of its subagents, or what a session does beside its turns."""

    telemetry: Telemetry = field(default_factory=NoTelemetry)
    session_id: str = ""
    agent: str = ""
    clock: Callable[[], float] = time.monotonic
    _turn: Observation | None = None
    _tools: dict[str, WatchedTool] = field(default_factory=dict[str, WatchedTool])

    def begin(self, what: TurnBegan, parent: TurnWatch | None, parent_tool_id: str | None) -> None:
        """The turn begins; that of a subagent within the call that started it."""
        within = parent.around(parent_tool_id or "") if parent else None
        self.agent = what.agent
        self._turn = self.telemetry.begin(what, within)

    def end(self, how: TurnEnded) -> None:
        """The turn is over."""
        if self._turn is not None:
            self._turn.end(how)

    def around(self, tool_id: str) -> Observation | None:
        """What the call of that id does is a part of this."""
        tool = self._tools.get(tool_id)
        return tool.observed if tool else self._turn

    @contextmanager
    def call(self, model: str, request: ModelRequest) -> Generator[WatchedCall]:
        """A model call, from the request to the end of the answer."""
        began = ModelCallBegan(session_id=self.session_id, agent=self.agent, model=model, request=request)
        observed = self.telemetry.begin(began, self._turn)
        watched = WatchedCall(clock=self.clock)
        failed: ModelError | None = None
        try:
            yield watched
        except ModelError as error:
            failed = error
            raise
        finally:
            observed.end(
                ModelCallEnded(
                    usage=watched.usage,
                    finish=watched.finish,
                    answer=watched.answer,
                    first_chunk_s=watched.first_chunk_s,
                    error=failed.type if failed else None,
                    status=failed.status if failed else None,
                )
            )

    @contextmanager
    def tool(self, call: ToolUseBlock, description: str) -> Generator[WatchedTool]:
        """A tool call, until it has a result."""
        began = ToolBegan(session_id=self.session_id, agent=self.agent, call=call, description=description)
        watched = self._tools[call.id] = WatchedTool(observed=self.telemetry.begin(began, self._turn))
        try:
            yield watched
        finally:
            del self._tools[call.id]
            result = watched.result
            watched.observed.end(
                ToolEnded(
                    content=result.content if result else None,
                    is_error=result.is_error if result else False,
                    is_denied=watched.is_denied,
                    cached=result.cached if result else False,
                )
            )

    def denied(self, tool_id: str) -> None:
        """The call of that id may not run."""
        if tool_id in self._tools:
            self._tools[tool_id].is_denied = True

    def wait(self, call: ToolUseBlock) -> Observation:
        """Somebody is asked whether the call may run."""
        return self.telemetry.begin(PermissionWaitBegan(session_id=self.session_id, call=call), self.around(call.id))
