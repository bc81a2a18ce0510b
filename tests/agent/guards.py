"""The guard of a turn's tool calls on fakes."""

from __future__ import annotations

from pygent_ls.agent.calls.executor import ToolExecutor
from pygent_ls.agent.calls.tool_results import Emit
from pygent_ls.agent.calls.turn_hooks import TurnHooks
from pygent_ls.agent.run_context import RunContext


def guard_in(around: RunContext, emit: Emit) -> ToolExecutor:
    """The guard of one turn, with the hooks that there are."""
    turn_id = "turn-1"
    hooks = TurnHooks(around=around, turn_id=turn_id, emit=emit)
    return ToolExecutor(around=around, turn_id=turn_id, emit=emit, hooks=hooks)
