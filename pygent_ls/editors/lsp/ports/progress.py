"""`$/progress`: the event stream of a turn, and its work-done progress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.events import (
    BudgetLimitReached,
    Finished,
    IterationLimitReached,
    LlmError,
    LoopDetected,
    Notice,
    PermissionRequested,
    PermissionResolved,
    TimeLimitReached,
    TokenLimitReached,
    ToolCall,
    ToolResult,
    TurnQueued,
    TurnStarted,
)
from pygent_ls.editors.lsp.protocol.conversation import ItemsOut
from pygent_ls.editors.lsp.protocol.conversion import UriOf, event_out
from pygent_ls.editors.lsp.protocol.events import EventsOut
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.transport.frame_sink import FrameSink
from pygent_ls.editors.turn_summary import failure_line, limit_line, summary
from pygent_ls.sessions.event_stream import SessionEvent

Token = str | int

MAX_MESSAGE_CHARS = 200
"""Maximum length of a work-done message: editors show it in a status line, and messages of providers and servers can be
long."""


@dataclass(kw_only=True)
class TurnProgress:
    """A turn's `Subscriber`: sends its events on the partial result token, and its status on the work-done token.

    Either token may be None. `value_of` makes the value of a batch of events; by default, it is the events.
    """

    endpoint: RpcEndpoint
    line: FrameSink
    uri_of: UriOf
    events_token: Token | None
    work_token: Token | None
    value_of: Callable[[Sequence[SessionEvent]], EventsOut | ItemsOut] | None = None
    _begun: bool = False
    _calls: dict[str, str] = field(default_factory=dict[str, str])
    """Titles of the running calls, the newest last."""
    _asked: set[str] = field(default_factory=set[str])
    """Permission prompts that wait for the user."""
    _last: tuple[str, str] | None = None
    """Last work-done message, sent again when the client accepts the token."""

    def __post_init__(self) -> None:
        self._line_number = self.line.number

    @property
    def _is_for_nobody(self) -> bool:
        """Whether the connection that provided the tokens is gone."""
        return self.line.number != self._line_number

    @property
    def congested(self) -> bool:
        return not self._is_for_nobody and self.line.congested

    async def drained(self) -> None:
        if not self._is_for_nobody:
            await self.line.drained()

    def deliver(self, events: Sequence[SessionEvent]) -> None:
        if self._is_for_nobody:
            return
        if self.events_token is not None:
            value = self.value_of(events) if self.value_of else self._events_out(events)
            self.endpoint.tell("$/progress", {"token": self.events_token, "value": value})
        for each in events:
            self._report(each)

    def _events_out(self, events: Sequence[SessionEvent]) -> EventsOut:
        return {"events": [event_out(event, self.uri_of) for event in events]}

    def accept_token(self, token: Token) -> None:
        """Begin the work-done progress that the client has accepted, with the last message."""
        self.work_token = token
        if self._last is not None:
            kind, message = self._last
            self._work("begin", message)
            if kind == "end":
                self._work("end", message)

    def _report(self, session_event: SessionEvent) -> None:
        match session_event.event:
            case TurnQueued():
                self._work("begin", "waiting for the previous turn")
            case TurnStarted():
                self._work("report" if self._begun else "begin", "waiting for the model")
            case ToolCall() | ToolResult() | PermissionRequested() | PermissionResolved() as event:
                self._keep(event)
                newest = next(reversed(self._calls.values()), "waiting for the model")
                self._work("report", "waiting for your permission" if self._asked else newest)
            case LlmError() as error:
                self._work("report", failure_line(error))
            case (
                IterationLimitReached()
                | TokenLimitReached()
                | BudgetLimitReached()
                | TimeLimitReached()
                | LoopDetected()
            ) as limit:
                self._work("report", limit_line(limit))
            case Notice(content=content):
                self._work("report", content)
            case Finished() as finished:
                self._work("end", summary(finished, ", "))
            case _:
                pass

    def _keep(self, event: ToolCall | ToolResult | PermissionRequested | PermissionResolved) -> None:
        match event:
            case ToolCall(tool_id=tool_id, title=title):
                self._calls[tool_id] = title
            case ToolResult(tool_id=tool_id):
                self._calls.pop(tool_id, None)
            case PermissionRequested(permission_id=permission_id):
                self._asked.add(permission_id)
            case PermissionResolved(permission_id=permission_id):
                self._asked.discard(permission_id)

    def _work(self, kind: str, message: str) -> None:
        message = one_line(message, MAX_MESSAGE_CHARS)
        if kind == "report" and self._last == (kind, message):
            return
        self._last = (kind, message)
        if self.work_token is None or self._is_for_nobody:
            return
        value: dict[str, object] = {"kind": kind, "message": message}
        if kind == "begin":
            value |= {"title": "pygent", "cancellable": True}
            self._begun = True
        elif not self._begun:
            return  # a turn that was cancelled while queued
        self.endpoint.tell("$/progress", {"token": self.work_token, "value": value})
