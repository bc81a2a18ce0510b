"""Spans: what a turn does, when, and how it ended. The parent of a span is the one that was open when it began.

A span holds the turn's own messages: export them only if the user has asked for it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from pygent_ls.agent.events import ToolResult
from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.messages import ToolUseBlock, Usage
from pygent_ls.agent.model.answer import ModelAnswer
from pygent_ls.agent.ports.approver import PermissionAnswer
from pygent_ls.agent.ports.model import ModelRequest
from pygent_ls.errors import ModelError


@dataclass(slots=True, eq=False, kw_only=True, weakref_slot=True)
class BaseSpan:
    """Common fields of all spans. A field with a default may change until the span has ended."""

    session_id: str
    agent: str = ""
    """Agent of the enclosing turn; empty outside turns."""
    parent: Span | None = field(init=False)
    error: ModelError | None = None
    """Model failure that ended it."""
    began_ns: int = field(default_factory=time.time_ns)
    ended_ns: int = 0
    """End time; 0 until it has ended."""
    trace_id: int = field(init=False)
    span_id: int = field(init=False)

    def __post_init__(self) -> None:
        is_root = isinstance(self, TurnSpan) and not self.is_subagent  # the end of another turn may have started it
        self.parent = None if is_root else _open.get()
        self.agent = self.agent or (self.parent.agent if self.parent else "")
        self.trace_id = self.parent.trace_id if self.parent else secrets.randbits(128)
        self.span_id = secrets.randbits(64)

    @property
    def seconds(self) -> float:
        """Duration of an ended span."""
        return (self.ended_ns - self.began_ns) / 1e9


@dataclass(slots=True, eq=False, kw_only=True)
class TurnSpan(BaseSpan):
    """Turn, or turn of a subagent."""

    turn_id: str
    model: str
    mode: str
    is_subagent: bool
    prompt: str
    """The prompt as the user wrote it."""
    stop_reason: StopReason = "error"
    usage: Usage = field(default_factory=Usage)
    """Usage of the turn and its subagents."""
    iterations: int = 0
    text: str = ""
    """Text of the last answer."""


@dataclass(slots=True, eq=False, kw_only=True)
class ModelCallSpan(BaseSpan):
    """One request to a model; each retry has its own."""

    model: str
    """The string that chose it."""
    request: ModelRequest
    answer: ModelAnswer = field(default_factory=ModelAnswer)
    """Answer received so far; `answer.finish` stays None if the answer was cut short."""
    first_chunk_ns: int = 0
    """When the answer began; 0 if it came as a whole or not at all."""


@dataclass(slots=True, eq=False, kw_only=True)
class ToolSpan(BaseSpan):
    """Tool call, including everything that it waits for."""

    call: ToolUseBlock
    description: str
    """Description of the tool; empty for an unknown tool."""
    result: ToolResult | None = None
    """None if the call was cancelled before it had a result."""
    is_denied: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class PermissionSpan(BaseSpan):
    """Question to the user, or to a hook in their place, whether a call may run."""

    call: ToolUseBlock
    answer: PermissionAnswer = field(default_factory=lambda: PermissionAnswer(outcome="cancelled"))


Span = TurnSpan | ModelCallSpan | ToolSpan | PermissionSpan

Telemetry = Callable[[Span], None]
"""Port that receives a span when it begins and again when it has ended. Must not block, and raises nothing."""

_open: ContextVar[Span | None] = ContextVar("open_span", default=None)


def traceparent() -> str | None:
    """Return the header of W3C Trace Context by which a server's spans become children of the open span."""
    span = _open.get()
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-01" if span else None


def no_telemetry(span: Span) -> None:
    """Ignore the span."""


@contextmanager
def observed(telemetry: Telemetry, span: Span) -> Generator[None]:
    """Keep the span open, also for tasks that begin meanwhile, and report its beginning and its end."""
    token = _open.set(span)
    telemetry(span)
    try:
        yield
    except ModelError as error:
        span.error = error
        raise
    finally:
        _open.reset(token)
        span.ended_ns = time.time_ns()
        telemetry(span)
