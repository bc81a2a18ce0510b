"""`make eval`: run Harbor with our agent, and compare the results of several runs."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from evaluation.compare import compare

ROOT = Path(__file__).parents[1]
PINS = Path(".ci", "pins.txt")

BIN = Path(sys.executable).parent
"""Programs of Harbor's environment: harbor, and uv."""

BUBBLEWRAP = "evaluation.bubblewrap:BubblewrapEnvironment"


@dataclass(frozen=True)
class Version:
    """What is evaluated: a wheel with the versions of its dependencies, or an environment that has it installed."""

    label: str
    wheel: Path | None = None
    constraints: Path | None = None
    installed: Path | None = None


def main() -> int:
    """Run one command; the exit code is Harbor's."""
    parser = argparse.ArgumentParser(prog="python -m evaluation", description=__doc__)
    parser.add_argument(
        "--results", type=Path, default=ROOT / "build" / "eval", help="folder with the results of all runs"
    )
    commands = parser.add_subparsers(required=True, dest="command")
    run = commands.add_parser("run", help="run tasks; arguments after -- are those of `harbor run`")
    run.add_argument("--model", required=True, help="PROVIDER/MODEL")
    run.add_argument("--version", default=".", help="folder with the source, wheel, environment, or commit")
    run.add_argument("--tasks", type=Path, default=ROOT / "evaluation" / "tasks", help="folder with tasks")
    run.add_argument("--dataset", help="data set of Harbor's registry, in place of the folder")
    run.add_argument("--environment", default="docker", help="an environment of Harbor, or bubblewrap")
    run.add_argument("--n-concurrent", default="4", help="number of tasks at a time")
    run.add_argument("--job", help="name of the results (default: that of the version, and the time)")
    run.add_argument("harbor", nargs="*")
    compared = commands.add_parser("compare", help="print the results of several runs side by side")
    compared.add_argument("jobs", nargs="+", help="folders with results, or their names")
    options = parser.parse_args()
    if options.command == "run":
        return _run(options)
    print(compare([options.results / job for job in options.jobs]))
    return 0


def _run(options: argparse.Namespace) -> int:
    version = _version(options.version, options.results)
    job = options.job or f"{version.label}-{datetime.now():%Y%m%d-%H%M%S}"
    command = [str(BIN / "harbor"), "run", "--yes", "--agent", "evaluation.agent:PygentAgent"]
    command += ["--model", options.model, "--n-concurrent", options.n_concurrent]
    command += ["--dataset", options.dataset] if options.dataset else ["--path", str(options.tasks)]
    command += ["--jobs-dir", str(options.results), "--job-name", job]
    if options.environment == "bubblewrap":
        command += ["--env", BUBBLEWRAP, *_mounted(version.installed or _install(version))]
    elif version.wheel is None:
        sys.exit(f"{options.version} is an environment of this machine: only bubblewrap can run it")
    else:
        command += ["--env", options.environment]
        command += ["--ak", f"wheel={version.wheel}", "--ak", f"constraints={version.constraints}"]
    # Harbor imports litellm, which else asks the network for its prices at each start.
    defaults = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HARBOR_TELEMETRY": "0"}
    environment = {**defaults, **os.environ, "PYTHONPATH": str(ROOT)}
    code = subprocess.run([*command, *options.harbor], check=False, env=environment).returncode
    if code == 0 and (options.results / job).exists():
        print(compare([options.results / job]))
    return code


def _version(given: str, results: Path) -> Version:
    path = Path(given)
    if (path / "bin" / "pygent-ls").exists():
        return Version(path.resolve().name.lstrip("."), installed=path.resolve())
    if path.suffix == ".whl":
        return _keep(path.name.split("-")[1], path, ROOT / PINS, results)
    if path.is_dir():
        described = ["git", "-C", given, "describe", "--always", "--dirty"]
        label = subprocess.run(described, check=False, capture_output=True, text=True).stdout.strip()
        return _build(label or path.resolve().name, path, results)
    with tempfile.TemporaryDirectory() as folder:
        _call("tar", "-x", "-C", folder, input=_call("git", "-C", ROOT, "archive", given))
        return _build(re.sub(r"[^\w.-]", "-", given), Path(folder), results)


def _build(label: str, tree: Path, results: Path) -> Version:
    with tempfile.TemporaryDirectory() as folder:
        _call(ROOT / ".venv" / "bin" / "hatchling", "build", "-t", "wheel", "-d", folder, cwd=tree)
        (wheel,) = Path(folder).glob("*.whl")
        return _keep(label, wheel, tree / PINS, results)


def _keep(label: str, wheel: Path, pins: Path, results: Path) -> Version:
    """Copy what is evaluated beside the results, where a job that is resumed finds it."""
    folder = results.resolve() / ".versions" / hashlib.sha256(wheel.read_bytes() + pins.read_bytes()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return Version(label, Path(shutil.copy(wheel, folder)), Path(shutil.copy(pins, folder / "constraints.txt")))


def _install(version: Version) -> Path:
    """Return an environment of this machine that has the wheel, which is installed once for all tasks and runs."""
    assert version.wheel is not None
    installed = version.wheel.parent / "venv"
    if not (installed / "bin" / "pygent-ls").exists():
        _call(BIN / "uv", "venv", "--clear", "--python", ">=3.11", installed)
        pins = f"--constraints={version.constraints}"
        _call(BIN / "uv", "pip", "install", "--no-build", "--python", installed, pins, version.wheel)
    return installed


def _mounted(installed: Path) -> list[str]:
    """Return arguments that mount an environment of this machine, with its Python, where the agent looks for it."""
    asked = "import json, sys, pygent_ls; print(json.dumps([sys.base_prefix, *pygent_ls.__path__]))"
    answer = _call(installed / "bin" / "python", "-I", "-c", asked)
    places = {"/installed-agent/venv": str(installed), **{each: each for each in (str(installed), *json.loads(answer))}}
    mounts = [
        {"type": "bind", "source": source, "target": target, "read_only": True}
        for target, source in places.items()
        if not target.startswith("/usr")
    ]
    return ["--mounts", json.dumps(mounts), "--ak", "skip_install=true"]


def _call(*command: Path | str, cwd: Path | None = None, input: bytes | None = None) -> bytes:
    done = subprocess.run(command, check=False, cwd=cwd, input=input, capture_output=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr.decode(errors='replace')}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
