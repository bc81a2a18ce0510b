"""Crash recovery: which interrupted turns the user was already asked about."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pygent_ls.sessions.index.entries import SessionEntry

MAX_ANSWERED = 200
"""Maximum number of remembered answers; the oldest are forgotten."""


class AnsweredOffers:
    """Interrupted turns that the user has answered about, in a file that outlives the daemon. Blocking."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def has(self, entry: SessionEntry) -> bool:
        """Whether the user has answered about this crash of the session."""
        return _key(entry) in self._known()

    def add(self, entries: Sequence[SessionEntry]) -> None:
        """Record the answers. If they cannot be written, the user is asked again."""
        keys = [_key(each) for each in entries]
        known = [*(each for each in self._known() if each not in keys), *keys]
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self._file.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(known[-MAX_ANSWERED:]), encoding="utf-8")
            temporary.chmod(0o600)
            temporary.replace(self._file)

    def _known(self) -> list[str]:
        try:
            given: Any = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return []
        return [str(each) for each in cast("list[Any]", given)] if isinstance(given, list) else []


def _key(entry: SessionEntry) -> str:
    """Return a key that differs for each crash, because the last event differs."""
    return f"{entry.id} {entry.last_seq}"
