"""What a program of ours that works on a stranger's text takes from itself before it begins."""

from __future__ import annotations

import contextlib
import os
import resource


def confine(*, cpu_s: int, memory_bytes: int, file_bytes: int, home: str = "/") -> None:
    """Limit this process, and leave it an environment that tells nothing."""
    os.environ.clear()
    os.environ.update({"PATH": "", "HOME": home, "LANG": "C.UTF-8"})
    _limit(resource.RLIMIT_CPU, cpu_s)
    _limit(resource.RLIMIT_FSIZE, file_bytes)
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_CORE, 0)


def _limit(what: int, most: int) -> None:
    """Never raises a limit; where a system knows no such limit, the time that the caller waits is left."""
    _, hard = resource.getrlimit(what)
    if hard == resource.RLIM_INFINITY or hard > most:
        with contextlib.suppress(ValueError, OSError):  # macOS, for the address space
            resource.setrlimit(what, (most, most))
