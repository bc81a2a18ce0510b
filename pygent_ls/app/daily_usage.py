"""Tokens of a day, which all daemons of the user share."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path

LOCK_S = 5.0
"""Maximum time for which another daemon is waited for."""


MAX_OTHER_DAYS = 3
"""Number of other days whose tokens are kept: a clock may be set back, and daemons may be in different time zones."""


class DailyUsage:
    """Count of a day in a file. Blocking. If the file cannot be used, the daemon counts its own tokens only."""

    def __init__(self, path: Path, today: Callable[[], date] = date.today) -> None:
        self._path = path
        self._today = today
        self._own = (today(), 0)
        """Day, and what this daemon has added on it."""

    def reserve(self, n_tokens: int, limit: int) -> bool:
        """Add tokens, unless the limit is reached; 0 means no limit. Return whether they were added.

        Two daemons do not both take the last tokens: the check and the addition are one step.
        """
        with self._locked():
            used = self._used()
            if limit and used >= limit:
                return False
            self._store(used, n_tokens)
            return True

    def correct(self, n_tokens: int) -> None:
        """Add to a reservation, or give back what it did not need."""
        if n_tokens:
            with self._locked():
                self._store(self._used(), n_tokens)

    def _used(self) -> int:
        day = self._today()
        own = self._own[1] if self._own[0] == day else 0
        return max(own, self._kept().get(day.isoformat(), 0))

    def _kept(self) -> dict[str, int]:
        """Return the tokens of the days in the file, the day that was used last as the last one."""
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            days = {**kept.get("other_days", {}), kept["day"]: kept["tokens"]}
            return {str(day): int(tokens) for day, tokens in days.items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
            return {}

    def _store(self, used: int, n_tokens: int) -> None:
        day = self._today()
        own = self._own[1] if self._own[0] == day else 0
        self._own = (day, max(0, own + n_tokens))
        others = [each for each in self._kept().items() if each[0] != day.isoformat()]
        content = json.dumps(
            {
                "day": day.isoformat(),
                "tokens": max(0, used + n_tokens),
                "other_days": dict(others[-MAX_OTHER_DAYS:]),
            }
        )
        written = self._path.with_suffix(f".{os.getpid()}.tmp")
        with suppress(OSError):  # a completion is worth more than its count
            written.write_text(content, encoding="utf-8")
            written.replace(self._path)

    @contextmanager
    def _locked(self) -> Generator[None]:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = self._path.with_suffix(".lock")
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            yield
            return
        try:
            until = time.monotonic() + LOCK_S
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if time.monotonic() > until:
                        break
                    time.sleep(0.002)
            yield
        finally:
            os.close(descriptor)
