"""Template folders: the shipped ones, and the user's own.

A template is rendered by copier, in a separate process (`copier_process.py`) and into a private temporary folder, which
is read and removed. Nothing here writes to the workspace.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pygent_ls.agent.ports.processes import Processes, ProcessResult, ProcessSpec, ReadOnly
from pygent_ls.agent.ports.templates import Rendered, RenderedFile, Template, TemplateKind
from pygent_ls.errors import ToolError
from pygent_ls.workspace.files.document_text import decode
from pygent_ls.workspace.files.paths import printable
from pygent_ls.workspace.templates.questions import NAME, read_template

PROGRAM = Path(__file__).with_name("copier_process.py")

RENDER_S = 40.0
"""Time limit. Rendering takes one second; a loaded machine needs several to import copier."""

MAX_FILES = 500
"""Maximum number of files: larger projects are copied, not rendered, and users could not review them for approval."""

MAX_CHARS = 5_000_000

_FOLDERS: Mapping[TemplateKind, str] = {"template": "templates", "component": "components"}


class TemplateFolders:
    """Implementation of `Templates`. Each root contains `templates/NAME/` and `components/NAME/`; later roots win."""

    def __init__(self, processes: Processes, *, shipped: Path, users: Path, render_s: float = RENDER_S) -> None:
        self._processes = processes
        self._render_s = render_s
        self._roots = ((shipped, False), (users, True))
        self._users = users

    @property
    def sources(self) -> Sequence[Path]:
        """Implement `Templates`. The shipped templates do not change."""
        return tuple(self._users / folder for folder in _FOLDERS.values())

    async def list_all(self, kind: TemplateKind) -> Sequence[Template]:
        """Implement `Templates`."""
        return await asyncio.to_thread(self._list, kind)

    def _list(self, kind: TemplateKind) -> Sequence[Template]:
        found: dict[str, Template] = {}
        for root, is_users in self._roots:
            for folder in _folders(root / _FOLDERS[kind]):
                found[folder.name] = read_template(folder, folder.name, kind, is_users=is_users)
        return [found[name] for name in sorted(found)]

    async def render(
        self, template: Template, answers: Mapping[str, object], *, likely: Mapping[str, object], folder: Path
    ) -> Rendered:
        """Implement `Templates`."""
        private = await asyncio.to_thread(_private_folder)
        try:
            target = Path(private.name) / (folder.name or "root")
            job: dict[str, Any] = {
                "template": str(template.folder),
                "target": str(target),
                "answers": dict(answers),
                "likely": dict(likely),
                "names": [question.name for question in template.questions],
            }
            given = await self._run(job, Path(private.name), template.folder)
            files, left_out = await asyncio.to_thread(_read_all, target, folder)
            return Rendered(files=files, answers=given, left_out=left_out)
        finally:
            await asyncio.to_thread(private.cleanup)

    async def _run(self, job: Mapping[str, Any], cwd: Path, template: Path) -> dict[str, object]:
        result = await self._processes.run(
            ProcessSpec(
                argv=(sys.executable, "-P", str(PROGRAM)),
                cwd=cwd,
                timeout_s=self._render_s,
                stdin_bytes=json.dumps(job).encode(),
                read_only=ReadOnly(scratch=cwd, reads=(template, Path(sys.prefix), PROGRAM.parents[1])),
            )
        )
        answer = _answer(result)
        if "error" in answer:
            raise ToolError(_in_words(str(answer["error"])).replace(f"{cwd}{os.sep}", ""))
        if result.timed_out or result.exit_code != 0:
            raise ToolError("The template takes too long or too much memory to render. Nothing was created.")
        return dict(answer.get("answers", {}))


def _private_folder() -> tempfile.TemporaryDirectory[str]:
    """Create a temporary folder; links are resolved so that its path is found in the rendered files."""
    return tempfile.TemporaryDirectory(prefix="pygent-template-", dir=os.path.realpath(tempfile.gettempdir()))


def _answer(result: ProcessResult) -> Mapping[str, Any]:
    """Return the last line of the program's output as JSON; empty if the program was killed before that."""
    lines = result.stdout.strip().splitlines()
    try:
        return cast("Mapping[str, Any]", json.loads(lines[-1])) if lines else {}
    except (ValueError, RecursionError):  # the template's answers may be nested arbitrarily deep
        return {}


def _in_words(error: str) -> str:
    """Describe copier's error for the caller of the tool."""
    kind, _, said = error.partition(": ")
    match kind:
        case "ForbiddenPathError":
            return f"With these answers, the template leads out of its folder: {said}. Nothing was created."
        case "MemoryError":
            return "The template takes too much memory. Nothing was created."
        case "ModuleNotFoundError":
            return f"The templates cannot be used because a library is missing: {said}."
        case "UserMessageError" | "ValueError" | "InvalidTypeError":
            return f"{said.rstrip('.') or 'an answer has the wrong type'}. Nothing was created."
        case _:
            return f"The template cannot be rendered: {error.rstrip('.')}. Nothing was created."


def _folders(parent: Path) -> Iterator[Path]:
    try:
        entries = sorted(parent.iterdir())
    except OSError:
        return
    yield from (entry for entry in entries if NAME.fullmatch(entry.name) and entry.is_dir())


def _read_all(target: Path, folder: Path) -> tuple[tuple[RenderedFile, ...], tuple[str, ...]]:
    """Read all rendered files. Blocking. Raises `ToolError` if there are too many."""
    files: list[RenderedFile] = []
    left_out: list[str] = []
    n_chars = 0
    for entry in _entries(target):
        name = entry.relative_to(target).as_posix()
        status = entry.lstat()
        if printable(name) != name:
            left_out.append(f"{printable(name)} (its name is not text)")
        elif stat.S_ISDIR(status.st_mode):
            left_out.append(f"{name}/ (an empty folder)")
        elif not stat.S_ISREG(status.st_mode):
            left_out.append(f"{name} (a link, not a file)")
        elif (text := decode(entry.read_bytes())) is None:
            left_out.append(f"{name} (not text, {status.st_size:,} bytes)")
        else:
            content, encoding = text
            n_chars += len(content)
            executable = bool(status.st_mode & stat.S_IXUSR)
            content = content.replace(str(target), str(folder))
            files.append(RenderedFile(path=name, text=content, encoding=encoding, is_executable=executable))
        if len(files) + len(left_out) > MAX_FILES or n_chars > MAX_CHARS:
            raise ToolError(
                f"The template creates more than {MAX_FILES} files, or {MAX_CHARS // 1_000_000} MB of text, which "
                "is over the limit. Nothing was created."
            )
    return tuple(files), tuple(left_out)


def _entries(target: Path) -> Iterator[Path]:
    """Yield files, links and empty folders below; links are not followed."""
    for current, folders, names in os.walk(target):
        folders.sort()
        here = Path(current)
        links = [name for name in folders if (here / name).is_symlink()]
        if not folders and not names and here != target:
            yield here
        yield from (here / name for name in sorted([*names, *links]))
