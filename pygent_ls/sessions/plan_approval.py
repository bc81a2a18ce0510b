"""What a user can do with a plan: have it implemented, in a mode of their choice."""

from __future__ import annotations

from collections.abc import Mapping

from pygent_ls.agent.permissions import Mode
from pygent_ls.agent.turn import TurnResult
from pygent_ls.sessions.session import Session

IMPLEMENT_PLAN = "I approve the plan. Implement it."
"""The prompt of the turn that implements it."""

IMPLEMENT_MODES: Mapping[Mode, str] = {
    "default": "Implement: ask for each edit",
    "accept_edits": "Implement: accept edits",
}
"""Modes in which a plan is implemented, with the titles of these choices."""


def is_plan(session: Session, result: TurnResult) -> bool:
    """Whether the turn that has just ended has made a plan, and leaving plan mode would let the model implement it."""
    can_leave = session.mode == session.permissions.mode == "plan" and not session.permissions.is_restricted
    return can_leave and result.stop_reason == "end_turn" and result.iterations > 0
