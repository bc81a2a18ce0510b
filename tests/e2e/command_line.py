"""The real command in a child process, with a home of its own; without a terminal, or on one."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import termios
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from tests.e2e.warm_command import WarmProcess, can_be_warm, run_warm, start_warm, start_warm_on

WAIT_S = 40.0
"""Longest wait for anything: a loaded machine takes seconds to start the command."""

COMMAND = (sys.executable, "-m", "pygent_ls")

TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Makes standard input the session's terminal, so that Ctrl-C on it is a signal, and becomes the command."""


def clean_environment(home: Path, **extra: str) -> dict[str, str]:
    """A fresh home, no setting and no key of whoever runs the tests."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYGENT_", "XDG_", "OPENAI_", "ANTHROPIC_", "PYTHON", "LC_"))
        and not name.endswith("_API_KEY")
    }
    kept.pop("NO_COLOR", None)
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # a sample project needs none of ours, and they take a second
        "PYGENT_SANDBOX": "off",  # tests look at commands from outside their workspace
        **extra,
    }


def run_for_nobody(*arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the command with a standard output whose reader is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [*COMMAND, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
    finally:
        os.close(writing)


def script(folder: Path, *answers: Mapping[str, Any]) -> str:
    """The name of a model that gives these answers."""
    handle, name = tempfile.mkstemp(suffix=".jsonl", dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(answer) + "\n" for answer in answers)
    return f"scripted:{name}"


def tool(name: str, **given: Any) -> dict[str, Any]:
    """An answer that calls one tool."""
    return {"tool_calls": [{"name": name, "input": given}]}


def run(
    *arguments: str, environment: Mapping[str, str], cwd: Path | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; no stream of it is a terminal."""
    if can_be_warm(arguments, environment):
        return run_warm(arguments, environment, cwd, stdin, WAIT_S)
    return subprocess.run(
        [*COMMAND, *arguments],
        input=stdin,
        cwd=cwd,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
        start_new_session=True,
    )


def start(*arguments: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes] | WarmProcess:
    """Start the command with three pipes, as the leader of a session."""
    if can_be_warm(arguments, environment):
        return start_warm(arguments, environment, None, leads_session=True)
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        start_new_session=True,
    )


class OnTerminal:
    """The command on a pseudo terminal, and the person in front of it."""

    def __init__(self, screen: int, process: subprocess.Popen[bytes] | WarmProcess) -> None:
        self._screen = screen
        self.process = process
        self._shown = b""
        self.has_echoed = False
        """Whether the terminal itself took keys, and showed them, when something came on the screen."""

    @property
    def seen(self) -> str:
        """What the screen has shown so far, each line ended by a line feed."""
        return self._shown.decode("utf-8", "replace").replace("\r\n", "\n")

    def types(self, text: str) -> None:
        """Press keys; Ctrl-C is \\x03."""
        os.write(self._screen, text.encode())

    def sees(self, text: str, times: int = 1) -> None:
        """Wait until the screen has shown the text so often."""
        deadline = monotonic() + WAIT_S
        while self.seen.count(text) < times:
            assert self._read(deadline), f"the command has ended without {text!r}; the screen shows:\n{self.seen}"

    def shows(self, text: str, within_s: float) -> bool:
        """Whether the screen has shown the text by then."""
        deadline = monotonic() + within_s
        while text not in self.seen:
            ready, _, _ = select.select([self._screen], [], [], max(deadline - monotonic(), 0))
            if not ready or not self._read(deadline + WAIT_S):
                return False
        return True

    def forget(self) -> None:
        """Look at what comes from now on alone."""
        self._shown, self.has_echoed = b"", False

    def echoes(self) -> bool:
        """Whether the terminal shows what is typed."""
        return bool(termios.tcgetattr(self._screen)[3] & termios.ECHO)

    def ends(self) -> int:
        """Wait for the end of the command; its exit code."""
        deadline = monotonic() + WAIT_S
        while self._read(deadline):
            pass
        return self.process.wait(WAIT_S)

    def interrupted(self) -> int:
        """Press Ctrl-C until the command ends, as a person does whose first one came a moment before it listened."""
        for _ in range(20):
            self.types("\x03")
            ready, _, _ = select.select([self._screen], [], [], 1.0)
            while ready and self._read(monotonic() + WAIT_S):
                ready, _, _ = select.select([self._screen], [], [], 1.0)
            if ready:
                break
        return self.process.wait(WAIT_S)

    def _read(self, deadline: float) -> bool:
        """Take what the screen shows next; False when nothing holds the terminal any more."""
        ready, _, _ = select.select([self._screen], [], [], max(deadline - monotonic(), 0))
        assert ready, f"nothing happened for {WAIT_S} s; the screen shows:\n{self.seen}"
        try:
            piece = os.read(self._screen, 65_536)
        except OSError:  # EIO: how Linux tells that the other end is closed
            return False
        self._shown += piece
        self.has_echoed |= self.echoes()
        return bool(piece)


@contextmanager
def on_terminal(
    *arguments: str, environment: Mapping[str, str], command: Sequence[str] = COMMAND, columns: int = 80
) -> Generator[OnTerminal]:
    """Start the command as the leader of a session whose terminal is a new pseudo terminal."""
    screen, programs_end = pty.openpty()
    termios.tcsetwinsize(screen, (24, columns))
    try:
        if command == COMMAND and can_be_warm(arguments, environment):
            process = start_warm_on(programs_end, arguments, environment)
        else:
            process = subprocess.Popen(
                [sys.executable, "-c", TAKE_TERMINAL, *command, *arguments],
                stdin=programs_end,
                stdout=programs_end,
                stderr=programs_end,
                env=dict(environment),
                start_new_session=True,
            )
    finally:
        os.close(programs_end)
    try:
        yield OnTerminal(screen, process)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(WAIT_S)
        os.close(screen)


class Lifeline:
    """Tells when the processes of a command line live, and when the last one is gone: they hold a pipe open."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.command = f"exec 3>{path}; echo up >&3; sleep 300; true"
        """Runs for five minutes, the shell and a child of it."""
        self.stubborn_command = f"trap '' TERM INT; {self.command}"
        """The same, and does not listen when it is told to end."""
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def wait_until_up(self) -> None:
        """Return when they run."""
        assert self._read() == b"up\n"

    def wait_until_gone(self) -> None:
        """Return when none of them lives any more."""
        assert self._read() == b""

    def _read(self) -> bytes:
        ready, _, _ = select.select([self._fd], [], [], WAIT_S)
        assert ready, f"nothing happened for {WAIT_S} s"
        return os.read(self._fd, 100)

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._fd)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
