"""Lists of sessions, page by page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pygent_ls.extensions.session_files import timestamp
from pygent_ls.sessions.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions a list shall have."""

    query: str | None = None
    """Looked for in the name, and in the conversation as words."""
    folder: Path | None = None
    """The working directory."""
    cursor: str | None = None
    """What the page before this one came with."""
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of a list; with `cursor` one asks for what follows, None where nothing does."""

    sessions: Sequence[Session]
    cursor: str | None


PLACE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z [0-9a-f]{32}")
"""Of a session in a list."""


def place(session: Session) -> str:
    """Where it stands in a list: when it was used, to the microsecond, and its id for those of one moment."""
    return f"{timestamp(session.updated_at)} {session.id}"
