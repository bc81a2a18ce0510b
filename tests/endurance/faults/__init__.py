"""Faults at every boundary of a real daemon, each a function with a name.

After each fault nothing is lost that was confirmed, an error says what was wrong, nothing hangs, and the daemon goes
on.

usage: python -m tests.endurance.faults [NAME…]
"""

from __future__ import annotations

import asyncio
import tempfile
import time
import traceback
from collections.abc import Callable, Coroutine, Sequence
from importlib import import_module
from pathlib import Path

Fault = Callable[[Path], Coroutine[None, None, None]]
"""Does the fault to a daemon in an empty folder, and checks what must be true. Raises AssertionError, among others."""

BOUNDARIES = ("disk", "state", "clock", "model", "lines", "signals", "processes", "limits", "reading", "size")
"""Modules, each with `FAULTS`, and with `LONG` for those that take long or need what is not everywhere. `LACKS` says
why those of a module cannot be done."""


def faults(*, has_long: bool) -> list[Fault]:
    """All faults, in their order."""
    found: list[Fault] = []
    for name in BOUNDARIES:
        module = import_module(f"{__name__}.{name}")
        found += [*module.FAULTS, *(getattr(module, "LONG", ()) if has_long else ())]
    return found


def name_of(fault: Fault) -> str:
    """The boundary and the name of a fault."""
    return f"{fault.__module__.rpartition('.')[2]}.{fault.__name__}"


def main(hours: float = 0.0, names: Sequence[str] = ()) -> bool:
    """Do every fault once, and again until the time is over; returns whether everything was true."""
    ends_s = time.monotonic() + hours * 3600
    failed: set[str] = set()
    n_done = 0
    for boundary in BOUNDARIES:
        if lacks := getattr(import_module(f"{__name__}.{boundary}"), "LACKS", ""):
            print(f"NOT DONE  {boundary}: {lacks}", flush=True)
    wanted = {name_of(each): each for each in faults(has_long=True)}
    if names:
        wanted = {name: each for name, each in wanted.items() if any(part in name for part in names)}
    while wanted and (n_done == 0 or time.monotonic() < ends_s):
        for name, fault in wanted.items():
            began_s = time.monotonic()
            error = run(fault)
            print(f"{'ok' if error is None else 'FAILED'}  {name}  {time.monotonic() - began_s:.1f} s", flush=True)
            if error is not None:
                failed.add(name)
                print("".join(traceback.format_exception(error, limit=-3))[:3000], flush=True)
            n_done += 1
    print(f"{n_done} faults, {len(failed)} failed {sorted(failed)}")
    return n_done > 0 and not failed


def run(fault: Fault) -> Exception | None:
    """Do one in an empty folder."""
    with tempfile.TemporaryDirectory(prefix="pygent-fault-", ignore_cleanup_errors=True) as folder:
        try:
            asyncio.run(_done(fault, Path(folder).resolve()))
        except Exception as error:
            return error
    return None


async def _done(fault: Fault, folder: Path) -> None:
    await fault(folder)
