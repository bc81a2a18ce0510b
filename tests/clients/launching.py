"""`pygent-ls` as a program that an editor starts, without the third of a second that Python takes to import it; and
scripts that import large libraries.

The program hands its streams, its arguments and its environment to the process of the tests, which has a warm one take
them over (`tests.e2e.warm_command`), and lives as long as that does. What the editor sees is what it would see of the
command itself: a process, three pipes, an exit code.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.clients.waiting import WAIT_S
from tests.e2e.warm_command import start_warm_with

PROGRAM = """\
#!{python} -IS
import json, os, signal, socket, sys

job = json.dumps({{"arguments": sys.argv[1:], "environment": dict(os.environ), "cwd": os.getcwd()}}).encode()
to = socket.socket(socket.AF_UNIX)
to.connect({address!r})
socket.send_fds(to, [len(job).to_bytes(4, "big")], [0, 1, 2])
to.sendall(job)
process = int.from_bytes(to.recv(4), "big")
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda given, _: os.kill(process, given))
null = os.open(os.devnull, os.O_RDWR)
for each in (0, 1, 2):
    os.dup2(null, each)
code = int.from_bytes(to.recv(4) or b"\\0\\0\\0\\x01", "big", signed=True)
os._exit(code if code >= 0 else 128 - code)
"""


@contextmanager
def daemon_program(folder: Path) -> Generator[Path]:
    """A folder for PATH that holds `pygent-ls`, which can be started while inside."""
    programs = folder / "programs"
    programs.mkdir()
    with _program(programs / "pygent-ls", folder):
        yield programs


@cache
def script_program(script: Path) -> Path:
    """A program that runs a Python script, until the tests end.

    A signal that is not caught ends the program and not the script: tests of such ends start the script itself.
    """
    stack = ExitStack()
    atexit.register(stack.close)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ps-")))
    program = folder / script.stem
    stack.enter_context(_program(program, folder, script))
    return program


@contextmanager
def _program(program: Path, folder: Path, script: Path | None = None) -> Generator[None]:
    address = str(folder / "s")  # short: a socket's path has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        program.write_text(PROGRAM.format(python=sys.executable, address=address), encoding="utf-8")
        program.chmod(0o755)
        threads: list[threading.Thread] = []
        taking = threading.Thread(target=_take_all, args=(listening, threads, script), daemon=True)
        taking.start()
        try:
            yield
        finally:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            taking.join(WAIT_S)
            for each in threads:
                each.join(WAIT_S)


def _take_all(listening: socket.socket, threads: list[threading.Thread], script: Path | None) -> None:
    while True:
        try:
            asked, _ = listening.accept()
        except OSError:
            return
        threads.append(threading.Thread(target=_serve, args=(asked, script), daemon=True))
        threads[-1].start()


def _serve(asked: socket.socket, script: Path | None) -> None:
    with asked:
        header, streams, _, _ = socket.recv_fds(asked, 4, 3)
        if len(streams) != 3:
            return
        job = _job(asked, int.from_bytes(header, "big"))
        environment = _environment(job["environment"])
        process = start_warm_with(streams, job["arguments"], environment, Path(job["cwd"]), script)
        for each in streams:
            os.close(each)
        with process, suppress(BrokenPipeError, ConnectionResetError):  # the editor may have killed who waits
            asked.sendall(process.pid.to_bytes(4, "big"))
            asked.sendall(process.wait(WAIT_S * 10).to_bytes(4, "big", signed=True))


def _job(asked: socket.socket, size: int) -> dict[str, Any]:
    with asked.makefile("rb") as file:
        return json.loads(file.read(size))


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in given.items() if name not in {"LC_CTYPE"}}
