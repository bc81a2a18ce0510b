"""The scheduler over executors that fail: they lose jobs, run them twice, or run none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.errors import FleetError
from pygent_ls.fleet.attempt import Job
from pygent_ls.fleet.executors import SubmittedJob
from pygent_ls.fleet.ledger import AttemptResult, Claim, Ledger, Outcome, Owner
from pygent_ls.fleet.progress import Counts
from pygent_ls.fleet.scheduler import MAX_LOST, FleetPolicy, Scheduler
from pygent_ls.fleet.tasks import Task

GONE = Owner(host="elsewhere", pid=1)


class Ended:
    """A job that has ended."""

    def __init__(self, error: BaseException | None = None) -> None:
        self._error = error

    def done(self) -> bool:
        return True

    def exception(self) -> BaseException | None:
        return self._error

    def cancel(self) -> None:
        """Nothing is left to cancel."""


class PlayedExecutor:
    """Does with each job what a function says."""

    is_local = False

    def __init__(self, play: Callable[[Job, Ledger], BaseException | None]) -> None:
        self.jobs: list[Job] = []
        self._play = play

    def slots(self) -> int:
        return 2

    def submit(self, job: Job) -> SubmittedJob:
        self.jobs.append(job)
        return Ended(self._play(job, Ledger.at(Path(job.ledger))))

    def close(self) -> None:
        """Nothing is open."""


class Silence:
    def tell(self, line: str) -> None:
        """Show nothing."""

    def count(self, counts: Counts) -> None:
        """Show nothing."""


def scheduled(folder: Path, executor: PlayedExecutor, n_tasks: int = 1, policy: FleetPolicy | None = None) -> Scheduler:
    kept = replace(policy or FleetPolicy(), lease_s=0.01)
    scheduler = Scheduler(Ledger.create(folder), executor, kept, Silence(), client="client")
    scheduler.load(
        [Task(id=f"t{number}", prompt="Go.", repository="https://example.org/x") for number in range(n_tasks)]
    )
    return scheduler


def claimed(job: Job, ledger: Ledger) -> Claim:
    claim = ledger.claim(job.task.id, job.number, Owner.this())
    assert claim is not None
    return claim


def ended(job: Job, outcome: Outcome, cost_usd: float | None = 0.0) -> AttemptResult:
    return AttemptResult(attempt=job.number, outcome=outcome, error="no", cost_usd=cost_usd)


def test_a_failed_task_is_tried_again_as_often_as_allowed(tmp_path: Path) -> None:
    def fail(job: Job, ledger: Ledger) -> None:
        claimed(job, ledger).finish(ended(job, "failed"))

    executor = PlayedExecutor(fail)
    scheduler = scheduled(tmp_path, executor, policy=FleetPolicy(retries=3))
    scheduler.run()

    assert [each.number for each in executor.jobs] == [1, 2, 3, 4]
    assert scheduler.states[0].status == "failed"


def test_a_task_that_ends_each_worker_is_given_up(tmp_path: Path) -> None:
    def die(job: Job, ledger: Ledger) -> None:
        claim = ledger.claim(job.task.id, job.number, GONE)
        assert claim is not None

    executor = PlayedExecutor(die)
    scheduler = scheduled(tmp_path, executor)
    scheduler.run()

    assert len(executor.jobs) == MAX_LOST + 1
    assert (scheduler.states[0].status, scheduler.states[0].n_lost) == ("failed", MAX_LOST + 1)


def test_an_executor_that_runs_nothing_is_told_and_not_tried_for_ever(tmp_path: Path) -> None:
    executor = PlayedExecutor(lambda _job, _ledger: ImportError("No module named 'pygent_ls'"))

    with pytest.raises(FleetError, match="The executor failed: No module named 'pygent_ls'"):
        scheduled(tmp_path, executor).run()

    assert len(executor.jobs) == MAX_LOST + 1


def test_a_worker_without_the_ledger_ends_the_fleet_at_once(tmp_path: Path) -> None:
    executor = PlayedExecutor(lambda _job, _ledger: FleetError("finds no ledger"))
    with pytest.raises(FleetError, match="finds no ledger"):
        scheduled(tmp_path, executor).run()
    assert len(executor.jobs) == 1


def test_a_task_that_fails_finally_does_not_stop_the_others(tmp_path: Path) -> None:
    def play(job: Job, ledger: Ledger) -> None:
        is_first = job.task.id == "t0"
        result = AttemptResult(attempt=job.number, outcome="failed" if is_first else "succeeded", is_final=is_first)
        claimed(job, ledger).finish(result)

    executor = PlayedExecutor(play)
    scheduler = scheduled(tmp_path, executor, n_tasks=5)
    scheduler.run()

    assert [each.status for each in scheduler.states] == ["failed", *["succeeded"] * 4]
    assert len(executor.jobs) == 5


@settings(max_examples=40, deadline=None)
@given(
    fates=st.lists(st.sampled_from(["succeeded", "failed", "lost", "late", "twice", "nothing"]), max_size=12),
    costs=st.lists(st.sampled_from([0.0, 0.3, 1.0, None]), min_size=1, max_size=5),
)
def test_whatever_an_executor_does_the_limit_of_all_attempts_holds_and_each_task_ends(
    tmp_path_factory: pytest.TempPathFactory, fates: list[str], costs: list[float | None]
) -> None:
    spent: list[float] = []
    left = list(fates)

    def play(job: Job, ledger: Ledger) -> None:
        fate = left.pop() if left else "succeeded"
        if fate == "nothing":  # the executor lost the job
            return
        claim = claimed(job, ledger) if fate != "lost" else ledger.claim(job.task.id, job.number, GONE)
        assert claim is not None
        cost = costs[len(spent) % len(costs)]
        spent.append(1.0 if cost is None or fate == "lost" else cost)
        match fate:
            case "lost":
                pass
            case "late":  # its owner ends between the record and the acceptance
                claim.record(ended(job, "succeeded", cost))
            case "twice":
                assert ledger.claim(job.task.id, job.number, GONE) is None
                claim.finish(ended(job, "succeeded", cost))
            case _:
                claim.finish(ended(job, "failed" if fate == "failed" else "succeeded", cost))

    scheduler = scheduled(
        tmp_path_factory.mktemp("ledger"),
        PlayedExecutor(play),
        n_tasks=3,
        policy=FleetPolicy(max_budget_usd=1.0, max_total_usd=4.0),
    )
    scheduler.run()

    assert sum(spent) <= 4.0 + 1e-9
    statuses = [each.status for each in scheduler.states]
    assert "running" not in statuses
    assert scheduler.is_out_of_budget == ("waiting" in statuses)
