"""What the sandbox adds to a command: `true`, in it and without, in repositories of 100 and of 10,000 files.

The aim is less than 100 ms with 10,000 files.

usage: python benchmarks/sandbox.py [ROUNDS]
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent))

from machine import write_result

from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.sandbox.sandbox import Sandbox, SandboxOptions

ROUNDS = 15

SIZES = (100, 10_000)


def main() -> None:
    """Measure and write."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    figures: dict[str, object] = {"what": "milliseconds for `true`, median and least", "rounds": rounds}
    for n_files in SIZES:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch).resolve()
            subprocess.run(["git", "init", "-q", folder], check=True)
            for number in range(n_files):
                path = folder / f"d{number // 500}" / f"s{number % 500 // 20}" / f"f{number}.py"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            figures[f"{n_files}_files"] = asyncio.run(_measured(folder, rounds))
    write_result("sandbox", figures)


async def _measured(folder: Path, rounds: int) -> dict[str, object]:
    """Rounds of both kinds alternate, so that what else the machine does meets both."""
    processes = LocalProcesses(Sandbox(SandboxOptions(), lambda: [folder]))
    taken: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for sandboxed in (True, False):
            started = perf_counter()
            await processes.run(ProcessSpec(argv=("true",), cwd=folder, timeout_s=60, sandboxed=sandboxed))
            taken[sandboxed].append((perf_counter() - started) * 1000)
    processes.kill_all()
    names = {True: "in_the_sandbox", False: "without"}
    return {names[kind]: [round(statistics.median(each), 1), round(min(each), 1)] for kind, each in taken.items()}


if __name__ == "__main__":
    main()
