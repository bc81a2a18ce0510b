"""Where the daemon's processor time goes: from its start to the first request to a model, and in a turn of tool calls.

Start: the processor time of each module's own code while it is imported, by package, in the thread that imports it, so
that a busy machine does not change it. Tool turn: cProfile, whose overhead is largest for many short calls; read its
shares, and `loop` and `peers` for times.

usage: python benchmarks/profiles.py
"""

from __future__ import annotations

import cProfile
import importlib._bootstrap_external as importer
import json
import os
import pstats
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from daemon import Daemon
from machine import write_result
from provider import calls, provider

ROOT = Path(__file__).parents[1]

N_CALLS = 200

N_ROWS = 35
"""Rows of a table."""

DEPTH = 3
"""Parts of the name of one of our packages, as in `pygent_ls.agent.turn`; one part for others."""


def main() -> None:
    """Measure and write."""
    if len(sys.argv) > 1:
        serve_profiled(sys.argv[1], Path(sys.argv[2]))
    figures: dict[str, Any] = {"what": "processor time in ms; shares in percent"}
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch).resolve()
        for each in ("imports", "calls"):
            profiled(each, place / "warm", n_calls=1)  # bytecode, and the system's cache of files
            figures[each] = profiled(each, place / each, n_calls=N_CALLS if each == "calls" else 0)
    write_result("profiles", figures)


def profiled(what: str, place: Path, *, n_calls: int) -> Any:
    """Run the daemon once, and return what its profile says."""
    folder, home, written = place / "work", place / "home", place / "profile.json"
    for each in (folder, home):
        each.mkdir(parents=True, exist_ok=True)
    for number in range(n_calls):
        (folder / f"f{number}.txt").write_text(f"This is file {number}.\n" * 10)

    class Profiled(Daemon):
        command = (sys.executable, __file__, what, str(written))

    with provider() as url:
        environment = {"OPENAI_API_KEY": "sk-benchmark", "OPENAI_BASE_URL": url, "PYGENT_MODEL": "openai/mock"}
        with Profiled(folder, home, **environment, PYGENT_MAX_ITERATIONS="0") as daemon:
            daemon.request("pygent/turn/start", {"prompt": calls(n_calls)})
            daemon.leave()
    return json.loads(written.read_text())


# In the daemon's process


def serve_profiled(what: str, written: Path) -> None:
    """Serve as the daemon does, and write the profile at the end of the process."""
    tell = watch_imports() if what == "imports" else watch_calls()
    end = os._exit

    def write_and_end(code: int) -> None:
        written.write_text(json.dumps(tell()))
        end(code)

    os._exit = write_and_end
    sys.argv = ["pygent_ls"]
    sys.path[0] = str(ROOT)
    from pygent_ls.cli.main import main as serve

    write_and_end(serve() or 0)


def watch_imports() -> Callable[[], dict[str, Any]]:
    """Measure every import from now on; return a function that tells the figures."""
    began_ms = time.process_time() * 1000
    spent = defaultdict[str, float](float)
    nested = threading.local()
    load = importer.SourceFileLoader.exec_module

    def measured(self: importer.SourceFileLoader, module: ModuleType) -> None:
        inside: list[float] = nested.__dict__.setdefault("inside", [])
        inside.append(0.0)
        began_s = time.thread_time()
        try:
            load(self, module)
        finally:
            took_s = time.thread_time() - began_s
            spent[module.__name__] += (took_s - inside.pop()) * 1000
            if inside:
                inside[-1] += took_s

    importer.SourceFileLoader.exec_module = measured

    def tell() -> dict[str, Any]:
        packages, modules = defaultdict[str, float](float), Counter[str]()
        for name, ms in spent.items():
            packages[package_of(name)] += ms
            modules[package_of(name)] += 1
        return {
            "process_ms": round(time.process_time() * 1000),
            "before_any_import_ms": round(began_ms),
            "imports_ms": round(sum(spent.values())),
            "modules": len(spent),
            "own_modules": sum(name.startswith("pygent_ls") for name in spent),
            "ms_by_package": {f"{name} ({modules[name]})": ms for name, ms in most(packages)},
            "ms_by_module": dict(most(spent)),
        }

    return tell


def most(ms: Mapping[str, float]) -> list[tuple[str, float]]:
    """The largest figures, rounded."""
    largest = sorted(ms.items(), key=lambda each: -each[1])[:N_ROWS]
    return [(name, round(value, 1)) for name, value in largest]


def package_of(module: str) -> str:
    """Package under which a module is counted."""
    parts = module.split(".")
    return ".".join(parts[:DEPTH]) if parts[0] == "pygent_ls" else parts[0]


def watch_calls() -> Callable[[], dict[str, Any]]:
    """Profile this thread from now on; return a function that tells the figures."""
    profile = cProfile.Profile()
    profile.enable()

    def tell() -> dict[str, Any]:
        profile.disable()
        stats: Any = pstats.Stats(profile)
        own, whole = dict[str, float](), dict[str, float]()
        for (file, _line, function), (_, n_calls, own_s, whole_s, _) in stats.stats.items():
            if n_calls >= N_CALLS:
                name = f"{name_of(file, function)} ({n_calls} calls)"
                own[name], whole[name] = (each / stats.total_tt * 100 for each in (own_s, whole_s))
        return {"own_percent": dict(most(own)), "percent_with_callees": dict(most(whole))}

    return tell


def name_of(file: str, function: str) -> str:
    """Function with its file: below this repository, or the last two parts of its path."""
    path = Path(file)
    if path.is_relative_to(ROOT / "pygent_ls"):
        return f"{path.relative_to(ROOT)}:{function}"
    return f"{'/'.join(path.parts[-2:])}:{function}"


if __name__ == "__main__":
    main()
