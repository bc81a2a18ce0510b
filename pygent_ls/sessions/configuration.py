"""Changes of a session's configuration, several at once."""

from __future__ import annotations

from msgspec import Struct

from pygent_ls.agent.context.window import ContextMode
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports.model import Effort
from pygent_ls.sessions.session import Session


class Configured(Struct, frozen=True, kw_only=True):
    """Requested configuration of a session. None leaves a value as it is."""

    agent: str | None = None
    model: str | None = None
    mode: Mode | None = None
    max_thinking_tokens: int | None = None
    effort: Effort | None = None
    context_mode: ContextMode | None = None


def configure(session: Session, wanted: Configured) -> None:
    """Apply all changes, or none. Raises `SessionError` and `ModelError` for unavailable values."""
    session.permissions.check_mode(wanted.mode)
    for setting, value in (("effort", wanted.effort), ("context.mode", wanted.context_mode)):
        if value is not None:
            session.choices.admin.check(setting)
    if wanted.agent is not None:
        session.choices.found(wanted.agent)
    if wanted.model is not None:
        session.set_model(wanted.model)
    if wanted.agent is not None:
        session.set_agent(wanted.agent)
    if wanted.mode is not None:
        session.permissions.set_mode(wanted.mode)
    if wanted.max_thinking_tokens is not None:
        session.choices.max_thinking_tokens = wanted.max_thinking_tokens
    if wanted.effort is not None:
        session.choices.set_effort(wanted.effort)
    if wanted.context_mode is not None:
        session.context.mode = wanted.context_mode
    session.changed("configured")
