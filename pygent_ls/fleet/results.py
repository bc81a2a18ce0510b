"""Results of a fleet: one JSON object per task, and a patch for each one with changes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from pygent_ls.fleet.ledger import AttemptResult, Delivery, Ledger
from pygent_ls.fleet.scheduler import TaskState
from pygent_ls.workspace.files.writer import write_atomically


class ResultRow(Struct, frozen=True, kw_only=True):
    """One line of the results. Lines and fields may be added later."""

    id: str
    status: Literal["succeeded", "failed", "running", "not_run"]
    """`running`: in an attempt of another client, or one that has not stopped yet."""
    repository: str
    result: str
    """The model's last text; empty unless the task succeeded."""
    error: str
    branch: str | None
    """Branch of the repository with the changes."""
    base: str | None
    commit: str | None
    patch: str | None
    """Absolute path of a patch with the changes."""
    files: tuple[str, ...]
    attempt: int | None
    """Number of the attempt whose result this is."""
    attempts: int
    cost_usd: float | None
    """Cost of that attempt; None if a price is unknown."""
    total_cost_usd: float | None
    """Cost of all attempts; None if that of one is unknown."""
    num_turns: int
    duration_s: float
    session_id: str | None
    permission_denials: tuple[str, ...]
    """Tools that were denied permission, one for each call."""
    host: str


def write_results(file: Path, ledger: Ledger, states: Sequence[TaskState], reason: str) -> None:
    """Write the results of all tasks, in their order. `reason` is why tasks wait that were not run. Raises `ToolError`
    and OSError."""
    patches = file.parent / f"{file.stem}.patches"
    rows = [_row(ledger, each, patches, reason) for each in states]
    write_atomically(file, b"".join(msgspec.json.encode(each) + b"\n" for each in rows))


def _row(ledger: Ledger, state: TaskState, patches: Path, reason: str) -> ResultRow:
    shown = state.history.accepted or (
        state.failures[-1] if state.failures else AttemptResult(attempt=0, outcome="failed")
    )
    status = "not_run" if state.status == "waiting" else state.status
    delivery = ledger.delivery(state.task.id) or Delivery()
    costs = [None if each.result is None else each.result.cost_usd for each in state.history.attempts]
    known = [each for each in costs if each is not None]
    return ResultRow(
        id=state.task.id,
        status=status,
        repository=state.task.repository,
        result=shown.text,
        error=delivery.problem if status == "succeeded" else _error(state, shown, reason),
        branch=delivery.branch,
        base=shown.base,
        commit=shown.commit,
        patch=_patch(ledger, state, patches),
        files=shown.files,
        attempt=shown.attempt or None,
        attempts=len(state.history.attempts),
        cost_usd=shown.cost_usd,
        total_cost_usd=sum(known) if len(known) == len(costs) else None,
        num_turns=shown.num_turns,
        duration_s=shown.duration_s,
        session_id=shown.session_id,
        permission_denials=shown.denied,
        host=shown.host,
    )


def _error(state: TaskState, shown: AttemptResult, reason: str) -> str:
    if state.status == "waiting":
        return shown.error or reason
    if state.status == "running":
        return "Another attempt has not ended yet."
    return shown.error or f"{state.n_lost} attempts were lost with their workers."


def _patch(ledger: Ledger, state: TaskState, patches: Path) -> str | None:
    """Copy the patch out of the ledger; return its path."""
    accepted = state.history.accepted
    if accepted is None or accepted.commit is None:
        return None
    patches.mkdir(parents=True, exist_ok=True)
    source = ledger.attempt_folder(state.task.id, accepted.attempt) / "changes.patch"
    return str(shutil.copyfile(source, patches / f"{state.task.id}.patch"))
