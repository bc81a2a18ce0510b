"""The port to whoever wants to know what a turn did and how long it took: what begins, within what, and how it ends.

It hears; it cannot change, slow down or end anything. The messages that are handed over are the turn's own: an adapter
that passes them on must have been told to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pygent_ls.agent.answer import Answer
from pygent_ls.agent.approver import PermissionOutcome
from pygent_ls.agent.events import DecidedBy, StopReason
from pygent_ls.agent.messages import ToolUseBlock, Usage
from pygent_ls.agent.model import FinishReason, ModelRequest
from pygent_ls.errors import ModelErrorType


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegan:
    """A turn, or the turn of a subagent."""

    session_id: str
    turn_id: str
    agent: str
    model: str
    mode: str
    is_subagent: bool
    prompt: str
    """As it may be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallBegan:
    """One request to a model; a call that is repeated is several."""

    session_id: str
    agent: str
    model: str
    """The string that chose it."""
    request: ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBegan:
    """A call of a tool, from the model's words on; what it waits for is a part of it."""

    session_id: str
    agent: str
    call: ToolUseBlock
    description: str
    """Of the tool; empty where there is none of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionWaitBegan:
    """The user, or a hook in their place, is asked whether a call may run."""

    session_id: str
    call: ToolUseBlock


Began = TurnBegan | ModelCallBegan | ToolBegan | PermissionWaitBegan


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """With all that its subagents took."""

    stop_reason: StopReason
    usage: Usage
    iterations: int
    text: str
    """The last answer's."""
    error: ModelErrorType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallEnded:
    """`finish` is None where it did not come to its end, and `error` too where it was cancelled. `answer` is over:
    nothing changes it any more."""

    usage: Usage
    finish: FinishReason | None = None
    answer: Answer | None = None
    first_chunk_s: float | None = None
    """Seconds from the request to the first of the answer, where it came in pieces."""
    error: ModelErrorType | None = None
    status: int | None = None
    """The HTTP status of the failure, where it had one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded:
    """`content` is what the model reads; None where the call was cancelled before it had a result."""

    content: str | None
    is_error: bool = False
    is_denied: bool = False
    cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionWaitEnded:
    """What was answered, and who did."""

    outcome: PermissionOutcome
    by: DecidedBy


Ended = TurnEnded | ModelCallEnded | ToolEnded | PermissionWaitEnded


class Observation(Protocol):
    """Something that has begun."""

    def end(self, how: Ended) -> None:
        """It is over; called once, with the kind that fits its beginning. Must not block, and raises nothing."""
        ...


class Telemetry(Protocol):
    """Whoever wants to know."""

    def begin(self, what: Began, within: Observation | None) -> Observation:
        """Something begins, within another thing that this port was told of. Must not block, and raises nothing."""
        ...


class Unobserved:
    """An observation that nobody makes."""

    def end(self, how: Ended) -> None:
        """See `Observation`."""


UNOBSERVED = Unobserved()


class NoTelemetry:
    """Nobody wants to know."""

    def begin(self, what: Began, within: Observation | None) -> Observation:
        """See `Telemetry`."""
        return UNOBSERVED
