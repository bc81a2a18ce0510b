"""Turns that were cut off, and whether the user was asked about them."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pygent_ls.sessions.index.entries import Entry

MAX_ANSWERED = 200
"""Of turns that were cut off, to remember; the oldest are forgotten."""


class AnsweredOffers:
    """What the user was asked about and has answered, in a file that outlives the daemon. Blocking."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def has(self, entry: Entry) -> bool:
        """Whether they were asked about this crash of the session."""
        return _key(entry) in self._known()

    def add(self, entries: Sequence[Entry]) -> None:
        """They have answered. Where that cannot be written, they are asked again."""
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


def _key(entry: Entry) -> str:
    """Its last event tells one crash from the next."""
    return f"{entry.id} {entry.last_seq}"
