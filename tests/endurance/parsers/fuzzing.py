"""Runs one parser under atheris: `python -m tests.endurance.parsers.fuzzing NAME FOLDER SECONDS`.

FOLDER keeps the inputs that reached something new, and is continued by the next run. An input that breaks a promise is
written to FOLDER-failures, and the slowest inputs for their length to FOLDER-slow; the process ends with the first
failure. atheris ends the process itself, so nothing runs after it.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from pathlib import Path
from typing import Any

MAX_BYTES = 2_000
"""Longest input: short ones reach as much, and are tried more often."""

MAX_RUN_S = 20
"""A run that takes longer is a failure."""

SLOW_S = 0.02
"""Time from which an input may be one of the slowest."""


def main(name: str, folder: Path, seconds: int) -> None:
    """Fuzz one parser until it fails or the time is over. Does not return."""
    from tests.endurance.parsers.targets import target_named

    fuzzer: Any = importlib.import_module("atheris")  # installed by `make endurance`
    warnings.simplefilter("ignore")
    with fuzzer.instrument_imports(include=["pygent_ls"], enable_loader_override=False):
        target = target_named(name)
    folder.mkdir(parents=True, exist_ok=True)
    failures, slow = (folder.with_name(f"{folder.name}-{each}") for each in ("failures", "slow"))
    failures.mkdir(exist_ok=True)
    slow.mkdir(exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (folder / f"seed-{number}").write_bytes(seed)
    worst = SLOW_S

    def run(data: bytes) -> None:
        nonlocal worst
        began = time.thread_time()
        target.check(data)
        took = time.thread_time() - began
        if took > worst:
            worst = took
            (slow / f"{took:.3f}").write_bytes(data)

    arguments = (f"-max_len={MAX_BYTES}", f"-max_total_time={seconds}", f"-timeout={MAX_RUN_S}", "-rss_limit_mb=3000")
    fuzzer.Setup([sys.argv[0], *arguments, f"-artifact_prefix={failures}/", "-print_final_stats=1", str(folder)], run)
    fuzzer.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
