"""Which errors mean that the system ran out of something."""

from __future__ import annotations

import errno
import os

import pytest

from pygent_ls.agent.system_limits import limit_reached


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "notes.txt"), "No space is left on the disk."),
        (BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "No more processes can be started."),
        (RuntimeError("can't start new thread"), "No more processes can be started."),
        (MemoryError(), "The system is out of memory."),
    ],
)
def test_a_limit_is_named_with_what_to_do(error: BaseException, said: str) -> None:
    assert (limit_reached(error) or "").startswith(said)


def test_a_file_that_another_program_holds_is_no_limit_of_processes() -> None:
    # as `open` raises it while a file server holds a lease on the file
    assert limit_reached(BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), "leased.txt")) is None
