"""The part `parsers` of `make endurance`: each parser under atheris for its share of the time."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from tests.endurance.parsers.corpus import keep
from tests.endurance.parsers.growth import inputs_that_grow_too_fast
from tests.endurance.parsers.targets import all_targets

FOLDER = Path("build") / "endurance"
"""Where inputs are collected; the next run goes on with them."""

LEAST_S = 5
"""Least time for one parser, beside the time that it takes to be instrumented."""

_N_RUNS = re.compile(r"stat::number_of_executed_units: (\d+)")


def main(hours: float, names: list[str] | None = None) -> bool:
    """Fuzz every parser, or those whose names begin so. Returns whether all promises were kept."""
    targets = {name: each for name, each in all_targets().items() if not names or name.startswith(tuple(names))}
    seconds = max(LEAST_S, int(hours * 3600 / len(targets)))
    is_kept = True
    for name, target in targets.items():
        folder = FOLDER / name
        command = [sys.executable, "-m", "tests.endurance.parsers.fuzzing", name, str(folder), str(seconds)]
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        found = _N_RUNS.search(run.stderr)
        slow = inputs_that_grow_too_fast(target, _inputs(folder))
        print(f"{name}: {found[1] if found else 'no'} inputs", flush=True)
        for each in slow:
            print(f"  takes more than its share for its length: {each!r}", flush=True)
        if run.returncode or found is None:
            print(_failure(run.stdout + run.stderr), flush=True)
        is_kept = is_kept and not slow and run.returncode == 0 and found is not None
    return is_kept


def _inputs(folder: Path) -> list[bytes]:
    return [each.read_bytes() for each in sorted(folder.iterdir())] if folder.is_dir() else []


def _failure(output: str) -> str:
    """The exception and the input of a fuzzer that has ended, or else its last lines."""
    _, mark, rest = output.partition("=== Uncaught Python exception: ===")
    lines = rest.splitlines() if mark else output.splitlines()[-20:]
    return "\n".join(f"  {line[:1_000]}" for line in lines if not line.startswith(("stat::", "0x")))


def keep_all() -> None:
    """Keep a few of the collected inputs of each parser in the repository."""
    for name in all_targets():
        keep(name, _inputs(FOLDER / name))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of names of parsers")
    parser.add_argument("--minutes", type=float, default=10.0, help="time for all of them")
    parser.add_argument("--keep", action="store_true", help="keep a few of the collected inputs in the repository")
    given = parser.parse_args()
    if given.keep:
        keep_all()
    else:
        sys.exit(0 if main(given.minutes / 60, given.names) else 1)
