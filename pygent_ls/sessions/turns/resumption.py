"""Conversion between a session and the state in its journal, for resuming it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pygent_ls.agent.session_services import SessionServices
from pygent_ls.errors import SessionError
from pygent_ls.sessions.journal.records import State
from pygent_ls.sessions.journal.replay import Recalled
from pygent_ls.sessions.turns.choices import Choices
from pygent_ls.sessions.turns.context import SessionContext


def state_of(name: str, at: datetime, choices: Choices, services: SessionServices, context: SessionContext) -> State:
    """Return the session's state: its name, choices and plan; `at` is when it was last used."""
    return State(
        at=at,
        name=name,
        agent=choices.agent,
        own_agent=choices.own_agent,
        model=choices.model_now,
        own_model=choices.own_model,
        mode=choices.mode_now,
        own_mode=services.memory.permissions.own_mode,
        max_thinking_tokens=choices.max_thinking_tokens,
        effort=choices.effort,
        context_mode=context.mode,
        plan=services.memory.plan.entries,
    )


def take_up(recalled: Recalled, services: SessionServices, choices: Choices, context: SessionContext) -> Sequence[str]:
    """Restore choices, plan and compactions in a new session; return the notices for the user."""
    state = recalled.state
    services.memory.window.recall(recalled.compactions)
    services.memory.secrets.recall(recalled.messages, services.tools)
    services.memory.plan.entries = recalled.plan
    context.mode = state.context_mode
    choices.max_thinking_tokens = state.max_thinking_tokens
    choices.effort = state.effort
    notices = list(recalled.notices)
    if state.own_mode is not None:
        try:
            services.memory.permissions.set_mode(state.own_mode)
        except SessionError as error:
            notices.append(f"The mode {state.own_mode} of the session was reset: {error}")
    return notices
