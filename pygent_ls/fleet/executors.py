"""Where attempts run: threads of this process, each with an agent in a process of its own, or another executor."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from pygent_ls.fleet.attempt import Job, run_attempt


class SubmittedJob(Protocol):
    """Job that an executor has accepted."""

    def done(self) -> bool:
        """Return whether it has ended; the ledger says how."""
        ...

    def exception(self) -> BaseException | None:
        """Return why the executor or the ledger failed; None after any attempt that the ledger knows about."""
        ...

    def cancel(self) -> object:
        """Do not start it, if it has not been started yet."""
        ...


class Executor(Protocol):
    """Runs jobs. It may run one twice or lose one, which the ledger makes harmless."""

    is_local: bool
    """Whether it runs them on this machine."""

    def slots(self) -> int:
        """Return the number of jobs that can run at a time now. Raises OSError if it cannot be reached."""
        ...

    def submit(self, job: Job) -> SubmittedJob:
        """Run a job. Raises OSError if it cannot be reached."""
        ...

    def close(self) -> None:
        """Let go of it, without waiting for jobs. Those of this process end with it."""
        ...


class LocalExecutor:
    """Implementation of `Executor` in this process."""

    is_local = True

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="fleet")

    def slots(self) -> int:
        return self._workers

    def submit(self, job: Job) -> SubmittedJob:
        return self._threads.submit(run_attempt, job)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
