"""One attempt at a task, from its claim to its result. It runs in any process that sees the ledger."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from pygent_ls.errors import FleetError, PygentError
from pygent_ls.fleet.agent_process import AgentEnd, RunResult, run_agent
from pygent_ls.fleet.checkout import checkout, deliver, remove_worktrees
from pygent_ls.fleet.ledger import AttemptResult, Claim, Ledger, Outcome, Owner, StopReason
from pygent_ls.fleet.tasks import Task

BEATS_PER_LEASE = 6
"""Number of times that an attempt shows that it is alive in the time after which it counts as lost."""

STOP_POLL_S = 0.5
"""Interval at which a running attempt looks for a reason to stop."""

BAD_USAGE = 2
"""Exit code of an agent that did not start: another attempt would not, either."""


class Job(Struct, frozen=True, kw_only=True):
    """What a worker is given: one attempt. It holds no keys; those of the worker's environment are used."""

    ledger: str
    """Folder of the ledger."""
    fleet_id: str
    task: Task
    number: int
    """Number of the attempt, from 1."""
    client: str
    """Id of the client that submitted it."""
    options: tuple[str, ...]
    """Options of `pygent-ls run`."""
    timeout_s: float | None
    lease_s: float


def run_attempt(job: Job) -> None:
    """Claim the attempt, run its agent, and record the result. Does nothing if it was claimed before, however often an
    executor calls this. Raises `FleetError` and OSError if the ledger cannot be used."""
    ledger = Ledger.at(Path(job.ledger), job.fleet_id)
    if ledger.is_cancelled(job.client):
        return
    claim = ledger.claim(job.task.id, job.number, Owner.this())
    if claim is None:
        return
    with _Heartbeat(claim, job) as heartbeat:
        result = _result(job, claim, heartbeat)
        accepted = claim.finish(result)
        if accepted is not None and accepted.attempt == job.number:
            settle(ledger, job.task, accepted)
    remove_worktrees(job.task, job.fleet_id, job.number)


def settle(ledger: Ledger, task: Task, accepted: AttemptResult) -> None:
    """Deliver the accepted result unless that was done, and remove what the attempts left. The owner of the attempt may
    have ended before it could, so the client calls this, too."""
    if ledger.delivery(task.id) is None:
        delivery = deliver(task, accepted.commit)
        remove_worktrees(task, ledger.id, ledger.last_number(task.id))
        if delivery is not None:
            ledger.set_delivery(task.id, delivery)


def _result(job: Job, claim: Claim, heartbeat: _Heartbeat) -> AttemptResult:
    try:
        with checkout(job.task, job.fleet_id, job.number) as at:
            (claim.folder / "prompt").write_text(job.task.prompt, encoding="utf-8")
            end = run_agent(
                [*_options(job), "--cwd", str(at.folder), "--output-format", "json"],
                environment=agent_environment(),
                folder=claim.folder,
                timeout_s=job.task.timeout_s or job.timeout_s,
                stopped=heartbeat.stopped,
            )
            result = _ended(job, end, heartbeat.reason)
            result = msgspec.structs.replace(result, base=at.worktree.base)
            if result.outcome != "succeeded":
                return result
            committed = at.commit()
            if not committed.files:
                return result
            (claim.folder / "changes.patch").write_bytes(committed.patch)
            return msgspec.structs.replace(result, commit=committed.commit, files=tuple(committed.files))
    except (PygentError, OSError) as error:
        return AttemptResult(attempt=job.number, outcome="failed", error=str(error), host=socket.gethostname())


def agent_environment() -> dict[str, str]:
    """Return the environment of the agents: commands run in the sandbox or not at all, unless the user chose
    otherwise."""
    return {"PYGENT_SANDBOX": "require", **os.environ}


def _options(job: Job) -> list[str]:
    """Return the options of `pygent-ls run`; those of the task replace the fleet's."""
    task = job.task
    own = {"--model": task.model, "--max-turns": task.max_turns, "--max-budget-usd": task.max_budget_usd}
    return [*job.options, *(part for name, value in own.items() if value is not None for part in (name, str(value)))]


def _ended(job: Job, end: AgentEnd, reason: StopReason | None) -> AttemptResult:
    """Return the result without the changes of files."""
    said = end.result or RunResult(subtype="", result="")
    error, is_final = _problem(job, end)
    outcome: Outcome = "failed" if error else "succeeded"
    if reason is not None and end.stop == "stopped":
        outcome = "interrupted" if reason == "cancelled" else "superseded"
    return AttemptResult(
        attempt=job.number,
        outcome=outcome,
        text="" if error else said.result,
        error=error,
        is_final=is_final,
        cost_usd=said.total_cost_usd,
        num_turns=said.num_turns,
        duration_s=round(end.duration_s, 3),
        session_id=said.session_id,
        denied=tuple(each.tool_name for each in said.permission_denials),
        host=socket.gethostname(),
    )


def _problem(job: Job, end: AgentEnd) -> tuple[str, bool]:
    """Return why the agent failed, empty if it did not, and whether another attempt would fail in the same way: a limit
    would be reached again, and paid for again."""
    if end.stop == "timed out":
        return f"The time limit of {job.task.timeout_s or job.timeout_s:g} s was reached.", True
    if end.result is None:
        how = f"by signal {-end.exit_code}" if end.exit_code < 0 else f"with exit code {end.exit_code}"
        return f"The agent ended {how} and without a result. {end.log_end}".strip(), end.exit_code == BAD_USAGE
    if end.result.subtype == "success":
        return "", False
    is_final = end.result.subtype not in ("error_during_execution", "interrupted")
    return end.result.result or end.result.subtype, is_final


class _Heartbeat:
    """Thread that shows that an attempt is alive, and finds out when it is to stop."""

    def __init__(self, claim: Claim, job: Job) -> None:
        self.stopped = threading.Event()
        self.reason: StopReason | None = None
        """Why the attempt is to stop; None if it goes on, or the ledger cannot be reached."""
        self._claim = claim
        self._job = job
        self._renewal_s = job.lease_s / BEATS_PER_LEASE
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"lease of {job.task.id}", daemon=True)

    def __enter__(self) -> _Heartbeat:
        self._claim.renew()
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        renewed_s = time.monotonic()
        while not self._is_over.wait(min(self._renewal_s, STOP_POLL_S)):
            try:
                if time.monotonic() - renewed_s >= self._renewal_s:
                    self._claim.renew()
                    renewed_s = time.monotonic()
                self.reason = self.reason or self._claim.stop_reason(self._job.client)
            except (OSError, FleetError):
                if time.monotonic() - renewed_s < self._job.lease_s:
                    continue
                self.stopped.set()  # the attempt counts as lost by now, and another one may run
            if self.reason is not None:
                self.stopped.set()
