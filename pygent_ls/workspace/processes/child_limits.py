"""Limits that our helper programs set for themselves before they process untrusted text."""

from __future__ import annotations

import contextlib
import os
import resource


def confine(*, cpu_s: int, memory_bytes: int, file_bytes: int, home: str = "/") -> None:
    """Limit this process, and replace its inherited environment."""
    os.environ.clear()
    os.environ.update({"PATH": "", "HOME": home, "LANG": "C.UTF-8"})
    _limit(resource.RLIMIT_CPU, cpu_s)
    _limit(resource.RLIMIT_FSIZE, file_bytes)
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_CORE, 0)


def _limit(what: int, most: int) -> None:
    """Lower a limit, but never raise it; if a system has no such limit, the caller's timeout still applies."""
    _, hard = resource.getrlimit(what)
    if hard == resource.RLIM_INFINITY or hard > most:
        with contextlib.suppress(ValueError, OSError):  # macOS, for the address space
            resource.setrlimit(what, (most, most))
