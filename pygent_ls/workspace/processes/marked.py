"""Processes that are known by a variable in their environment: all that a program has started, in whatever group."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pygent_ls.workspace.processes.child import TERMINATE_S

PROCESSES = Path("/proc")

POLL_S = 0.02
"""Interval between searches while the processes are given time to end."""

N_LOOKS = 5
"""Number of looks at a process without an environment: it has none for a moment while it runs another program."""

LOOK_AGAIN_S = 0.003
"""Interval between these looks."""

MAX_ROUNDS = 20
"""Maximum number of searches: a process can start another one between the search and its end."""


def end_marked(name: str, value: str) -> None:
    """End every process whose environment has this variable with this value, with SIGTERM, then SIGKILL. Does nothing
    without `/proc`. Blocking.

    A program's children inherit its environment, also in a session and a process group of their own. One that was
    started with an environment of its own (`env -i`) is not found.
    """
    mark = f"{name}={value}".encode()
    asked: set[int] = set()
    until_s = time.monotonic() + TERMINATE_S
    while (found := _found(mark)) and time.monotonic() < until_s:
        _signal(found - asked, signal.SIGTERM)
        asked |= found
        threading.Event().wait(POLL_S)
    for _ in range(MAX_ROUNDS):
        if not found:
            return
        _signal(found, signal.SIGKILL)
        found = _found(mark)


def _signal(processes: Iterable[int], number: signal.Signals) -> None:
    for pid in processes:
        with suppress(OSError):  # it has ended, or belongs to another user
            os.kill(pid, number)


def _found(mark: bytes) -> set[int]:
    """Return the processes that have a mark now."""
    found: set[int] = set()
    left = [int(folder.name) for folder in PROCESSES.glob("[0-9]*") if int(folder.name) != os.getpid()]
    for look in range(N_LOOKS):
        if look:
            threading.Event().wait(LOOK_AGAIN_S)
        empty: list[int] = []
        for pid in left:
            with suppress(OSError):  # it has ended, or belongs to another user
                environment = (PROCESSES / str(pid) / "environ").read_bytes()
                if mark in environment.split(b"\0"):
                    found.add(pid)
                elif not environment:
                    empty.append(pid)
        left = empty
        if found or not left:
            break
    return found
