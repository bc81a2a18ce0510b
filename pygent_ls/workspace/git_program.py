"""The git program, run for the daemon's own stores: nothing of the user's configuration has a say, and no hook runs."""

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
"""No write that was not asked for, no question, no pattern where a name is meant, no network."""

ALONE: Mapping[str, str] = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "MALLOC_TRIM_THRESHOLD_": "67108864",
    "MALLOC_TOP_PAD_": "16777216",
}
"""For the daemon's own stores: what the user configured for theirs does not count. Git takes and gives back memory for
each file; the C library is to keep it, which halves the time of many files."""

PATTERN_FILES = frozenset({".gitignore", ".gitattributes", "exclude", "attributes"})
"""Names of files that git opens without a look at their kind: it waits for the other end of a named pipe."""

PATIENCE_S = 1.0
"""How long a program runs before named pipes are looked for."""

BETWEEN_PIPES_S = 0.005
"""How often pipes that were found are released."""

MAX_ENTRIES_SEEN = 200_000
"""Number of directory entries among which pipes are looked for."""


def users_environment(folder: Path) -> dict[str, str]:
    """For looking at the user's repository: with their configuration, since that says what is ignored."""
    return {**_environment(folder), **QUIET}


def own_environment(own: Mapping[str, str], folder: Path) -> dict[str, str]:
    """For a store of the daemon for this folder; `own` says where it is."""
    inherited = {name: value for name, value in _environment(folder).items() if not name.startswith("GIT_")}
    return {**inherited, **QUIET, **ALONE, **own}


def _environment(folder: Path) -> dict[str, str]:
    """Git runs no other program for the daemon's stores, and would find none in the folder."""
    return {**clean_environment(os.environ, lambda path: path.is_relative_to(folder)), "PATH": os.defpath}


class SnapshotAbortedError(SnapshotError):
    """The job was cancelled, or took too long: trying again at once is no use."""


class Git:
    """Runs git for one job. Blocking; `abort` may be called from another thread, and ends the job at once.

    Raises `SnapshotError` where a program fails, where the job takes longer than `timeout_s` in all, or was aborted.
    """

    def __init__(self, program: str, *, timeout_s: float) -> None:
        self._program = program
        self._deadline = time.monotonic() + timeout_s
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._aborted = False
        self._pipes: dict[Path, list[Path]] = {}

    def abort(self) -> None:
        """End what runs, and start nothing more."""
        with self._lock:
            self._aborted = True
            for process in self._running:
                process.kill()

    def hurry(self, timeout_s: float) -> None:
        """Take no longer than this from now on."""
        self._deadline = min(self._deadline, time.monotonic() + timeout_s)

    def close(self) -> None:
        """End what still runs; the job is over."""
        with self._lock:
            left = tuple(self._running)
        for process in left:
            process.kill()
            process.communicate()
            self.ended(process)

    def check(self) -> None:
        """Raises `SnapshotError` where the job is over."""
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
        """Standard output of `git ARGUMENTS`, once it has ended with one of the `good` exit codes."""
        return self.start(arguments, cwd=cwd, environment=environment).end(stdin, good)

    def start(self, arguments: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> RunningGit:
        """Start a program, to run beside others."""
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
        """Seconds until the job's time is over."""
        return max(self._deadline - time.monotonic(), 0.0)

    def patience_s(self, folder: Path) -> float:
        """Seconds to wait before `release_pipes` is called again."""
        return min(self.left_s(), BETWEEN_PIPES_S if self._pipes.get(folder) else PATIENCE_S)

    def release_pipes(self, folder: Path) -> None:
        """Let programs that wait for a named pipe in place of a file of patterns find it empty."""
        if folder not in self._pipes:
            self._pipes[folder] = [path for path in islice(entries_below(folder), MAX_ENTRIES_SEEN) if _is_pipe(path)]
        for path in self._pipes[folder]:
            with contextlib.suppress(OSError):  # nobody waits for it
                os.close(open_file(path, os.O_WRONLY))

    def ended(self, process: subprocess.Popen[bytes]) -> None:
        """A program is over."""
        with self._lock:
            self._running.discard(process)


class RunningGit:
    """A program that runs."""

    def __init__(self, job: Git, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._job = job
        self._process = process
        self._folder = folder

    def end(self, stdin: bytes = b"", good: tuple[int, ...] = (0,)) -> bytes:
        """Feed it, wait for it, and return what it wrote."""
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
        """Both outputs. Raises `subprocess.TimeoutExpired` where the job's time is over."""
        given: bytes | None = stdin
        while True:
            try:
                return self._process.communicate(given, timeout=self._job.patience_s(self._folder))
            except subprocess.TimeoutExpired:
                if not self._job.left_s():
                    raise
            given = None  # it is sent to its end by the calls that follow
            self._job.release_pipes(self._folder)


def _is_pipe(path: Path) -> bool:
    try:
        return path.name in PATTERN_FILES and stat.S_ISFIFO(status_of(path).st_mode)
    except OSError:
        return False
