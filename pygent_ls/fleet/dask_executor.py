"""Attempts on the workers of a Dask cluster. Importing this module loads `distributed`, of the extra `fleet`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

from distributed import Client  # pyright: ignore[reportUnknownVariableType]

from pygent_ls.errors import FleetError
from pygent_ls.fleet.attempt import Job, run_attempt
from pygent_ls.fleet.executors import SubmittedJob

CONNECT_S = 20.0
"""Time limit for reaching the scheduler."""

SLOTS_S = 1.0
"""Time for which the number of the cluster's threads is kept."""


class DaskExecutor:
    """Implementation of `Executor` on an existing cluster. Each thread of a worker runs one attempt at a time."""

    is_local = False

    def __init__(self, address: str) -> None:
        """`address` is that of a scheduler, such as `tcp://HOST:8786`, or the path of its scheduler file. Raises
        `FleetError` if it cannot be reached."""
        where: dict[str, Any] = {"scheduler_file": address} if Path(address).is_file() else {"address": address}
        try:
            self._client = cast("Any", Client(**where, timeout=CONNECT_S, set_as_default=False))
        except (OSError, ValueError) as error:
            raise FleetError(f"--cluster: no Dask scheduler answers at {address}: {error}") from None
        self._n_slots = 0
        self._counted_s = float("-inf")

    def slots(self) -> int:
        if time.monotonic() - self._counted_s > SLOTS_S:
            self._n_slots = sum(self._client.nthreads().values())
            self._counted_s = time.monotonic()
        return self._n_slots

    def submit(self, job: Job) -> SubmittedJob:
        key = f"pygent-{job.fleet_id}-{job.task.id}-{job.number}-{job.client}"
        return self._client.submit(run_attempt, job, key=key, pure=False)

    def close(self) -> None:
        self._client.close()
