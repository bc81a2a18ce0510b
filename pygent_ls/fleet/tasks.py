"""Tasks of a fleet, and the file that lists them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from pygent_ls.errors import FleetError

MAX_ID = 36
"""Maximum length of a task's id: the name of a worktree also holds the fleet's id and the attempt's number."""

MAX_PROBLEMS = 20
"""Maximum number of problems that an error names."""

_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$)){0,35}(?<!\.)")

_URL = re.compile(r"(?:https?|ssh|git|file)://\S+|[\w.-]+@[\w.-]+:\S+")
"""Addresses that git clones from, without those that name a program (`ext::`)."""

_ANY_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?://|:)")

Limit = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Amount = Annotated[float, Meta(gt=0, le=1_000_000_000)]
Text = Annotated[str, Meta(min_length=1)]


class TaskLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the file, as written."""

    id: Text | None = None
    prompt: Text | None = None
    repository: Text | None = None
    model: Text | None = None
    max_turns: Limit | None = None
    max_budget_usd: Amount | None = None
    timeout_s: Amount | None = None


class Task(Struct, frozen=True, kw_only=True):
    """A prompt for an agent in a repository."""

    id: str
    prompt: str
    repository: str
    """Absolute path of a folder in a repository, or the URL of one."""
    model: str | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    timeout_s: float | None = None
    """Time limit of one attempt in seconds; None for the fleet's."""

    @property
    def is_remote(self) -> bool:
        """Whether the repository is cloned from a URL."""
        return _URL.fullmatch(self.repository) is not None


def read_tasks(file: Path, prompt: str | None, folder: Path) -> list[Task]:
    """Return the tasks of a JSONL file, in its order.

    `prompt` and `folder` are those of lines that name none. Relative paths are relative to the file's folder. Raises
    `FleetError`, which lists the invalid lines with their numbers.
    """
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")  # others that end a line may be in a string
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise FleetError(f"{file} cannot be read: {why}") from None
    tasks, problems, places = list[Task](), list[str](), dict[str, int]()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            task = _task(line, prompt, folder, file.resolve().parent)
        except FleetError as error:
            problems.append(f"line {number}: {error}")
            continue
        first = places.setdefault(task.id.casefold(), number)  # branches are files, whose case some systems ignore
        if first != number:
            problems.append(f"line {number}: the id {task.id!r} is that of line {first}; each task needs its own")
        tasks.append(task)
    if problems:
        raise FleetError(in_lines([f"{file}: {each}" for each in problems]))
    if not tasks:
        raise FleetError(f'{file} has no tasks: write one JSON object per line, such as {{"prompt": "Fix the tests"}}')
    return tasks


def in_lines(problems: Sequence[str]) -> str:
    """Return the problems one below the other, at most `MAX_PROBLEMS` of them and the number of the others."""
    more = len(problems) - MAX_PROBLEMS
    return "\n".join([*problems[:MAX_PROBLEMS], *([f"and {more} more"] if more > 0 else [])])


def _task(line: str, prompt: str | None, folder: Path, base: Path) -> Task:
    try:
        given = msgspec.json.decode(line, type=TaskLine)
    except msgspec.DecodeError as error:
        raise FleetError(_explained(str(error))) from None
    except RecursionError:
        raise FleetError("the JSON is nested too deeply") from None
    said = given.prompt or prompt
    if said is None or not said.strip():
        raise FleetError("there is no `prompt`; write one here, or give one for all lines with --prompt")
    repository = _repository(given.repository, folder, base)
    task = Task(
        id=given.id or "",
        prompt=said,
        repository=repository,
        model=given.model,
        max_turns=given.max_turns,
        max_budget_usd=given.max_budget_usd,
        timeout_s=given.timeout_s,
    )
    if given.id is None:
        return msgspec.structs.replace(task, id=_id_for(task))
    if _ID.fullmatch(given.id) is None:
        raise FleetError(
            f"`id` {given.id!r} cannot name a branch: use up to {MAX_ID} letters, digits, `-`, `_` and `.`"
        )
    return task


def _explained(problem: str) -> str:
    """Return a problem of msgspec with the fields that exist, if it is about an unknown one."""
    if "unknown field" in problem:
        return f"{problem}; the fields are {', '.join(TaskLine.__struct_fields__)}"
    return problem


def _repository(given: str | None, folder: Path, base: Path) -> str:
    if given is None:
        return str(folder)
    if _URL.fullmatch(given):
        return given
    if _ANY_URL.match(given):
        raise FleetError(f"`repository` {given!r} is not a path or a URL with https, http, ssh, git or file")
    try:
        return str((base / Path(given).expanduser()).resolve())
    except (RuntimeError, ValueError) as error:  # an unknown user after ~, or a NUL
        raise FleetError(f"`repository` {given!r} is not a path: {error}") from None


def _id_for(task: Task) -> str:
    """Return an id that depends on what the line says and not on its place in the file."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", task.repository.rstrip("/").rpartition("/")[2].removesuffix(".git"))
    digest = hashlib.sha256(msgspec.json.encode(task)).hexdigest()[:10]
    return f"{name.strip('-_')[: MAX_ID - 11] or 'task'}-{digest}"
