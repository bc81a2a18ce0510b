"""The log file: who writes into it, how large it grows, and what it holds."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

WAIT_S = 40.0

PROMPT = "please change the colour of the shed"
KEY = "sk-ant-api03-0123456789abcdef"

SET_UP = """
import asyncio, logging, os, sys, threading
from pathlib import Path
from pygent_ls.observability import log
from pygent_ls.observability.log_file import keep_log_file
log.set_up(os.environ)
keep_log_file(Path(sys.argv[1]), max_bytes=int(sys.argv[2]), n_old=int(sys.argv[3]))
ours, other = logging.getLogger("pygent_ls.app"), logging.getLogger("pygls.protocol")
"""


def started(
    code: str, path: Path, *, max_bytes: int = 100_000, n_old: int = 3, **environment: str
) -> subprocess.Popen[str]:
    """A fresh interpreter that logs into this file and does this."""
    arguments = [sys.executable, "-c", SET_UP + code, str(path), str(max_bytes), str(n_old)]
    return subprocess.Popen(
        arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=path.parents[1]
    )


def ran(code: str, path: Path, *, ends_with: int = 0, **environment: str) -> str:
    """The same to its end, with files that it does not fill; what it said on standard error."""
    process = started(code, path, max_bytes=100_000, n_old=3, **environment)
    out, error = process.communicate(timeout=WAIT_S)
    assert (process.returncode, out) == (ends_with, ""), error
    return error


def lines(path: Path) -> list[str]:
    """Without times and processes."""
    return [re.sub(r"^\S+ \S+ \[\d+\] ", "", line) for line in path.read_text().splitlines()]


def all_lines(path: Path) -> Iterator[str]:
    for file in path.parent.glob("*.log*"):
        yield from lines(file)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "log" / "pygent-ls.log"


@pytest.fixture(autouse=True)
def folder(path: Path) -> Path:
    path.parents[1].mkdir()
    return path.parent


# What it holds


def test_our_news_and_the_warnings_of_libraries_are_kept_whatever_standard_error_shows(path: Path) -> None:
    code = """
ours.debug("too much")
ours.info("hello")
other.info("noise")
other.warning("noise")
"""
    shown = ran(code, path, PYGENT_LOG="error")

    assert shown == ""
    assert lines(path) == [
        "INFO pygent_ls.app: hello",
        "WARNING pygls.protocol: see <string>:13 (PYGENT_LOG=debug shows the text)",
    ]


def test_details_are_for_standard_error_alone(path: Path) -> None:
    shown = ran(f"ours.debug({PROMPT!r}); other.warning({PROMPT!r}); ours.info('hello')", path, PYGENT_LOG="debug")

    assert shown.count(PROMPT) == 2
    assert PROMPT not in path.read_text()
    assert "INFO pygent_ls.app: hello" in lines(path)


def test_keys_are_masked_and_a_text_from_outside_makes_no_line_of_its_own(path: Path) -> None:
    ran(rf"ours.info('client %s', 'Evil\nINFO pygent_ls: {KEY}\x1b[2J')", path)

    assert lines(path) == [r"INFO pygent_ls.app: client Evil\nINFO pygent_ls: ***\x1b[2J"]


@pytest.mark.parametrize(
    "code",
    [
        f"def fall(): raise ValueError({PROMPT!r})\nfall()",
        f"def fall(): raise ValueError({PROMPT!r})\nthread = threading.Thread(target=fall)\nthread.start()\n"
        "thread.join()\nsys.exit(1)",
    ],
)
def test_a_crash_leaves_its_stack_and_not_its_text(path: Path, code: str) -> None:
    shown = ran(code, path, ends_with=1)

    for text in (shown, path.read_text()):
        assert PROMPT not in text
        assert "CRITICAL pygent_ls: a bug: ValueError was not caught" in text
        assert re.search(r"<string>:\d+ in fall", text)


def test_a_crash_of_the_interpreter_leaves_a_stack_too(path: Path) -> None:
    ran("import faulthandler\ndef fall(): faulthandler._sigsegv()\nfall()", path, ends_with=-signal.SIGSEGV)

    assert "Fatal Python error: Segmentation fault" in path.read_text()
    assert "in fall" in path.read_text()


# Failures


@pytest.mark.parametrize("made", [os.mkfifo, os.mkdir])
def test_where_no_file_can_be_a_warning_says_so_and_all_else_works(path: Path, folder: Path, made: object) -> None:
    folder.mkdir()
    made(path)  # pyright: ignore[reportCallIssue] - both take a path

    shown = ran("ours.warning('careful')", path)

    assert f"WARNING pygent_ls: no log file: {path}: " in shown
    assert "WARNING pygent_ls.app: careful" in shown


def test_a_file_that_cannot_be_written_any_more_is_told_once_until_it_can(path: Path) -> None:
    code = """
import shutil
folder = Path(sys.argv[1]).parent
ours.info("before")
shutil.rmtree(folder)
folder.write_text("in the way")
ours.info("lost")
ours.info("lost")
folder.unlink()
ours.info("after")
"""
    shown = ran(code, path)

    assert shown.count("cannot be written") == 1
    assert lines(path) == ["INFO pygent_ls.app: after"]


# Many processes, and rotation


def test_nobody_else_can_read_it_also_where_it_was_open_before(path: Path, folder: Path) -> None:
    folder.mkdir()
    path.write_text("")
    path.chmod(0o644)

    ran("for n in range(100): ours.info('x' * 100)", path)

    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_what_many_processes_write_while_it_rotates_is_there_once_and_whole(path: Path) -> None:
    code = """
sys.stdin.readline()
for number in range(200): ours.info("process %s line %d %s", sys.argv[4], number, "x" * 80)
"""
    arguments = [sys.executable, "-c", SET_UP + code, str(path), "5000", "100"]
    processes = [
        subprocess.Popen([*arguments, str(each)], env={}, stdin=subprocess.PIPE, cwd=path.parents[1])
        for each in range(4)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.close()
    assert [process.wait(WAIT_S) for process in processes] == [0, 0, 0, 0]

    expected = [f"INFO pygent_ls.app: process {n} line {line} {'x' * 80}" for n in range(4) for line in range(200)]
    assert sorted(all_lines(path)) == sorted(expected)
    assert path.with_name("pygent-ls.log.1").exists()


def test_it_does_not_grow_without_end(path: Path, folder: Path) -> None:
    process = started("for n in range(1000): ours.info('x' * 100)", path, max_bytes=2_000, n_old=2)
    process.communicate(timeout=WAIT_S)

    sizes = {file.name: file.stat().st_size for file in folder.iterdir()}
    assert set(sizes) == {"pygent-ls.log", "pygent-ls.log.1", "pygent-ls.log.2", "pygent-ls.lock"}
    assert max(sizes.values()) < 2_000 + 200


def test_whoever_holds_the_lock_keeps_nobody_from_writing(path: Path) -> None:
    code = """
import fcntl
lock = open(Path(sys.argv[1]).with_suffix(".lock"), "w")
fcntl.flock(lock, fcntl.LOCK_EX)
for n in range(100): ours.info("line %d", n)
"""
    process = started(code, path, max_bytes=100)
    process.communicate(timeout=WAIT_S)

    assert lines(path) == [f"INFO pygent_ls.app: line {n}" for n in range(100)]
