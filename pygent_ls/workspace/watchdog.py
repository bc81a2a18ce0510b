"""Ends what the daemon started when the daemon itself is gone, also when it was killed with SIGKILL."""

from __future__ import annotations

import contextlib
import os
import subprocess
import weakref
from collections.abc import Callable

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
"""Keeps a list of process groups; the end of its input is the end of the daemon. Nothing but what every sh has built
in, so it takes no memory worth counting and starts in a millisecond."""

ENDING_S = 1.0
"""For it to notice that its input has ended."""


class Watchdog:
    """A process of its own that holds a pipe to the daemon, started with the first program.

    The kernel closes the pipe whatever way the daemon ends. A program that was started within the last moment
    (it is told of right after it started) may be missed.
    """

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._pipe: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._let_go: Callable[[], object] | None = None

    def start(self) -> None:
        """Start it where it does not run yet. Raises `ToolError`: nothing shall run unwatched."""
        if self._pipe is None:
            try:
                self._pipe = self._started()
            except OSError as error:
                raise ToolError(f"Programs cannot be started now: {error.strerror}.") from None

    def watch(self, group: int) -> None:
        """This process group is to end with the daemon."""
        self._groups.add(group)
        self._tell("+", group)

    def forget(self, group: int) -> None:
        """This group is gone; its number may be another's soon."""
        self._groups.discard(group)
        self._tell("-", group)

    def _tell(self, change: str, group: int) -> None:
        if self._pipe is None:
            return
        try:
            os.write(self._pipe, f"{change} {group}\n".encode())
        except (BrokenPipeError, BlockingIOError):  # somebody killed it, or stopped it
            self._replace()

    def _replace(self) -> None:
        if self._process is not None and self._let_go is not None:
            self._process.kill()  # one that is only stopped would end what still runs
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
