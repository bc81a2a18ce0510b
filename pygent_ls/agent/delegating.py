"""The port to subagents: a task goes out, a report comes back; and what a turn shares with its subagents."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pygent_ls.agent.user_time import UserTimes
from pygent_ls.errors import ToolError

if TYPE_CHECKING:  # `agent.tool` imports this module, and they import that one
    from pygent_ls.agent.events import StopReason
    from pygent_ls.agent.permissions import Mode
    from pygent_ls.agent.workspace import FileChange

MAX_DEPTH = 2
"""Of subagents in each other: one that was given a large task may divide it, its own subagents may not."""

MAX_AT_ONCE = 4
"""Subagents of one turn that work at the same time: what a provider's rate limit usually bears."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentTask:
    """What a subagent is to do."""

    description: str
    """A few words, for people."""
    prompt: str
    agent: str | None = None
    """The variant; None: the one that plans in plan mode, else the parent's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentReport:
    """How a subagent ended."""

    agent: str
    stop_reason: StopReason
    text: str
    """The last that it said; empty where it said nothing."""
    problem: str = ""
    """Why it failed, where it did."""


RunSubagent = Callable[[SubagentTask], Awaitable[SubagentReport]]
"""Raises `ToolError` for a task that cannot be begun. A cancel ends the subagent."""

RunSubagentOf = Callable[[str, SubagentTask], Awaitable[SubagentReport]]
"""The same, for the call of that id."""


async def no_subagents(_task: SubagentTask) -> SubagentReport:
    """Where there are none."""
    raise ToolError("Subagents are not available here. Do it yourself.")


async def no_subagents_for(_tool_id: str, task: SubagentTask) -> SubagentReport:
    """Likewise."""
    return await no_subagents(task)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnShare:
    """What a turn and all its subagents have in common."""

    files_changed: dict[Path, FileChange] = field(default_factory=dict[Path, "FileChange"])
    """One entry a file, whoever of them changed it."""
    told: set[str] = field(default_factory=set[str])
    """What the user was told of their agents, and of what is wrong with hooks."""
    tool_ids: set[str] = field(default_factory=set[str])
    """The ids of all their calls."""
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the user is asked anything: work is done side by side, questions are not."""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while files are changed, or a program runs that may: what each has changed is told apart by it."""
    question_ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    user_times: UserTimes = field(default_factory=UserTimes)
    permission_ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where the calls of a turn stand, or of one of its subagents."""

    share: TurnShare = field(default_factory=TurnShare)
    source: str = ""
    """Who asks for permission, where it is a subagent."""
    parent_tool_id: str | None = None
    """The `task` call, where it is a subagent."""
    ceiling: Mode | None = None
    """The mode that is not to be loosened, where it is a subagent's."""
    run_subagent: RunSubagentOf = no_subagents_for
