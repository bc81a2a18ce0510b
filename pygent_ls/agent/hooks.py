"""The hooks port: programs of the user's that are run when something happens, and what they have to say to it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from pygent_ls.agent.events import HookRan

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
"""Why a session starts: it is new, was loaded again, was emptied, or was shortened."""

HookEnd = Literal["close", "idle", "delete", "exit"]
"""Why a session ends: a client closed it, it left memory for others, it was deleted, or the process exits. In all
cases but `delete` it can be resumed."""

HookDecision = Literal["allow", "ask", "deny"]

TAKES_INPUT: Sequence[HookEvent] = ("pre_tool_use", "permission_request")
"""Events whose hooks may replace a call's input."""

STRICTEST: Sequence[HookDecision] = ("deny", "ask", "allow")
"""Of several decisions the first of these counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookInput:
    """What has happened, or is about to. All text is as the model reads it: without secrets."""

    event: HookEvent
    session_id: str
    turn_id: str
    """Empty between turns."""
    cwd: Path
    """The session's folder."""
    source: HookSource | None = None
    """Of `session_start`."""
    reason: str | None = None
    """Why a turn or a session ends, or a conversation is shortened."""
    prompt: str | None = None
    """Of `user_prompt_submit`: the user's words."""
    tool_id: str | None = None
    """Of the call that the event is about."""
    tool_name: str | None = None
    tool_input: Mapping[str, Any] | None = None
    tool_result: str | None = None
    """Of `post_tool_use`: what the model will read."""
    error: str | None = None
    """Of `post_tool_use_failure`: what the model will read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookOutcome:
    """What one hook said, or all hooks of one event together."""

    decision: HookDecision | None = None
    reason: str = ""
    """Why it decided so; for the model, or for the person who is asked."""
    tool_input: Mapping[str, Any] | None = None
    """Of `pre_tool_use`, and of an allowing `permission_request`: the input to take in place of the model's."""
    context: str = ""
    """For the model to read."""
    notices: tuple[str, ...] = ()
    """What went wrong, for the user; it decided nothing."""
    ran: tuple[HookRan, ...] = ()
    """The programs that were run."""


NOTHING = HookOutcome()
"""Of an event that no hook waits for."""


class Hooks(Protocol):
    """Runs the user's hooks."""

    def listens(self, event: HookEvent, tool_name: str = "") -> bool:
        """Whether any hook waits for this; where none does, nothing need be prepared."""
        ...

    async def run(self, given: HookInput) -> HookOutcome:
        """Run the hooks that wait for this, and tell what they said together. Nothing is raised but a cancel, after
        which none of them runs."""
        ...


class SeveralHooks:
    """Hooks from several places, as one port. They run side by side."""

    def __init__(self, parts: Sequence[Hooks]) -> None:
        self._parts = parts

    def listens(self, event: HookEvent, tool_name: str = "") -> bool:
        """See the port."""
        return any(each.listens(event, tool_name) for each in self._parts)

    async def run(self, given: HookInput) -> HookOutcome:
        """See the port."""
        listening = [each for each in self._parts if each.listens(given.event, given.tool_name or "")]
        return await side_by_side(each.run(given) for each in listening)


class NoHooks:
    """The port where there are none."""

    def listens(self, event: HookEvent, tool_name: str = "") -> bool:
        """None does."""
        return False

    async def run(self, given: HookInput) -> HookOutcome:
        """Nothing."""
        return NOTHING


async def side_by_side(runs: Iterable[Coroutine[Any, Any, HookOutcome]]) -> HookOutcome:
    """Run hooks of one event at the same time, and tell what they said together; `NOTHING` if there are none."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in runs]
    return together([task.result() for task in tasks]) if tasks else NOTHING


def together(said: Sequence[HookOutcome]) -> HookOutcome:
    """What several hooks of one event say: the strictest decision with its reasons, all context, the last new input.

    An `allow` was said to the input that the hook read, or made itself: where another hook's input is taken, it does
    not count.
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
