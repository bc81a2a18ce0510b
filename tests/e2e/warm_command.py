"""The command in a process that need not start Python: one that has imported everything is forked for it.

To import what a command needs takes most of its time, and importing does nothing else (a test of the house says so), so
such a process does what the command does. That the command starts by itself is shown by those tests that start it with
`Popen`, and by all that share a daemon.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import termios
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

MAX_JOB_BYTES = 100_000
"""A message of a socket holds twice as much."""

OF_PYTHON = ("PYTHON", "LC_")
"""Variables that the interpreter reads when it starts; `LANG` is another."""

OF_KEYRING = "PYTHON_KEYRING_BACKEND"
"""Variable of a library that only a program of its own imports, although its name begins as theirs."""

T = TypeVar("T")

END_S = 40.0
"""Longest wait for the process that is forked; it waits for nothing."""

LIBRARIES = ("aiohttp", "jsonschema", "platformdirs", "acp.connection", "mcp.server.stdio")
"""What functions of ours import, for most commands, or for some of them and in more than a second."""

STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


class WarmProcess:
    """A command that runs, as `Popen` shows one."""

    def __init__(self, arguments: Sequence[str], status: int, streams: Sequence[IO[bytes] | None]) -> None:
        self.args = ["pygent-ls", *arguments]
        self.stdin, self.stdout, self.stderr = streams
        self.returncode: int | None = None
        self._status = status
        self._asking = threading.Lock()
        self.pid = int.from_bytes(os.read(status, 4), "big")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream is not None:
                with suppress(BrokenPipeError):  # what was not flushed goes nowhere
                    stream.close()
        self.wait()

    @property
    def status(self) -> int:
        """A descriptor that can be read when the process has ended; closed by `wait` and `poll`."""
        return self._status

    def poll(self) -> int | None:
        """The exit code of one that has ended."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code. Raises `subprocess.TimeoutExpired`."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal to the process alone, if it still runs."""
        with self._asking, suppress(ProcessLookupError):
            if self.returncode is None and not self._can_tell(0.0):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout_s: float | None) -> int | None:
        if self.returncode is not None or not self._can_tell(timeout_s):
            return self.returncode
        with self._asking:  # not before, since who waits shall not hold up who ends it
            if self.returncode is None:
                code = os.read(self._status, 4)
                assert code, "what forks the commands has ended"
                self.returncode = int.from_bytes(code, "big", signed=True)
                os.close(self._status)
            return self.returncode

    def _can_tell(self, timeout_s: float | None) -> bool:
        return bool(select.select([self._status], [], [], timeout_s)[0])


def can_be_warm(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """False if Python has options, or if so much could not be passed on."""
    is_told = any(name.startswith(OF_PYTHON) and name != OF_KEYRING for name in environment)
    return not is_told and len(_job(arguments, environment, None)) < MAX_JOB_BYTES


def start_warm(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path | None,
    *,
    leads_session: bool = False,
    umask: int = -1,
) -> WarmProcess:
    """Start it with three pipes. `leads_session`: it gets a session of its own; `umask` as `Popen` takes it."""
    (reads, takes), (out, writes), (problems, tells) = os.pipe(), os.pipe(), os.pipe()
    streams = (os.fdopen(takes, "wb"), os.fdopen(out, "rb"), os.fdopen(problems, "rb"))
    try:
        job = _job(arguments, environment, cwd, leads="session" if leads_session else "", umask=umask)
        status = _begin(job, environment, (reads, writes, tells))
    finally:
        for each in (reads, writes, tells):
            os.close(each)
    return WarmProcess(arguments, status, streams)


def start_warm_on(terminal: int, arguments: Sequence[str], environment: Mapping[str, str]) -> WarmProcess:
    """Start it as the leader of a session with this terminal."""
    job = _job(arguments, environment, None, leads="terminal")
    status = _begin(job, environment, (terminal, terminal, terminal))
    return WarmProcess(arguments, status, (None, None, None))


def start_warm_with(
    streams: Sequence[int],
    arguments: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path,
    script: Path | None = None,
) -> WarmProcess:
    """Start it, or a script, as the leader of a session on these three descriptors, which stay open here."""
    job = _job(arguments, environment, cwd, leads="session", script=str(script or ""))
    status = _begin(job, {"LANG": "C.UTF-8"} if script else environment, streams)
    return WarmProcess(arguments, status, (None, None, None))


def run_warm(
    arguments: Sequence[str], environment: Mapping[str, str], cwd: Path | None, stdin: str, wait_s: float
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, as the leader of a session."""
    process = start_warm(arguments, environment, cwd, leads_session=True)
    assert process.stdin
    assert process.stdout
    assert process.stderr
    with ThreadPoolExecutor(3) as threads, process:
        threads.submit(_feed, process.stdin, stdin.encode())
        read = [threads.submit(_read, each) for each in (process.stdout, process.stderr)]
        try:
            code = process.wait(wait_s)
            said, told = (each.result(wait_s) for each in read)
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(process.args, code, said, told)


