"""Renders one template with copier: a separate program, started by `template_folders.py`.

It is a process and not a function because a template is a program, too: one that counts to a billion can be killed, one
that fills the memory is stopped, and filters that read environment variables find none. All features of copier beyond
rendering are off: tasks, migrations, extensions, git (its PATH is empty) and prompts. The user's copier settings, which
could trust a template, are not read. Functions that read files or list folders can access the template, the rendered
files and Python itself, and raise an error everywhere else (`_Fence`).

Reads one JSON object from standard input: `{"template": folder, "target": folder, "answers": {}, "likely": {}, "names":
[]}`; writes `{"answers": {}}` with the answers to the questions of these names, or `{"error": "Class: message"}`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from pygent_ls.workspace.processes.child_limits import confine

CPU_S = 10
"""CPU time limit. A project of a hundred files takes less than one second, most of it copier's import."""

MAX_FILE_BYTES = 5_000_000

MAX_MEMORY_BYTES = 2_000_000_000
"""Address space limit; Python with copier takes a quarter of it."""


def main() -> None:
    """Process the job given on standard input."""
    sys.excepthook = _tell
    job: Mapping[str, Any] = json.load(sys.stdin)
    confine(cpu_s=CPU_S, memory_bytes=MAX_MEMORY_BYTES, file_bytes=MAX_FILE_BYTES, home=job["target"])
    sys.addaudithook(_Fence(Path(job["template"]), Path(job["target"]).parent))
    _write({"answers": render(job)})


def render(job: Mapping[str, Any]) -> dict[str, Any]:
    """Render a template into its target; return the answers. Raises what copier raises."""
    from copier._main import Worker  # `run_copy` does not allow changing the filters
    from copier._settings import SettingsModel

    template = Path(job["template"]).resolve()

    class Confined(Worker):
        """Worker whose filters cannot access the disk beyond the template."""

        @cached_property
        def jinja_env(self) -> Any:
            environment = super().jinja_env
            filters = cast("dict[str, Any]", environment.filters)
            filters.update(fileglob=partial(_files_in, template), realpath=os.path.normpath, expanduser=_expanded)
            return environment

    with Confined(
        src_path=str(template),
        dst_path=Path(job["target"]),
        data=job["answers"],
        user_defaults=job["likely"],
        settings=SettingsModel(),
        exclude=[".git", ".hg", ".svn"],
        defaults=True,
        overwrite=True,
        quiet=True,
        skip_tasks=True,
        unsafe=False,
    ) as worker:
        worker.run_copy()
    answers = worker.answers.combined
    hidden = worker.answers.hidden
    return {name: answers[name] for name in job["names"] if name in answers and name not in hidden}


def _files_in(template: Path, pattern: str) -> list[str]:
    """Return the absolute paths of the template's files that match a glob; none for a glob that leads out of it."""
    inside = os.path.relpath(pattern, template) if Path(pattern).is_absolute() else pattern
    if ".." in Path(inside).parts:
        return []
    found = template.glob(inside) if inside.strip() else ()
    return [str(each) for each in found if each.is_file() and each.resolve().is_relative_to(template)]


def _expanded(path: str) -> str:
    """Replace `~` with the home folder; other users' homes are not looked up."""
    return os.environ["HOME"] + path[1:] if path == "~" or path.startswith("~/") else path


class _Fence:
    """Audit hook that denies opening or listing anything outside of these folders."""

    def __init__(self, *folders: Path) -> None:
        python = (sys.prefix, sys.base_prefix, *(each for each in sys.path if Path(each).is_absolute()))
        self._folders = tuple(Path(each).resolve() for each in (*folders, *python, *_NEEDED))

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Check an event. Raises `PermissionError`."""
        if event in _LOOKING and isinstance(path := arguments[0], str | bytes | os.PathLike):
            real = Path(os.fsdecode(cast("str", path))).resolve()
            if not any(real.is_relative_to(folder) for folder in self._folders):
                raise PermissionError(f"a template may not read {real}")


_LOOKING = ("open", "os.listdir", "os.scandir", "os.chdir")

_NEEDED = ("/usr/share/zoneinfo", "/etc/localtime", "/dev/null", "/dev/urandom")


def _tell(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
    _write({"error": f"{kind.__name__}: {error}"})


def _write(answer: Mapping[str, object]) -> None:
    sys.stdout.write(json.dumps(answer, default=str) + "\n")


if __name__ == "__main__":
    main()
