"""Machine on which a benchmark was run, and the file with its figures."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def described() -> dict[str, Any]:
    """The machine, and how busy it was."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "platform": platform.platform(terse=True),
        "cpus": os.cpu_count(),
        "load_1m": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "pygls": version("pygls"),
    }


def _commit() -> str:
    """The measured commit, with a `+` if files differ from it; empty outside of a clone."""
    command = ("git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+")
    done = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def write_result(name: str, figures: Mapping[str, Any]) -> None:
    """Write `results/NAME.json`, and print it."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": described(), **figures}, indent=2) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
    print(text)
