"""The guard of a turn's tool calls on fakes."""

from __future__ import annotations

from pygent_ls.agent.finishing import Emit
from pygent_ls.agent.guard import ToolGuard
from pygent_ls.agent.hooking import TurnHooks
from pygent_ls.agent.surroundings import Surroundings


def guard_in(around: Surroundings, emit: Emit) -> ToolGuard:
    """The guard of one turn, with the hooks that there are."""
    turn_id = "turn-1"
    hooks = TurnHooks(around=around, turn_id=turn_id, emit=emit)
    return ToolGuard(around=around, turn_id=turn_id, emit=emit, hooks=hooks)
