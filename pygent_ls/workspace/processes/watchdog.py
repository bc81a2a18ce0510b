"""Ends the daemon's child processes when the daemon ends, even if it was killed with SIGKILL."""

from __future__ import annotations

import contextlib
import os
import subprocess
import weakref
from collections.abc import Callable

from pygent_ls.agent.system_limits import limit_reached
from pygent_ls.errors import ToolError

SCRIPT = """
trap '' HUP INT TERM
groups=
while read -r change group; do
    kept=
    for each in $groups; do
        [ "$each" = "$group" ] || kept="$kept $each"
    done
    groups=$kept
    [ "$change" = - ] || groups="$groups $group"
done
for each in $groups; do
    kill -s KILL -- "-$each" 2>/dev/null
done
"""
"""Script that tracks process groups; the end of its input means the end of the daemon. It uses only sh builtins, so it
takes hardly any memory and starts in a millisecond.
"""

ENDING_S = 1.0
"""Maximum time for it to notice the end of its input."""


class Watchdog:
    """Separate process that holds a pipe to the daemon, started with the first program.

    The kernel closes the pipe however the daemon ends. A program started in the last moment may be missed, since it is
    registered right after its start.
    """

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._pipe: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._let_go: Callable[[], object] | None = None

    def start(self) -> None:
        """Start the watchdog if it does not run yet. Raises `ToolError`, since no program may run unwatched."""
        if self._pipe is None:
            try:
                self._pipe = self._started()
            except OSError as error:
                why = limit_reached(error) or f"{error.strerror}."
                raise ToolError(f"Programs cannot be started now: {why}") from None

    def watch(self, group: int) -> None:
        """End this process group with the daemon."""
        self._groups.add(group)
        self._tell("+", group)

    def forget(self, group: int) -> None:
        """Remove an ended group, whose number may soon be reused."""
        self._groups.discard(group)
        self._tell("-", group)

    def _tell(self, change: str, group: int) -> None:
        if self._pipe is None:
            return
        try:
            os.write(self._pipe, f"{change} {group}\n".encode())
        except (BrokenPipeError, BlockingIOError):  # it was killed or stopped
            self._replace()

    def _replace(self) -> None:
        if self._process is not None and self._let_go is not None:
            self._process.kill()  # a merely stopped one would end programs that still run
            self._let_go()
        self._pipe = self._started()
        for group in self._groups:
            os.write(self._pipe, f"+ {group}\n".encode())

    def _started(self) -> int:
        reading, writing = os.pipe()
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", SCRIPT],
                cwd="/",
                env={},
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        os.set_blocking(writing, False)
        self._process = process
        self._let_go = weakref.finalize(self, _close, writing, process)
        return writing


def _close(pipe: int, process: subprocess.Popen[bytes]) -> None:
    os.close(pipe)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(ENDING_S)
