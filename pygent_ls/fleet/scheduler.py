"""Decides which attempts run when, until every task has a result or no attempt is left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from pygent_ls.errors import FleetError, SnapshotError
from pygent_ls.fleet.attempt import Job, settle
from pygent_ls.fleet.checkout import check_repository, remove_worktrees
from pygent_ls.fleet.executors import Executor, SubmittedJob
from pygent_ls.fleet.ledger import AttemptResult, AttemptState, History, LeaseWatch, Ledger
from pygent_ls.fleet.progress import Counts, FleetProgress
from pygent_ls.fleet.tasks import Task, in_lines

MAX_LOST = 3
"""Maximum number of attempts at a task that may be lost with their workers: it may be the task that ends them."""

POLL_S = 0.1
"""Interval at which submitted jobs are looked at."""

WATCH_S = 1.0
"""Interval at which attempts are looked at that others submitted."""

STOP_S = 20.0
"""Maximum time for running attempts to stop: more than an agent has to end before it is killed."""

Status = Literal["succeeded", "failed", "running", "waiting"]


class FleetPolicy(Struct, frozen=True, kw_only=True):
    """Limits of a fleet, and the options of its agents."""

    options: tuple[str, ...] = ()
    """Options of `pygent-ls run`."""
    retries: int = 2
    """Maximum number of further attempts at a task that failed."""
    max_budget_usd: float = 0.0
    """Maximum cost of an attempt whose task has no limit of its own; 0 for no limit."""
    max_total_usd: float = 0.0
    """Maximum cost of all attempts together; 0 for no limit."""
    timeout_s: float | None = None
    lease_s: float = 60.0


class TaskState:
    """Task, what the ledger says of it, and the job that this client submitted for it."""

    def __init__(self, task: Task, history: History, policy: FleetPolicy) -> None:
        self.task = task
        self.history = history
        self.job: SubmittedJob | None = None
        self.last_is_lost = False
        self.n_errors = 0
        """Number of jobs that ended with an error of their executor."""
        self._policy = policy

    def update(self, history: History) -> None:
        """Take over what the ledger says now."""
        if self.history.last is None or history.last is None or history.last.number != self.history.last.number:
            self.last_is_lost = False
        self.history = history

    @property
    def failures(self) -> list[AttemptResult]:
        return self.history.outcomes("failed")

    @property
    def n_lost(self) -> int:
        """Number of attempts without a result that were given up: all but the last one, and that one if it is lost."""
        without = sum(each.result is None for each in self.history.attempts)
        return without - (self.unended is not None and not self.last_is_lost)

    @property
    def unended(self) -> AttemptState | None:
        """The newest attempt, if it has no result."""
        last = self.history.last
        return last if last is not None and last.result is None else None

    @property
    def status(self) -> Status:
        """Whether the task has its result, will have none, is being worked on, or waits for an attempt."""
        if self.history.accepted is not None:
            return "succeeded"
        if self.job is not None or (self.unended is not None and not self.last_is_lost):
            return "running"
        failures = self.failures
        if len(failures) > self._policy.retries or any(each.is_final for each in failures) or self.n_lost > MAX_LOST:
            return "failed"
        return "waiting"

    @property
    def budget_usd(self) -> float:
        """Maximum cost of one attempt; 0 for no limit."""
        return self.task.max_budget_usd or self._policy.max_budget_usd

    @property
    def cost_usd(self) -> float:
        """Cost of all attempts. One whose cost is not known counts with its maximum, also before it is claimed."""
        results = [each.result for each in self.history.attempts]
        known = [each.cost_usd for each in results if each is not None and each.cost_usd is not None]
        unknown = len(results) - len(known) + (self.job is not None and self.unended is None)
        return sum(known) + unknown * self.budget_usd


class Scheduler:
    """One client of a ledger. Several may work on the same one at a time."""

    def __init__(
        self, ledger: Ledger, executor: Executor, policy: FleetPolicy, progress: FleetProgress, client: str
    ) -> None:
        """`client` is an id that no other client of the ledger has."""
        self._ledger = ledger
        self._executor = executor
        self._policy = policy
        self._progress = progress
        self._client = client
        self._watch = LeaseWatch(policy.lease_s)
        self._watched_s = float("-inf")
        self.states: list[TaskState] = []
        self.is_out_of_budget = False
        """Whether tasks wait that the limit for all attempts does not allow."""

    def load(self, tasks: Sequence[Task]) -> None:
        """Add the tasks to the ledger. Raises `FleetError`; nothing was started then."""
        problems: list[str] = []
        for task in tasks:
            self._ledger.add(task)
            state = TaskState(task, self._ledger.history(task.id), self._policy)
            self.states.append(state)
            if self._executor.is_local and not state.history.attempts:
                try:
                    check_repository(task)
                except (SnapshotError, OSError) as error:
                    problems.append(f"task {task.id}: {error}")
        if problems:
            raise FleetError(in_lines(problems))

    def run(self) -> None:
        """Work until no task waits or runs. Raises `FleetError` and OSError if the executor or the ledger fails."""
        for state in self.states:
            self._settle(state)
        is_news = True
        while True:
            is_news |= self._collect()
            if time.monotonic() - self._watched_s >= min(WATCH_S, self._policy.lease_s):
                self._watched_s = time.monotonic()
                self._watch_others()
                is_news = True  # also about the number of workers
            if is_news:
                self._start()
                self._count()
                statuses = {each.status for each in self.states}
                if "running" not in statuses and ("waiting" not in statuses or self.is_out_of_budget):
                    return
            is_news = False
            time.sleep(min(POLL_S, self._policy.lease_s))

    def tell(self, line: str) -> None:
        """Show a line to the user."""
        self._progress.tell(line)

    def stop(self) -> None:
        """Stop the attempts that this client submitted, and wait until they have stopped."""
        self._ledger.cancel(self._client)
        left = self._submitted()
        for _, job in left:
            job.cancel()
        until_s = time.monotonic() + STOP_S
        while left and time.monotonic() < until_s:
            for state, _ in left:
                self._refresh(state)
            left = [(state, job) for state, job in left if not job.done() or state.unended is not None]
            time.sleep(POLL_S)
        for state, _ in self._submitted():
            state.job = None

    def _collect(self) -> bool:
        """Take over the results of jobs that have ended; return whether there are any."""
        ended = [(state, job) for state, job in self._submitted() if job.done()]
        for state, job in ended:
            error = job.exception()
            state.job = None
            self._refresh(state)
            if error is None:
                continue
            state.n_errors += 1
            if isinstance(error, FleetError) or state.n_errors > MAX_LOST:
                raise FleetError(f"The executor failed: {error or type(error).__name__}")
            self._progress.tell(f"{state.task.id}: the executor reported {type(error).__name__}: {error}")
        return bool(ended)

    def _submitted(self) -> list[tuple[TaskState, SubmittedJob]]:
        return [(each, each.job) for each in self.states if each.job is not None]

    def _watch_others(self) -> None:
        """Look at the attempts that run without a job of ours."""
        for state in self.states:
            if state.job is None and state.status == "running":
                self._refresh(state)
                if state.unended is not None and self._watch.is_lost(state.task.id, state.unended):
                    state.last_is_lost = True
                    remove_worktrees(state.task, self._ledger.id, state.unended.number)
                    self._progress.tell(f"{state.task.id}: attempt {state.unended.number} was lost with its worker")

    def _refresh(self, state: TaskState) -> None:
        before = state.history
        state.update(self._ledger.history(state.task.id))
        last = state.history.last
        if last is not None and last.result is not None and (before.last is None or before.last.result != last.result):
            self._progress.tell(f"{state.task.id}: {_told(last.result)}")
        if before.accepted is None:
            self._settle(state)

    def _settle(self, state: TaskState) -> None:
        if state.history.accepted is not None and self._ledger.delivery(state.task.id) is None:
            settle(self._ledger, state.task, state.history.accepted)

    def _start(self) -> None:
        """Submit as many waiting tasks as can run now."""
        free = self._executor.slots() - sum(each.job is not None for each in self.states)
        total = sum(each.cost_usd for each in self.states)
        self.is_out_of_budget = False
        for state in self.states:
            if free <= 0:
                return
            if state.status != "waiting":
                continue
            if self._policy.max_total_usd and total + state.budget_usd > self._policy.max_total_usd:
                self.is_out_of_budget = True
                continue
            total += state.budget_usd
            free -= 1
            self._submit(state)

    def _submit(self, state: TaskState) -> None:
        last = state.history.last
        number = 1 if last is None else last.number + 1
        state.job = self._executor.submit(
            Job(
                ledger=str(self._ledger.folder),
                fleet_id=self._ledger.id,
                task=state.task,
                number=number,
                client=self._client,
                options=self._policy.options,
                timeout_s=self._policy.timeout_s,
                lease_s=self._policy.lease_s,
            )
        )
        self._progress.tell(f"{state.task.id}: attempt {number} was submitted")

    def _count(self) -> None:
        statuses = [each.status for each in self.states]
        self._progress.count(
            Counts(
                total=len(statuses),
                succeeded=statuses.count("succeeded"),
                failed=statuses.count("failed"),
                running=statuses.count("running"),
                cost_usd=sum(each.cost_usd for each in self.states),
            )
        )


def _told(result: AttemptResult) -> str:
    """Return the line about an attempt that has ended."""
    said = f"attempt {result.attempt} {result.outcome}"
    if result.outcome == "succeeded":
        cost = "" if result.cost_usd is None else f", ${result.cost_usd:.4f}"
        denied = f", {len(result.denied)} calls denied" if result.denied else ""
        return f"{said}: {len(result.files)} changed files{denied}{cost}, {result.duration_s:.1f} s"
    return f"{said}: {result.error}" if result.error else said
