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

import json
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from pygent_ls.workspace.child_limits import confine

CPU_S = 10
"""A project of a hundred files takes less than one second, and most of that is copier's import."""

MAX_FILE_BYTES = 5_000_000

MAX_MEMORY_BYTES = 2_000_000_000
"""Of address space; Python with copier takes a quarter of it."""


def main() -> None:
    """Do what standard input says."""
    sys.excepthook = _tell
    job: Mapping[str, Any] = json.load(sys.stdin)
    confine(cpu_s=CPU_S, memory_bytes=MAX_MEMORY_BYTES, file_bytes=MAX_FILE_BYTES, home=job["target"])
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


def _tell(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
    _write({"error": f"{kind.__name__}: {error}"})


def _write(answer: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(answer, default=str) + "\n")


if __name__ == "__main__":
    main()
