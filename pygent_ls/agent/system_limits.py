"""Operating system errors that report an exhausted resource. They are not bugs, and end no program."""

from __future__ import annotations

import errno

_WORDS = {
    errno.EMFILE: "pygent-ls cannot open more files. Start it with a higher limit, such as `ulimit -n 1024`.",
    errno.ENFILE: "The system has too many open files. Close other programs, or raise the system's limit.",
    errno.ENOSPC: "No space is left on the disk. Free some space and try again.",
    errno.EDQUOT: "Your disk quota is used up. Free some space and try again.",
    errno.EAGAIN: "No more processes can be started. Close other programs, or raise the limit (`ulimit -u`).",
    errno.ENOMEM: "The system is out of memory. Close other programs and try again.",
}


def limit_reached(error: BaseException) -> str | None:
    """Return which resource is exhausted and what to do, for the user; None for any other error."""
    if isinstance(error, MemoryError):
        return _WORDS[errno.ENOMEM]
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return _WORDS[errno.EAGAIN]
    if isinstance(error, BlockingIOError) and error.filename is not None:
        return None  # the file is held by another program; an error of a fork names no file
    return _WORDS.get(error.errno or 0) if isinstance(error, OSError) else None
