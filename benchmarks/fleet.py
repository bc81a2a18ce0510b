"""How many tasks a fleet ends in a minute, by the number of its workers.

A scripted provider answers each request after a second, as a model does that thinks; each task is one turn with an
edit, in a worktree of its own. More workers help until the processors are busy with starting agents. Beside it, what
the ledger costs: claims and accepted results in a second, by one process on the local disk.

usage: python benchmarks/fleet.py [TASKS]     (12)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from machine import write_result

from pygent_ls.fleet.ledger import AttemptResult, Ledger, Owner
from pygent_ls.fleet.tasks import Task
from tests.e2e.command_line import clean_environment
from tests.fleet.fleet_command import EDIT
from tests.model_server import ModelServer, Received, Step
from tests.tools.repository import committed_project

WORKERS = (1, 2, 4, 8)

THINKING_S = 1.0

N_CLAIMS = 300


def main() -> None:
    """Measure and write."""
    n_tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    figures = {
        "what": "tasks that end in a minute, by the number of workers; claims and results in a second",
        "tasks": n_tasks,
        "per_minute": {str(n_workers): per_minute(n_tasks, n_workers) for n_workers in WORKERS},
        "claims_per_second": claims_per_second(),
    }
    write_result("fleet", figures)


def answer(request: Received, _number: int) -> Step:
    """An edit, then a text."""
    is_last = request.messages[-1]["role"] == "tool"
    return Step(text="Done.", delay_s=THINKING_S) if is_last else Step(calls=EDIT.calls, delay_s=THINKING_S)


def per_minute(n_tasks: int, n_workers: int) -> float:
    """Run a fleet to its end."""
    with tempfile.TemporaryDirectory() as scratch, ModelServer(answer) as server:
        folder = Path(scratch).resolve()
        home = folder / "home"
        home.mkdir()
        committed_project(folder / "project")
        lines = [json.dumps({"id": f"t{number}", "prompt": "go", "repository": "project"}) for number in range(n_tasks)]
        (folder / "tasks.jsonl").write_text("\n".join(lines))
        environment = clean_environment(home, XDG_DATA_HOME=str(home / "data"), PYGENT_MODEL="openai/mock")
        began_s = perf_counter()
        command = (sys.executable, "-m", "pygent_ls", "fleet", str(folder / "tasks.jsonl"), "--yes")
        subprocess.run(
            [*command, "--workers", str(n_workers)],
            env={**environment, **server.env()},
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return round(n_tasks * 60 / (perf_counter() - began_s), 1)


def claims_per_second() -> float:
    """Claim attempts, show a sign of life, and have their results accepted."""
    with tempfile.TemporaryDirectory() as scratch:
        ledger = Ledger.create(Path(scratch) / "ledger")
        tasks = [Task(id=f"t{number}", prompt="go", repository="/none") for number in range(N_CLAIMS)]
        for task in tasks:
            ledger.add(task)
        began_s = perf_counter()
        for task in tasks:
            claim = ledger.claim(task.id, 1, Owner(host="bench", pid=os.getpid()))
            assert claim is not None
            claim.renew()
            claim.finish(AttemptResult(attempt=1, outcome="succeeded"))
        return round(N_CLAIMS / (perf_counter() - began_s), 1)


if __name__ == "__main__":
    main()
