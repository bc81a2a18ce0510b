"""Measures the resources that a command's processes use, and ends them at the limit.

Kernel limits apply per process (memory), or not to root (number of processes), and the daemon can rarely create control
groups: so the processes are counted from outside while the command runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from pygent_ls.workspace.sandbox.sandbox import Resources

FIRST_LOOK_S = 0.25
"""Time before the first check; most commands have ended by then."""

MAX_LOOK_S = 1.0

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


async def hold(pid: int, resources: Resources) -> str:
    """Check the resources of a process and its descendants until they exceed a limit; end them, and return the reason
    in a sentence.
    """
    wait_s = FIRST_LOOK_S
    shared_before = _shared_by_all()
    while True:
        await asyncio.sleep(wait_s)
        if reason := await asyncio.to_thread(_end_if_too_much, pid, resources, shared_before):
            return reason
        wait_s = min(wait_s * 1.5, MAX_LOOK_S)


def _end_if_too_much(pid: int, resources: Resources, shared_before: int) -> str:
    family, resident = _family(pid)
    reason = ""
    if len(family) > resources.processes:
        reason = f"The command was stopped: it had more than {resources.processes} processes at once."
    elif (
        resident + _shared_by_all() - shared_before > resources.memory_bytes
        and sum(map(_own_memory, family)) + _in_no_process(family) > resources.memory_bytes
    ):
        reason = f"The command was stopped: it used more than {resources.memory_bytes // 1_048_576} MB of memory."
    if reason:
        for first in family[1:2]:  # the first in its namespace; the kernel ends all others with it
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(first, signal.SIGKILL)
    return reason


def _family(pid: int) -> tuple[list[int], int]:
    """Return a process and its descendants, parents first, and their total memory in bytes; shared memory counts for
    each.
    """
    children: dict[int, list[int]] = {}
    memory: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        name = entry.name
        if name.isdecimal():
            with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(name))
                memory[int(name)] = int(fields[21]) * PAGE_BYTES
    family = [pid]
    for each in family:  # the list grows
        family += children.get(each, ())
    return family, sum(memory.get(each, 0) for each in family)


def _own_memory(pid: int) -> int:
    """Return the memory of a process in bytes, including its share of shared memory."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def _shared_by_all() -> int:
    """Return the machine's memory in memory-backed files, in bytes."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/meminfo").read_text("ascii").partition("Shmem:")[2].split()[0]) * 1024
    return 0


def _in_no_process(family: Sequence[int]) -> int:
    """Return a command's memory in memory-backed files, in bytes: in `/dev/shm`, or open without a name."""
    sizes: dict[int, int] = {}
    in_memory = 0
    for pid in family[1:]:
        folder = Path(f"/proc/{pid}")
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for entry in (folder / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if os.fspath(entry.readlink()).startswith("/memfd:"):
                        status = entry.stat()
                        sizes[status.st_ino] = status.st_blocks * 512
            if pid != family[1]:  # bubblewrap's own
                used = os.statvfs(folder / "root" / "dev")
                in_memory = max(in_memory, (used.f_blocks - used.f_bfree) * used.f_frsize)
    return in_memory + sum(sizes.values())
