"""Runs git for the daemon's own stores, without the user's configuration and hooks."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from pygent_ls.errors import SnapshotError
from pygent_ls.file_access import entries_below, open_file, status_of
from pygent_ls.workspace.environment import clean_environment

QUIET: Mapping[str, str] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
"""Variables that prevent unrequested writes, prompts, patterns in place of names, and network access."""

ALONE: Mapping[str, str] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "MALLOC_TRIM_THRESHOLD_": "67108864",
    "MALLOC_TOP_PAD_": "16777216",
}
"""Variables for the daemon's own stores: the user's git configuration is not used. Git allocates and frees memory for
each file; the C library is told to keep it, which halves the time for many files.
"""

PATTERN_FILES = frozenset({".gitignore", ".gitattributes", "exclude", "attributes"})
"""Files that git opens without checking their type: for a named pipe it waits until the other end is opened."""

PATIENCE_S = 1.0
"""Time that a program runs before named pipes are searched for."""

BETWEEN_PIPES_S = 0.005
"""Interval between releases of the pipes found."""

MAX_ENTRIES_SEEN = 200_000
"""Maximum number of directory entries searched for pipes."""


def users_environment(folder: Path) -> dict[str, str]:
    """Return the environment for reading the user's repository, with the user's configuration, which defines ignored
    files.
    """
    return {**_environment(folder), **QUIET}


def own_environment(own: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the environment for a store of the daemon for this folder; `own` locates the store."""
    inherited = {name: value for name, value in _environment(folder).items() if not name.startswith("GIT_")}
    return {**inherited, **QUIET, **ALONE, **own}


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment for the daemon's stores; git runs no other program, and would find none in the folder."""
    return {**clean_environment(os.environ, lambda path: path.is_relative_to(folder)), "PATH": os.defpath}


class SnapshotAbortedError(SnapshotError):
    """Raised if the job was cancelled or took too long, so that an immediate retry is useless."""


class Git:
    """Runs git for one job. Blocking; `abort` may be called from another thread, and ends the job at once.

    Raises `SnapshotError` if a program fails, or if the job takes longer than `timeout_s` in all or was aborted.
    """

    def __init__(self, program: str, *, timeout_s: float) -> None:
        self._program = program
        self._deadline = time.monotonic() + timeout_s
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._aborted = False
        self._pipes: dict[Path, list[Path]] = {}

    def abort(self) -> None:
        """End running programs and start no more."""
        with self._lock:
            self._aborted = True
            for process in self._running:
                process.kill()

    def hurry(self, timeout_s: float) -> None:
        """Reduce the remaining time to this."""
        self._deadline = min(self._deadline, time.monotonic() + timeout_s)

    def close(self) -> None:
        """End all programs that still run; the job is over."""
        with self._lock:
            left = tuple(self._running)
        for process in left:
            process.kill()
            process.communicate()
            self.ended(process)

    def check(self) -> None:
        """Raise `SnapshotError` if the job is over."""
        if self._aborted:
            raise SnapshotAbortedError("it was cancelled")
        if time.monotonic() >= self._deadline:
            raise SnapshotAbortedError("it took too long")

    def run(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        stdin: bytes = b"",
        good: tuple[int, ...] = (0,),
    ) -> bytes:
        """Run `git ARGUMENTS` and return its standard output. `good` are the exit codes of success."""
        return self.start(arguments, cwd=cwd, environment=environment).end(stdin, good)

    def start(self, arguments: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> RunningGit:
        """Start a program that runs beside others."""
        self.check()
        try:
            process = subprocess.Popen(
                [self._program, *arguments],
                cwd=cwd,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except (OSError, ValueError) as error:
            raise SnapshotError(f"git cannot be started: {error}") from None
        with self._lock:
            self._running.add(process)
            if self._aborted:
                process.kill()
        return RunningGit(self, process, cwd)

    def left_s(self) -> float:
        """Return the seconds until the job's time limit."""
        return max(self._deadline - time.monotonic(), 0.0)

    def patience_s(self, folder: Path) -> float:
        """Return the seconds to wait before calling `release_pipes` again."""
        return min(self.left_s(), BETWEEN_PIPES_S if self._pipes.get(folder) else PATIENCE_S)

    def release_pipes(self, folder: Path) -> None:
        """Give programs blocked on a named pipe in place of a pattern file an empty input."""
        if folder not in self._pipes:
            self._pipes[folder] = [path for path in islice(entries_below(folder), MAX_ENTRIES_SEEN) if _is_pipe(path)]
        for path in self._pipes[folder]:
            with contextlib.suppress(OSError):  # the pipe has no reader
                os.close(open_file(path, os.O_WRONLY))

    def ended(self, process: subprocess.Popen[bytes]) -> None:
        """Remove an ended program from the job."""
        with self._lock:
            self._running.discard(process)


class RunningGit:
    """Running git program."""

    def __init__(self, job: Git, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._job = job
        self._process = process
        self._folder = folder

    def end(self, stdin: bytes = b"", good: tuple[int, ...] = (0,)) -> bytes:
        """Send the input, wait for the program and return its output."""
        process = self._process
        try:
            output, errors = self._communicate(stdin)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise SnapshotAbortedError("it took too long") from None
        finally:
            self._job.ended(process)
        self._job.check()
        if process.returncode not in good:
            said = errors.decode("utf-8", "replace").strip().splitlines() or [f"exit code {process.returncode}"]
            raise SnapshotError(f"git said: {said[-1]}")
        return output

    def _communicate(self, stdin: bytes) -> tuple[bytes, bytes]:
        """Return both outputs. Raises `subprocess.TimeoutExpired` at the job's time limit."""
        given: bytes | None = stdin
        while True:
            try:
                return self._process.communicate(given, timeout=self._job.patience_s(self._folder))
            except subprocess.TimeoutExpired:
                if not self._job.left_s():
                    raise
            given = None  # later calls continue sending it
            self._job.release_pipes(self._folder)


def _is_pipe(path: Path) -> bool:
    try:
        return path.name in PATTERN_FILES and stat.S_ISFIFO(status_of(path).st_mode)
    except OSError:
        return False
