"""Log file with the data that a bug report needs and that can be shown to others.

All processes of a user append to one file, one atomic write per line. The process that finds the file full renames it,
under a lock that no process waits for; the others notice at their next line that their file has been renamed, and open
the new one. No line is lost or torn, and none waits for another process.
"""

from __future__ import annotations

import faulthandler
import fcntl
import logging
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from pygent_ls.observability.log import Quiet, SafeFormatter

NAME = "pygent-ls.log"

MAX_BYTES = 1_000_000
"""Maximum size of the file, about 8,000 lines. A line written while it becomes full may exceed it."""

N_OLD = 3
"""Number of full files kept, the newest as `pygent-ls.log.1`. Together they take 4 MB, which can still be sent by
mail.
"""

_OWN = "pygent_ls"

log = logging.getLogger(_OWN)


def keep_log_file(path: Path, *, max_bytes: int = MAX_BYTES, n_old: int = N_OLD) -> None:
    """Also write our records from INFO, those of libraries from WARNING, and interpreter crashes to this file. Call
    after `log.set_up`, whose level applies to standard error only.

    If the file cannot be used, a warning says so and logging is otherwise unchanged.
    """
    try:
        handler = LogFile(path, max_bytes=max_bytes, n_old=n_old)
    except OSError as error:
        log.warning("no log file: %s: %s", path, error.strerror or error)
        return
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(min(root.level, logging.WARNING))
    log.setLevel(min(root.level, logging.INFO))


class LogFile(logging.Handler):
    """Handler that appends each record to the file as one write."""

    def __init__(self, path: Path, *, max_bytes: int, n_old: int) -> None:
        """Open the file and create its folder if it is missing. Raises OSError."""
        super().__init__(logging.INFO)
        self._path = path
        self._max_bytes = max_bytes
        self._n_old = n_old
        self._failed = False
        self._held: logging.LogRecord | None = None
        self._is_begun = False
        self.setFormatter(SafeFormatter(details=False, process_id=os.getpid()))
        self.addFilter(Quiet(details=False))
        self._descriptor = _opened(path)
        faulthandler.enable(self._descriptor)

    def emit(self, record: logging.LogRecord) -> None:
        """Append a record; report the first failure to write on standard error.

        The first record is held until the second: an editor is waiting for the daemon at that time, and searching a
        line for keys takes as long as all other logging work.
        """
        if not self._is_begun and record.levelno < logging.WARNING:
            self._held = record
        else:
            self.flush()
            self._append(record)
        self._is_begun = True

    def flush(self) -> None:
        """Append pending records; also called when the interpreter exits."""
        held, self._held = self._held, None
        if held:
            self._append(held)

    def _append(self, record: logging.LogRecord) -> None:
        try:
            self._write(f"{self.format(record)}\n".encode("utf-8", "backslashreplace"))
            self._failed = False
        except OSError as error:
            self._tell(error)

    def _write(self, line: bytes) -> None:
        if self._is_elsewhere():
            self._reopen()
        view = memoryview(line)
        while view:  # a nearly full disk accepts only part of it
            view = view[os.write(self._descriptor, view) :]
        if os.fstat(self._descriptor).st_size > self._max_bytes:
            self._rotate()

    def _is_elsewhere(self) -> bool:
        """Return whether the path now names another file or no file."""
        try:
            named = self._path.stat()
        except OSError:
            return True
        own = os.fstat(self._descriptor)
        return (named.st_ino, named.st_dev) != (own.st_ino, own.st_dev)

    def _reopen(self) -> None:
        old, self._descriptor = self._descriptor, _opened(self._path)
        faulthandler.enable(self._descriptor)
        os.close(old)

    def _rotate(self) -> None:
        with _lock(self._path.with_suffix(".lock")) as is_ours:
            if not is_ours or self._is_elsewhere():
                return  # another process is rotating the file, or has done so
            for number in range(self._n_old, 1, -1):
                with suppress(FileNotFoundError):
                    self._old(number - 1).replace(self._old(number))
            self._path.replace(self._old(1))
            self._reopen()

    def _old(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _tell(self, error: OSError) -> None:
        if self._failed:
            return
        self._failed = True
        text = f"the log file {self._path} cannot be written: {error.strerror or error}"
        told = logging.LogRecord(_OWN, logging.WARNING, __file__, 0, text, None, None)
        for handler in logging.getLogger().handlers:
            if handler is not self:
                handler.handle(told)


def _opened(path: Path) -> int:
    """Open the file for appending, readable by the user only. Raises OSError; a pipe or a device is refused."""
    for folder in (path.parent.parent, path.parent):  # the mode applies to the last one only
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags, 0o600)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError("not a file")
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.fchmod(descriptor, 0o600)
    return descriptor


@contextmanager
def _lock(path: Path) -> Generator[bool]:
    """Try to lock a file; yield whether this succeeded. The lock is released with the process in any case."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _is_taken(descriptor)
    finally:
        os.close(descriptor)


def _is_taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
