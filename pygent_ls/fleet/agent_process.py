"""The agent of one attempt: `pygent-ls run` in a process group that ends with this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from pygent_ls.errors import FleetError, ToolError
from pygent_ls.workspace.processes.watchdog import Watchdog

GATE = 'read -r go || exit 1; prompt=$1; shift; exec "$@" <"$prompt"'
"""Script that waits until its group is watched, then becomes the agent. If its parent ends before that, so does it."""

TERMINATE_S = 10.0
"""Time between SIGTERM, at which the agent ends what it has started and writes its result, and SIGKILL."""

POLL_S = 0.1
"""Interval at which a request to stop is noticed."""

MAX_LOG_LINES = 5
"""Maximum number of lines of the log that an error quotes."""

MAX_LOG_BYTES = 4_000

Stop = Literal["ended", "stopped", "timed out"]


class DeniedTool(Struct, frozen=True, kw_only=True):
    """Tool call that was denied permission."""

    tool_name: str


class RunResult(Struct, frozen=True, kw_only=True):
    """The line that `pygent-ls run --output-format json` prints (docs/scripts.md)."""

    subtype: str
    result: str
    num_turns: int = 0
    total_cost_usd: float | None = None
    session_id: str | None = None
    permission_denials: tuple[DeniedTool, ...] = ()


class AgentEnd(Struct, frozen=True, kw_only=True):
    """How the agent ended."""

    stop: Stop
    exit_code: int
    """Negative: the number of the signal."""
    result: RunResult | None
    """None if it printed none."""
    log_end: str
    """Last lines that it wrote to standard error."""
    duration_s: float


def run_agent(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    timeout_s: float | None,
    stopped: threading.Event,
) -> AgentEnd:
    """Run `pygent-ls run ARGUMENTS` to its end, until `stopped` is set, or for `timeout_s` at most. Blocking.

    `folder` has the prompt in a file `prompt`; the agent's outputs go to `answer.json` and `log.txt` there. The agent
    and all that it started end with this call, and with this process. Raises `FleetError` if it cannot be started.
    """
    began_s = time.monotonic()
    watchdog = Watchdog()
    command = [sys.executable, "-P", "-m", "pygent_ls", "run", "-", *arguments]
    with (folder / "answer.json").open("wb") as answer, (folder / "log.txt").open("wb") as log:
        try:
            watchdog.start()
            process = subprocess.Popen(
                ["/bin/sh", "-c", GATE, "sh", str(folder / "prompt"), *command],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=answer,
                stderr=log,
                start_new_session=True,
            )
        except (OSError, ToolError) as error:
            raise FleetError(f"The agent cannot be started: {error}") from None
    try:
        watchdog.watch(process.pid)
        _open_gate(process)
        stop = _wait(process, None if timeout_s is None else began_s + timeout_s, stopped)
    finally:
        _end(process)
        watchdog.forget(process.pid)
    return AgentEnd(
        stop=stop,
        exit_code=process.returncode,
        result=_result(folder / "answer.json"),
        log_end=_log_end(folder / "log.txt"),
        duration_s=time.monotonic() - began_s,
    )


def _open_gate(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as gate:  # it was killed
        gate.write(b"go\n")


def _wait(process: subprocess.Popen[bytes], until_s: float | None, stopped: threading.Event) -> Stop:
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL_S)
            return "ended"
        is_late = until_s is not None and time.monotonic() >= until_s
        if (stopped.is_set() or is_late) and process.poll() is None:  # it may have ended while this process stood still
            return "timed out" if is_late else "stopped"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the group: first the agent, which ends the commands that it runs in groups of their own."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(TERMINATE_S)
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _result(file: Path) -> RunResult | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=RunResult)
    except (OSError, msgspec.DecodeError):  # it was killed before, or while, it wrote its result
        return None


def _log_end(file: Path) -> str:
    with file.open("rb") as log:
        log.seek(max(log.seek(0, os.SEEK_END) - MAX_LOG_BYTES, 0))
        lines = log.read().decode("utf-8", "replace").split("\n")
    return "\n".join([each for each in lines if each.strip()][-MAX_LOG_LINES:])
