"""Renders one template with copier: a program of its own, started by `templates.py`.

It is a process and not a function, because a template is a program too: one that counts to a billion can be ended, one
that fills the memory is stopped, and the filters that read environment variables find none. What copier offers beyond
rendering is off: no tasks, no migrations, no extensions, no git (there is no PATH to find it on), no prompts, and the
user's settings of copier, which could trust a template, are not read.

Reads one JSON object from standard input:
`{"template": folder, "target": folder, "answers": {}, "likely": {}, "names": []}`; writes
`{"answers": {}}` with what was answered to the questions of these names, or `{"error": "Class: message"}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

CPU_S = 10
"""A project of a hundred files takes less than one second, and most of that is copier's import."""

MAX_FILE_BYTES = 5_000_000

MAX_MEMORY_BYTES = 2_000_000_000
"""Of address space; Python with copier takes a quarter of it."""


def main() -> None:
    """Do what standard input says."""
    sys.excepthook = _tell
    job: Mapping[str, Any] = json.load(sys.stdin)
    os.environ.clear()
    os.environ.update({"PATH": "", "HOME": job["target"], "LANG": "C.UTF-8"})
    _limit(resource.RLIMIT_CPU, CPU_S)
    _limit(resource.RLIMIT_FSIZE, MAX_FILE_BYTES)
    _limit(resource.RLIMIT_AS, MAX_MEMORY_BYTES)
    _limit(resource.RLIMIT_CORE, 0)
    _write({"answers": render(job)})


def render(job: Mapping[str, Any]) -> dict[str, Any]:
    """Render a template into its target; returns what was answered. Raises what copier raises."""
    from copier import Settings, run_copy

    worker = run_copy(
        job["template"],
        job["target"],
        job["answers"],
        user_defaults=job["likely"],
        settings=Settings(),
        exclude=[".git", ".hg", ".svn"],
        defaults=True,
        overwrite=True,
        quiet=True,
        skip_tasks=True,
        unsafe=False,
    )
    answers = worker.answers.combined
    hidden = worker.answers.hidden
    return {name: answers[name] for name in job["names"] if name in answers and name not in hidden}


def _limit(what: int, most: int) -> None:
    """Never raises a limit; where a system knows no such limit, the time that the caller waits is left."""
    _, hard = resource.getrlimit(what)
    if hard == resource.RLIM_INFINITY or hard > most:
        with contextlib.suppress(ValueError, OSError):  # macOS, for the address space
            resource.setrlimit(what, (most, most))


def _tell(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
    _write({"error": f"{kind.__name__}: {error}"})


def _write(answer: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(answer, default=str) + "\n")


if __name__ == "__main__":
    main()
