"""The command in a child process that need not start Python: one that has imported everything is forked for it.

To import what a command needs takes most of its time, and importing does nothing else (a test of the house says so), so
such a child does what the command does. That the command starts by itself, all tests show that use it with `Popen`.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

MAX_JOB_BYTES = 100_000
"""A message of a socket holds twice as much."""

NEEDED = (
    "pygent_ls.cli_run",
    "pygent_ls.cli_sessions",
    "pygent_ls.cli_replay",
    "pygent_ls.app",
    "pygent_ls.app_commands",
    "pygent_ls.app_logging",
    "pygent_ls.app_prompt",
    "pygent_ls.app_sessions",
    "pygent_ls.editors.headless",
    "pygent_ls.editors.scripts.exchange",
    "pygent_ls.extensions.instructions",
    "pygent_ls.llm.http_stream",
    "pygent_ls.llm.openai_model",
    "pygent_ls.llm.scripted_model",
    "pygent_ls.tools.offered",
    "pygent_ls.workspace.background",
)


def run_warm(
    arguments: Sequence[str], environment: Mapping[str, str], cwd: Path | None, stdin: str, wait_s: float
) -> subprocess.CompletedProcess[str] | None:
    """Run it to its end, as the leader of a session. None where it has to be started as ever: for another Python."""
    job = {"arguments": arguments, "environment": environment, "cwd": str(cwd or Path.cwd())}
    message = json.dumps(job, default=list).encode()
    if len(message) > MAX_JOB_BYTES or _for_python(environment) != _for_python(os.environ):
        return None
    server = _server(environment.get("LANG", ""), wait_s)
    server.settimeout(wait_s)
    (reads, takes), (out, writes), (problems, tells) = os.pipe(), os.pipe(), os.pipe()
    theirs = (reads, writes, tells)
    socket.send_fds(server, [message], theirs)
    child = json.loads(server.recv(100))
    for each in theirs:
        os.close(each)
    with ThreadPoolExecutor(3) as threads, os.fdopen(out, "rb") as output, os.fdopen(problems, "rb") as errors:
        threads.submit(_feed, takes, stdin.encode())
        read = [threads.submit(_read, each) for each in (output, errors)]
        try:
            code: int = json.loads(server.recv(100))
        except TimeoutError:
            os.killpg(child, signal.SIGKILL)
            server.recv(100)  # its exit code, which is none of the next one
            raise
        said, told = (each.result(wait_s) for each in read)
    return subprocess.CompletedProcess(["pygent-ls", *arguments], code, said, told)


def _for_python(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(("PYTHON", "LC_"))}


def _feed(descriptor: int, text: bytes) -> None:
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text)
    except BrokenPipeError:  # it does not read to the end
        return


def _read(stream: BinaryIO) -> str:
    return stream.read().decode().replace("\r\n", "\n").replace("\r", "\n")


@cache
def _server(language: str, wait_s: float) -> socket.socket:
    """The other end of what has imported everything; it ends when this one is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "LANG": language},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        process.wait(wait_s)

    atexit.register(end)
    return ours


# In the other process


def serve(descriptor: int) -> None:
    """Fork for each job, one after the other: the child's id is answered, and then its exit code."""
    for name in NEEDED:
        import_module(name)
    with socket.socket(fileno=descriptor) as asked:
        while True:
            message, streams, _, _ = socket.recv_fds(asked, 2 * MAX_JOB_BYTES, 3)
            if not message:
                return
            child = os.fork()
            if not child:
                _become(json.loads(message), streams)
            for each in streams:
                os.close(each)
            asked.send(json.dumps(child).encode())
            _, status = os.waitpid(child, 0)
            asked.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())


def _become(job: dict[str, Any], streams: Sequence[int]) -> None:
    """Never returns."""
    code: object = 1
    try:
        os.setsid()
        for number, each in enumerate(streams):
            os.dup2(each, number)
        os.closerange(3, 256)
        for name, mode in (
            ("stdin", "r"),
            ("stdout", "w"),
            ("stderr", "w"),
        ):  # those that there were are of other files
            was = getattr(sys, name)
            setattr(sys, name, os.fdopen(was.fileno(), mode, 1, encoding=was.encoding, errors=was.errors))
        os.chdir(job["cwd"])
        os.environ.clear()
        os.environ.update(job["environment"])

        from pygent_ls.cli import main

        main(job["arguments"])
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
