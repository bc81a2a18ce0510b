"""Starting values of sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.variants import Variants, variants
from pygent_ls.sessions.journal.records import State
from pygent_ls.sessions.turns.settings import AnswerWithoutModel, MakeModelAt, SessionLimits


class SessionDefaults(Struct, frozen=True, kw_only=True):
    """Starting values of a new session."""

    working_directory: Path
    agent: str
    model: str
    mode: Mode
    limits: SessionLimits
    variants: Variants = field(default_factory=variants)
    """All agents."""
    look_up_variants: Callable[[], Variants] | None = None
    """Described in `SessionParts`, like the next two fields."""
    make_model_at: MakeModelAt | None = None
    answer_without_model: AnswerWithoutModel | None = None
    persist: bool = False
    """Whether the session is stored on the disk."""


class NewSession(Struct, frozen=True, kw_only=True):
    """Session that a front end requests. None in a field means the default."""

    id: str | None = None
    """UUID that no session has; None makes one."""
    working_directory: Path | None = None
    agent: str | None = None
    model: str | None = None
    mode: Mode | None = None
    is_inherited: bool = False
    """Whether the session continues another one: a mode that is not allowed here is then ignored."""
    name: str | None = None


def as_it_is(folder: Path, state: State) -> NewSession:
    """Return the request that creates an existing session again, with its current choices."""
    return NewSession(working_directory=folder, agent=state.own_agent, model=state.own_model, name=state.name)
