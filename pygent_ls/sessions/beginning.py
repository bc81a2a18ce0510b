"""What a session begins with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pygent_ls.agent.permissions import Mode
from pygent_ls.agent.variants import Variants, variants
from pygent_ls.sessions.turn_settings import AnswerWithoutModel, Limits, MakeModelAt

if TYPE_CHECKING:
    from pygent_ls.sessions.journal.records import State


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDefaults:
    """What a new session begins with."""

    working_directory: Path
    agent: str
    model: str
    mode: Mode
    limits: Limits
    variants: Variants = field(default_factory=variants)
    """All agents."""
    look_up_variants: Callable[[], Variants] | None = None
    """See `SessionParts`; and this."""
    make_model_at: MakeModelAt | None = None
    answer_without_model: AnswerWithoutModel | None = None
    persist: bool = False
    """Whether it is kept on the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """What a front end asks for; None means the default."""

    id: str | None = None
    """A UUID that no session has; None makes one."""
    working_directory: Path | None = None
    agent: str | None = None
    model: str | None = None
    mode: Mode | None = None
    is_inherited: bool = False
    """It goes on with what another one is: a mode that is not to be had here is left out."""
    name: str | None = None


def as_it_is(folder: Path, state: State) -> NewSession:
    """What a session would be made of that is there, and has come to be this."""
    return NewSession(working_directory=folder, agent=state.own_agent, model=state.own_model, name=state.name)
