"""What a session begins with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pygent_ls.agent.permissions import Mode
from pygent_ls.agent.variants import Variants, variants
from pygent_ls.sessions.turn_settings import Limits, MakeModelAt


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
    persist: bool = False
    """Whether it is kept on the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """What a front end asks for; None means the default."""

    working_directory: Path | None = None
    agent: str | None = None
    model: str | None = None
    mode: Mode | None = None
    name: str | None = None
