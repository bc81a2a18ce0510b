"""Harbor in a process of its own, and what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.model_server import Call, ModelServer, Step

ROOT = Path(__file__).parents[2]
HARBOR = ROOT / "build" / "harbor" / "bin"
TASKS = ROOT / "evaluation" / "tasks"
BUBBLEWRAP = "evaluation.bubblewrap:BubblewrapEnvironment"

WAIT_S = 90.0


def call(name: str, **arguments: Any) -> Step:
    """An answer that calls one tool."""
    return Step(calls=(Call(name=name, arguments=arguments),))


def shell(command: str) -> Step:
    """An answer that runs a command."""
    return call("shell", command=command)


def environment(server: ModelServer | None = None) -> dict[str, str]:
    """The environment of Harbor, which asks no network; the server is the model `openai/gpt-4o`, which has a price."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYGENT_", "XDG_"))}
    own = {"PYTHONPATH": str(ROOT), "HARBOR_TELEMETRY": "0", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    own["HOME"] = str(HARBOR.parent)
    return {**clean, **own, **(server.env() if server else {})}


def run(*command: str | Path, server: ModelServer | None = None) -> str:
    """Run one of Harbor's programs. Returns its output, which the error holds if it fails."""
    done = subprocess.run(
        [HARBOR / command[0], *command[1:]],
        check=False,
        cwd=ROOT,
        env=environment(server),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def evaluate(results: Path, server: ModelServer, job: str, *harbor: str) -> str:
    """What `make eval` runs, with the working tree as it is installed in .venv; the job is not mounted again."""
    own = ("--results", results, "run", "--model", "openai/gpt-4o", "--environment", "bubblewrap", "--job", job)
    return run("python", "-m", "evaluation", *own, "--version", ROOT / ".venv", "--", *harbor, server=server)


def trial(job: Path) -> Path:
    """The folder of a job's only trial."""
    (result,) = job.glob("*/result.json")
    return result.parent


def result(job: Path) -> Mapping[str, Any]:
    """What Harbor says of a job's only trial."""
    return json.loads((trial(job) / "result.json").read_text(encoding="utf-8"))


def reward(job: Path) -> float:
    return result(job)["verifier_result"]["rewards"]["reward"]


def trajectory(job: Path) -> Mapping[str, Any]:
    """The trajectory of a job's only trial, which Harbor's own validator accepts."""
    file = trial(job) / "agent" / "trajectory.json"
    run("python", "-m", "harbor.utils.trajectory_validator", file)
    return json.loads(file.read_text(encoding="utf-8"))
