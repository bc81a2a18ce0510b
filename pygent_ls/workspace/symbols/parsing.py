"""Parses files in child processes, which can be ended: a hostile file cannot hold up or crash what asks for it.

Only `index_process.py`, which has one thread, uses this: it forks.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pygent_ls.file_access import read_file
from pygent_ls.syntax.languages import LANGUAGES

MAX_FILE_BYTES = 1_000_000
"""Maximum size of a file that is parsed: about half a second."""

MAX_LINE_BYTES = 400
"""Mean length of the lines of a file above which it counts as generated, if it is longer than a few lines."""

MIN_GENERATED_BYTES = 10_000

FILE_S = 5.0
"""Maximum time for one file."""

MAX_PROCESSES = 4

FILES_PER_PROCESS = 8
"""Number of files from which on another process is worth its start."""

PIECE_BYTES = 1_000_000


Parse = Callable[[str, str], Any]
"""Returns what is wanted of a text with a suffix of `LANGUAGES`, as JSON data."""


@dataclass(frozen=True, slots=True)
class Input:
    """File to parse."""

    path: str
    size: int
    text: str | None = None
    """Text in place of the file's."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Outcome for one file."""

    path: str
    result: Any
    """What `Parse` returned; None if the file was not parsed."""


def parse_all(inputs: Sequence[Input], parse: Parse, deadline: float, *, file_s: float = FILE_S) -> Iterator[Parsed]:
    """Parse files, and yield each outcome as it comes. What is not done at the deadline, a time of `time.monotonic`,
    is not yielded. A file that takes longer than `file_s`, or ends its process, is not parsed."""
    n_workers = max(1, min(MAX_PROCESSES, os.cpu_count() or 1, len(inputs) // FILES_PER_PROCESS))
    by_size = sorted(inputs, key=lambda each: -each.size)
    workers = [_Worker.start(by_size[at::n_workers], parse) for at in range(n_workers)]
    try:
        while workers and (now := time.monotonic()) < deadline:
            wait_s = max(0.0, min(deadline, *(each.since + file_s for each in workers)) - now)
            ready, _, _ = select.select([each.pipe for each in workers], [], [], wait_s)
            for worker in tuple(workers):
                is_open = True
                if worker.pipe in ready:
                    is_open = yield from worker.take()
                is_late = time.monotonic() - worker.since >= file_s
                if is_open and not is_late:
                    continue
                workers.remove(worker)
                if worker.current is not None:
                    yield Parsed(worker.current.path, None)
                if rest := worker.end():
                    workers.append(_Worker.start(rest, parse))
    finally:
        for worker in workers:
            worker.end()


@dataclass(slots=True)
class _Worker:
    """Child process with its share of the files."""

    pid: int
    pipe: int
    waiting: list[Input]
    """Files that it has not begun, the next one last."""
    since: float = field(default_factory=time.monotonic)
    """When it began with the current file."""
    current: Input | None = None
    _open: bytes = b""

    @classmethod
    def start(cls, share: Sequence[Input], parse: Parse) -> _Worker:
        """Fork."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(reading)
                _parse_share(share, parse, writing)
            finally:
                os._exit(0)
        os.close(writing)
        return cls(pid, reading, list(share)[::-1])

    def take(self) -> Generator[Parsed, None, bool]:
        """Read what it has written, and return whether it may write more."""
        piece = os.read(self.pipe, PIECE_BYTES)
        *lines, self._open = (self._open + piece).split(b"\n")
        for line in lines:
            self.since = time.monotonic()
            if line == b"":
                self.current = self.waiting.pop()
            elif self.current is not None:
                yield Parsed(self.current.path, json.loads(line))
                self.current = None
        return bool(piece)

    def end(self) -> list[Input]:
        """End it, and return the files that it has not begun."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)
        return self.waiting[::-1]


def _parse_share(share: Sequence[Input], parse: Parse, pipe: int) -> None:
    with os.fdopen(pipe, "wb") as out:
        for each in share:
            out.write(b"\n")  # begun
            out.flush()
            out.write(json.dumps(_parsed(each, parse), separators=(",", ":")).encode() + b"\n")
            out.flush()


def _parsed(given: Input, parse: Parse) -> Any:
    text = given.text
    if text is None:
        try:
            data, _ = read_file(Path(given.path), MAX_FILE_BYTES)
        except OSError:
            return None
        text = text_of(data)
    if text is None or len(text) > MAX_FILE_BYTES:
        return None
    try:
        return parse(text, PurePosixPath(given.path).suffix)
    except (ValueError, RecursionError, MemoryError):
        return None


def text_of(data: bytes) -> str | None:
    """Return the text of a source file; None if it is binary or generated."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:8_000]:
        return None
    if len(data) > MIN_GENERATED_BYTES and len(data) / (data.count(b"\n") + 1) > MAX_LINE_BYTES:
        return None
    return data.decode("utf-8-sig", "replace")


def is_known(path: str) -> bool:
    """Whether the language of a file is known."""
    return PurePosixPath(path).suffix in LANGUAGES