def _begin(job: bytes, environment: Mapping[str, str], streams: Sequence[int]) -> int:
    """A descriptor for the process' id, and when it has ended for its exit code: four bytes each."""
    server = _server(environment.get("LANG", ""))
    status, tells = os.pipe()
    try:
        socket.send_fds(server, [job], (*streams, tells))
    finally:
        os.close(tells)
    return status


def _job(arguments: Sequence[str], environment: Mapping[str, str], cwd: Path | None, **more: object) -> bytes:
    job = {"arguments": arguments, "environment": dict(environment), "cwd": str(cwd or Path.cwd()), **more}
    return json.dumps(job).encode()


def _feed(stream: IO[bytes], text: bytes) -> None:
    with suppress(BrokenPipeError), stream:  # it does not read to the end
        stream.write(text)


def _read(stream: IO[bytes]) -> str:
    return stream.read().decode().replace("\r\n", "\n").replace("\r", "\n")


@cache
def _server(language: str) -> socket.socket:
    """The other end of what has imported everything; it ends when this one is closed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OF_PYTHON)}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            cwd=Path(__file__).parents[2],
            env={**environment, "LANG": language},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        process.wait(END_S)

    atexit.register(end)
    return ours


# In the other process


def serve(descriptor: int) -> None:
    """Fork for each job, and tell of each process when it has ended."""
    _prepare()
    gc.freeze()  # what is never looked at stays shared
    with socket.socket(fileno=descriptor) as asked, selectors.DefaultSelector() as ready:
        ready.register(asked, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.data is not None:
                    ready.unregister(key.fd)
                    os.close(key.fd)
                    key.data()
                elif not _take_job(asked, ready):
                    return


def _prepare() -> None:
    """Import everything, and fill what modules keep: what the protocol's types and the tools look like."""
    import pygent_ls

    for module in pkgutil.walk_packages(pygent_ls.__path__, "pygent_ls."):
        if not module.name.endswith("__main__") and ".sample" not in module.name:
            import_module(module.name)
    for name in LIBRARIES:
        import_module(name)

    from pydantic import BaseModel

    from pygent_ls.agent.tools.tool import ToolRegistry
    from pygent_ls.tools.catalog import offered_tools

    for model in _subclasses(BaseModel):
        if model.__module__.startswith("pygent_ls.") and not model.__pydantic_complete__:
            model.model_rebuild()
    ToolRegistry(offered_tools(has_folder=True, shell_timeout_s=10.0)).list_definitions()


def _subclasses(kind: type[T]) -> Iterator[type[T]]:
    """Yield the subclasses of a class, and theirs."""
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def _take_job(asked: socket.socket, ready: selectors.BaseSelector) -> bool:
    message, descriptors, _, _ = socket.recv_fds(asked, 2 * MAX_JOB_BYTES, 4)
    if not message:
        return False
    *streams, status = descriptors
    child = os.fork()
    if not child:
        _become(json.loads(message), streams)
    for each in streams:
        os.close(each)
    os.write(status, child.to_bytes(4, "big"))
    ready.register(os.pidfd_open(child), selectors.EVENT_READ, partial(_tell_end, child, status))
    return True


def _tell_end(child: int, status: int) -> None:
    _, ended = os.waitpid(child, 0)
    with suppress(BrokenPipeError):  # the parent no longer waits
        os.write(status, os.waitstatus_to_exitcode(ended).to_bytes(4, "big", signed=True))
    os.close(status)


def _become(job: dict[str, Any], streams: Sequence[int]) -> None:
    """Never returns."""
    code: object = 1
    try:
        if job["leads"]:
            os.setsid()
        for number, each in enumerate(streams):
            os.dup2(each, number)
        os.closerange(3, 256)
        if job["leads"] == "terminal":
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for name, mode in STREAMS:  # those that there were are of other files
            was = getattr(sys, name)
            in_lines = name == "stderr" or os.isatty(was.fileno())
            opened = os.fdopen(was.fileno(), mode, 1 if in_lines else -1, encoding=was.encoding, errors=was.errors)
            setattr(sys, name, opened)
        if job.get("umask", -1) >= 0:
            os.umask(job["umask"])
        os.chdir(job["cwd"])
        os.environ.clear()
        os.environ.update(job["environment"])

        if script := job.get("script"):
            sys.argv = [script, *job["arguments"]]
            runpy.run_path(script, run_name="__main__")
        else:
            from pygent_ls.cli.main import main

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
