"""What a test sees of a folder, and programs that tests run beside themselves."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

from pygent_ls.agent.ports.workspace import EditPlan, FileOperation


def plan(*operations: FileOperation) -> EditPlan:
    """A plan of these operations."""
    return EditPlan(label="test", operations=operations, result="done")


def snapshot(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Everything below a folder: its kind and mode, and its bytes or where a link leads."""
    found: dict[str, tuple[str, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = b""
        if stat.S_ISLNK(status.st_mode):
            content = os.fsencode(path.readlink())
        elif stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        found[str(path.relative_to(folder))] = (stat.filemode(status.st_mode), content)
    return found


def share_file_system(one: Path, other: Path) -> bool:
    """Whether a rename from one folder to the other is possible."""
    return one.stat().st_dev == other.stat().st_dev


UNPRIVILEGED = """
import os
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
"""
"""Drop root's privileges, which would allow every write. Placed behind the script's imports."""


def run_script(script: str, *arguments: str) -> str:
    """Run a Python script in a process of its own and return what it printed; it must end well."""
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
