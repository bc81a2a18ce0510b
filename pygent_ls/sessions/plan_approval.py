"""Choices for a finished plan: implement it, in one of several modes."""

from __future__ import annotations

from collections.abc import Mapping

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.sessions.session import Session

IMPLEMENT_PLAN = "I approve the plan. Implement it."
"""Prompt of the turn that implements the plan."""

IMPLEMENT_MODES: Mapping[Mode, str] = {
    "default": "Implement: ask for each edit",
    "accept_edits": "Implement: accept edits",
}
"""Modes in which a plan can be implemented, with the titles of the choices."""


def implement_modes(session: Session) -> Mapping[Mode, str]:
    """Return those of `IMPLEMENT_MODES` that the session may choose."""
    return {mode: title for mode, title in IMPLEMENT_MODES.items() if session.permissions.is_mode_allowed(mode)}


def is_plan(session: Session, result: TurnResult) -> bool:
    """Whether the finished turn made a plan that the model could implement if plan mode were left."""
    can_leave = session.mode == session.permissions.mode == "plan" and not session.permissions.is_restricted
    can_leave = can_leave and bool(implement_modes(session))
    return can_leave and result.stop_reason == "end_turn" and result.iterations > 0
