"""A client that speaks bytes: for frames that no client library would send, and for processes that end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from time import monotonic
from typing import IO, Any

from pygent_ls.editors.lsp.transport.stdio import read_frame
from tests.e2e.warm_command import WarmProcess, can_be_warm, start_warm

DAEMON = (sys.executable, "-m", "pygent_ls")

PLAIN = {"LANG": "C.UTF-8", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Who runs the tests may have another language, and plugins that a sample project's pytest would load for a second."""

WAIT_S = 50.0
"""Longest wait for anything here: a busy machine starts the daemon in 2 s."""


def clean_environment(home: Path, **extra: str) -> dict[str, str]:
    """A fresh home, no provider's key, and none of the caller's own settings."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), "PYGENT_SANDBOX": "off", **PLAIN, **extra}


def framed(message: object) -> bytes:
    """A message as a frame."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class RawClient:
    """A daemon process, and what it said; a thread reads it unless `reading` is stopped."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path,
        *,
        may_be_warm: bool = True,
        umask: int = -1,
    ) -> None:
        self.process = _started(command, environment, cwd, may_be_warm=may_be_warm, umask=umask)
        self.frames: list[dict[str, Any]] = []
        self.stderr = ""
        self.initialized: Any = None
        """What `initialize` was answered, where whoever made this client has sent it."""
        self._said_more = threading.Condition()
        self._queue: Queue[dict[str, Any] | None] = Queue()
        self._may_read = threading.Event()
        self._may_read.set()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    @property
    def initialized_pygent(self) -> Any:
        """The daemon's own part of that answer."""
        return self.initialized["capabilities"]["experimental"]["pygent"]

    @property
    def stdin(self) -> IO[bytes]:
        """The daemon's standard input."""
        assert self.process.stdin is not None
        return self.process.stdin

    # Sending

    def send_raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.stdin.write(data)
        self.stdin.flush()

    def send(self, message: object) -> None:
        """Send a message."""
        self.send_raw(framed(message))

    def begin(self, id: int | str, method: str, params: object = None) -> None:
        """Send a request."""
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": {} if params is None else params})

    def tell(self, method: str, params: object = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": {} if params is None else params})

    def request(self, id: int | str, method: str, params: object = None) -> Any:
        """Send a request and wait for its answer, result or error."""
        self.begin(id, method, params)
        return self.answer(id)

    def initialize(self, folder: Path | None = None, **params: object) -> Any:
        """The handshake; returns the result of `initialize`."""
        folders = [{"uri": folder.as_uri(), "name": folder.name}] if folder else []
        given: dict[str, Any] = {"processId": None, "rootUri": None, "workspaceFolders": folders, "capabilities": {}}
        result = self.request("initialize", "initialize", given | params)["result"]
        self.tell("initialized")
        return result

    # Receiving

    def until(self, true: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """The first frame, of those that came and those that will, for which this is true."""
        for frame in self.frames:
            if true(frame):
                return frame
        while True:
            try:
                frame = self._queue.get(timeout=WAIT_S)
            except Empty:
                raise TimeoutError(f"nothing more came; the last were {self.frames[-3:]}; {self.stderr}") from None
            if frame is None:
                raise EOFError(f"the daemon closed its output; {self.stderr}")
            self.frames.append(frame)
            if true(frame):
                return frame

    def answer(self, id: int | str | None) -> dict[str, Any]:
        """The answer to a request."""
        return self.until(lambda frame: "method" not in frame and frame["id"] == id)

    def notification(self, method: str) -> Any:
        """The parameters of the first notification of that name."""
        return self.until(lambda frame: frame.get("method") == method)["params"]

    def until_said(self, text: str) -> None:
        """Wait until standard error holds that."""
        with self._said_more:
            if not self._said_more.wait_for(lambda: text in self.stderr, WAIT_S):
                raise TimeoutError(self.stderr)

    def stop_reading(self) -> None:
        """Take nothing more from the pipe, beyond the frame that is on its way."""
        self._may_read.clear()

    def close_output(self) -> None:
        """Read nothing more, and let the daemon know."""
        self.stop_reading()
        self.until_idle()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def read_on(self) -> None:
        """Take the rest."""
        self._may_read.set()

    # The process

    def resident_bytes(self) -> int:
        """Memory that the daemon holds."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def peak_bytes(self) -> int:
        """The most memory that the daemon has ever held."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024

    def until_idle(self) -> None:
        """Wait until the daemon takes no processor time: it has nothing to do, or waits for the client."""
        ends_s = monotonic() + WAIT_S
        before, now = -1, self._cpu_ticks()
        while now != before or self._wants_to_run():
            if monotonic() > ends_s:
                raise TimeoutError("the daemon is busy")
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.3)
            before, now = now, self._cpu_ticks()

    def _wants_to_run(self) -> bool:
        """Whether a thread waits for a processor, which others may take for long, or for a disk."""
        states: list[str] = []
        for each in Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
            with suppress(OSError):  # it has ended
                states.append(each.read_text().rsplit(")", 1)[1].split()[0])
        return "R" in states or "D" in states

    def _cpu_ticks(self) -> int:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    # Ending

    def wait(self, timeout_s: float = WAIT_S) -> int:
        """The exit code. Raises `subprocess.TimeoutExpired`."""
        return self.process.wait(timeout_s)

    def finish(self) -> int:
        """Shut down as an editor does; the exit code."""
        self.request("shutdown", "shutdown", None)
        self.tell("exit")
        return self.wait()

    def kill(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(WAIT_S)
        self.read_on()
        for thread in self._threads:
            thread.join(WAIT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:  # what was not flushed goes nowhere
                    continue

    def _read(self) -> None:
        stream: Any = self.process.stdout
        with suppress(ValueError):  # it was closed
            while isinstance(body := read_frame(stream), bytes):
                self._queue.put(json.loads(body))
                self._may_read.wait()
        self._queue.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._said_more:
                self.stderr += line.decode(errors="replace")
                self._said_more.notify_all()


def _started(
    command: Sequence[str], environment: Mapping[str, str], cwd: Path, *, may_be_warm: bool, umask: int
) -> subprocess.Popen[bytes] | WarmProcess:
    arguments = command[len(DAEMON) :]
    if may_be_warm and tuple(command) == (*DAEMON, *arguments) and can_be_warm(arguments, environment):
        return start_warm(arguments, environment, cwd, umask=umask)
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=cwd,
        umask=umask,
    )


@contextmanager
def raw_client(
    folder: Path,
    *,
    command: Sequence[str] = DAEMON,
    environment: Mapping[str, str] | None = None,
    may_be_warm: bool = True,
    umask: int = -1,
) -> Generator[RawClient]:
    """A daemon that knows nothing yet; its working directory is `folder`, its home lies beside it.

    `may_be_warm`: it need not start Python; see `warm_command`. `umask` as `Popen` takes it.
    """
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    whole = clean_environment(home, **(environment or {}))
    client = RawClient(command, whole, folder, may_be_warm=may_be_warm, umask=umask)
    try:
        yield client
    finally:
        client.kill()
