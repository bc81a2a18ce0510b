"""Standard streams of a process that speaks a protocol on them."""

from __future__ import annotations

import os


def claim_standard_streams() -> tuple[int, int]:
    """Take over file descriptors 0 and 1 for the protocol, and return copies of them.

    Afterwards 0 is empty and 1 is standard error, so that neither a stray `print` nor a child process can read or write
    the wire.
    """
    own_in, own_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return own_in, own_out
