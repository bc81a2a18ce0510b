"""A program that swaps two paths in a tight loop, as a command in the background could."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

_SWAP = """
import ctypes, os, sys

one, other = sys.argv[1:]
libc = ctypes.CDLL(None)

def swap():
    if sys.platform == "linux":  # in one step, so that neither is ever missing
        assert libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0
        return
    os.rename(one, one + ".away")
    os.rename(other, one)
    os.rename(one + ".away", other)

parent = os.getppid()
print("ready", flush=True)
while os.getppid() == parent:
    for _ in range(2_000):
        swap()
"""


@contextlib.contextmanager
def swapping(one: Path, other: Path) -> Generator[None]:
    """Swap what stands at the two paths, without a pause, until the block ends."""
    command = [sys.executable, "-c", _SWAP, str(one), str(other)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield
            assert process.poll() is None
        finally:
            process.kill()
