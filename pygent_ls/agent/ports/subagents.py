"""The subagent port, which takes a task and returns a report, and the state that a turn shares with its subagents."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from pygent_ls.agent.user_time import UserTimes
from pygent_ls.errors import ToolError

if TYPE_CHECKING:  # these import `agent.tool`, which imports this module
    from pygent_ls.agent.kinds import StopReason
    from pygent_ls.agent.ports.workspace import FileChange

MAX_DEPTH = 2
"""Maximum nesting of subagents: one that was given a large task may divide it, its own subagents may not."""

MAX_AT_ONCE = 4
"""Maximum number of subagents of one turn that work at the same time: what a provider's rate limit usually allows."""


class SubagentTask(Struct, frozen=True, kw_only=True):
    """Task for a subagent."""

    description: str
    """Short description for people."""
    prompt: str
    agent: str | None = None
    """Name of the agent variant; None for the one that plans in plan mode, else for the parent's."""
    background: bool = False
    """Whether it runs beside the conversation, also after the turn has ended."""


_ENDS: Mapping[StopReason, str] = {
    "end_turn": "ended without an answer",
    "max_iterations": "reached its limit of model calls",
    "token_limit": "reached its token limit",
    "budget_limit": "reached the budget limit",
    "time_limit": "reached the time limit",
    "max_output_tokens": "was cut off because its answer was too long",
    "refusal": "refused",
    "loop_detected": "was stopped for going in circles",
    "cancelled": "was cancelled",
    "interrupted": "was interrupted",
    "error": "failed",
}


class SubagentReport(Struct, frozen=True, kw_only=True):
    """Result of a subagent."""

    agent: str
    stop_reason: StopReason
    text: str
    """Its last message; empty if it wrote none."""
    problem: str = ""
    """Why it failed; empty if it did not."""

    @property
    def is_complete(self) -> bool:
        """Whether it ended by itself, with a message."""
        return self.stop_reason == "end_turn" and bool(self.text.strip())

    @property
    def in_words(self) -> str:
        """Its last message, after how it ended if it did not finish."""
        if self.is_complete:
            return self.text
        why = f": {self.problem.rstrip('.')}" if self.problem else ""
        had = f"\nIts last message:\n{self.text}" if self.text.strip() else ""
        return f"The subagent {self.agent} {_ENDS[self.stop_reason]}{why}. Its changes up to then were kept.{had}"


RunSubagent = Callable[[SubagentTask], Awaitable[SubagentReport]]
"""Runs a subagent. Raises `ToolError` for a task that cannot be started. Cancelling it ends the subagent."""

RunSubagentOf = Callable[[str, SubagentTask], Awaitable[SubagentReport]]
"""Runs a subagent for the tool call with the given id."""


async def no_subagents(_task: SubagentTask) -> SubagentReport:
    """Raise `ToolError`: the `RunSubagent` for turns without subagents."""
    raise ToolError("Subagents are not available here. Do it yourself.")


async def no_subagents_for(_tool_id: str, task: SubagentTask) -> SubagentReport:
    """Raise `ToolError`: the `RunSubagentOf` for turns without subagents."""
    return await no_subagents(task)


class WorkLocks(Struct, frozen=True, kw_only=True):
    """Locks that all turns and subagents of a session share: subagents in the background outlive their turn."""

    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Lock held while the user is asked anything: work runs in parallel, questions do not."""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Lock held while files are changed, or a program runs that may change them: it separates what each has changed."""


class TurnShare(Struct, frozen=True, kw_only=True):
    """State that a turn shares with all its subagents."""

    locks: WorkLocks = field(default_factory=WorkLocks)
    """Locks of the session."""

    files_changed: dict[Path, FileChange] = field(default_factory=dict[Path, "FileChange"])
    """Changes by any of them, one entry per file."""
    told: set[str] = field(default_factory=set[str])
    """Messages about their agents and about faulty hooks that the user has already seen."""
    tool_ids: set[str] = field(default_factory=set[str])
    """Ids of all their calls."""
    question_ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    user_times: UserTimes = field(default_factory=UserTimes)
    permission_ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def asking(self) -> asyncio.Lock:
        """Lock held while the user is asked anything."""
        return self.locks.asking

    @property
    def changing(self) -> asyncio.Lock:
        """Lock held while files are changed, or a program runs that may change them."""
        return self.locks.changing
