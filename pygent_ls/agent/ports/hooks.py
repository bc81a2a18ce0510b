"""Hooks port: programs of the user that run on events and return what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import Struct

HookEvent = Literal[
    "session_start",
    "user_prompt_submit",
    "pre_tool_use",
    "post_tool_use",
    "post_tool_use_failure",
    "permission_request",
    "pre_compact",
    "stop",
    "subagent_stop",
    "session_end",
]

HookSource = Literal["startup", "resume", "clear", "compact"]
"""Why a session starts: it is new, was loaded again, was emptied, or was compacted."""

HookEnd = Literal["close", "idle", "delete", "exit"]
"""Why a session ends: a client closed it, it was evicted from memory, it was deleted, or the process exits. It can be
resumed in all cases but `delete`."""

HookDecision = Literal["allow", "ask", "deny"]

TAKES_INPUT: Sequence[HookEvent] = ("pre_tool_use", "permission_request")
"""Events whose hooks may replace a call's input."""

STRICTEST: Sequence[HookDecision] = ("deny", "ask", "allow")
"""Decisions by precedence: the first of these that occurs counts."""


class HookInput(Struct, frozen=True, kw_only=True):
    """Event that a hook is run for, before or after it happens. All text is redacted, as the model reads it."""

    event: HookEvent
    session_id: str
    turn_id: str
    """Empty between turns."""
    cwd: Path
    """The session's folder."""
    source: HookSource | None = None
    """Why the session starts; only for `session_start`."""
    reason: str | None = None
    """Why a turn or a session ends, or a conversation is compacted."""
    prompt: str | None = None
    """The user's prompt; only for `user_prompt_submit`."""
    tool_id: str | None = None
    """Id of the tool call that the event is about."""
    tool_name: str | None = None
    tool_input: Mapping[str, Any] | None = None
    tool_result: str | None = None
    """Result as the model reads it; only for `post_tool_use`."""
    error: str | None = None
    """Error as the model reads it; only for `post_tool_use_failure`."""


class HookOutcome(Struct, frozen=True, kw_only=True):
    """Combined result of one hook, or of all hooks of one event."""

    decision: HookDecision | None = None
    reason: str = ""
    """Why it decided so, for the model or the user who is asked."""
    tool_input: Mapping[str, Any] | None = None
    """Input that replaces the model's; only for `pre_tool_use`, and for `permission_request` with `allow`."""
    context: str = ""
    """Text for the model to read."""
    notices: tuple[str, ...] = ()
    """Problems for the user; a hook that failed decides nothing."""
    ran: tuple[HookRan, ...] = ()
    """The programs that were run."""


NOTHING = HookOutcome()
"""Outcome of an event that no hook listens to."""


class Hooks(Protocol):
    """Runs the user's hooks."""

    def listens(self, event: HookEvent, tool_name: str = "") -> bool:
        """Whether any hook listens to this event; if not, its input need not be prepared."""
        ...

    async def run(self, given: HookInput) -> HookOutcome:
        """Run the hooks that listen to this event, and return their combined outcome. Raise nothing but a cancellation,
        after which none of them runs."""
        ...


class SeveralHooks:
    """Hooks from several sources as one port; they run concurrently."""

    def __init__(self, parts: Sequence[Hooks]) -> None:
        self._parts = parts

    def listens(self, event: HookEvent, tool_name: str = "") -> bool:
        """Whether any source has a hook that listens to this event."""
        return any(each.listens(event, tool_name) for each in self._parts)

    async def run(self, given: HookInput) -> HookOutcome:
        """Run the hooks of all sources, and combine their outcomes."""
        listening = [each for each in self._parts if each.listens(given.event, given.tool_name or "")]
        return await side_by_side(each.run(given) for each in listening)


class NoHooks:
    """Port without any hooks."""

    def listens(self, event: HookEvent, tool_name: str = "") -> bool:
        """Return False."""
        return False

    async def run(self, given: HookInput) -> HookOutcome:
        """Return `NOTHING`."""
        return NOTHING


async def side_by_side(runs: Iterable[Coroutine[Any, Any, HookOutcome]]) -> HookOutcome:
    """Run hooks of one event concurrently, and combine their outcomes; `NOTHING` if `runs` is empty."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in runs]
    return together([task.result() for task in tasks]) if tasks else NOTHING


def together(said: Sequence[HookOutcome]) -> HookOutcome:
    """Combine the outcomes of several hooks: the strictest decision with its reasons, all context, the last new input.

    An `allow` applies to the input that the hook read or returned: if another hook's input is taken, it does not count.
    """
    rewriting = [each for each in said if each.tool_input is not None]
    taken = rewriting[-1] if rewriting else None
    heard = [each for each in said if each.decision != "allow" or taken in (None, each)]
    said_so = {each.decision for each in heard}
    decision: HookDecision | None = next((one for one in STRICTEST if one in said_so), None)
    reasons = [each.reason for each in heard if decision is not None and each.decision == decision]
    problems = tuple(notice for each in said for notice in each.notices)
    if len(rewriting) > 1:
        problems += (f"{len(rewriting)} hooks changed the input of one call; the last change was used.",)
    return HookOutcome(
        decision=decision,
        reason="\n".join(filter(None, reasons)),
        tool_input=taken.tool_input if taken else None,
        context="\n\n".join(each.context for each in said if each.context),
        notices=problems,
        ran=tuple(ran for each in said for ran in each.ran),
    )


class HookRan(Struct, frozen=True, kw_only=True):
    """A hook command of the user ran; `decision` is empty if it decided nothing."""

    hook_event: str
    command: str
    decision: str
    duration_s: float
    type: Literal["hook"] = "hook"
