"""Where a daemon listens: for its owner alone, one at a place, and nothing is left behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier

import pytest

from pygent_ls.editors.lsp.transport.unix_socket import MAX_PATH_BYTES, Peer, listening, peer, reach
from pygent_ls.errors import SocketError
from tests.fakes import WAIT_S


@pytest.fixture
def path() -> Generator[Path]:
    """Return the path of a socket that does not exist yet; a test's own folder may be too deep for one."""
    with tempfile.TemporaryDirectory(prefix="pygent-") as folder:
        yield Path(folder) / "socket"


@pytest.fixture
def no_mask() -> Generator[None]:
    """Whatever is made is for everybody, if nothing else is said."""
    usual = os.umask(0)
    yield
    os.umask(usual)


def left_behind(path: Path) -> None:
    """What a daemon leaves that was killed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()


def refused(path: Path, *, is_misuse: bool) -> str:
    """Return the error for a path at which no socket can be opened."""
    with pytest.raises(SocketError) as caught, listening(path):
        pass
    assert caught.value.is_misuse == is_misuse
    return str(caught.value)


@pytest.mark.usefixtures("no_mask")
def test_the_socket_is_for_its_owner_alone_and_goes_with_the_daemon(path: Path) -> None:
    with listening(path):
        assert stat.filemode(path.lstat().st_mode) == "srw-------"
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

        made = path.parent / "made"
        made.touch()
        assert stat.S_IMODE(made.stat().st_mode) == 0o666  # the mask is the process's own again

    assert not path.exists()


def test_who_connects_reaches_who_listens(path: Path) -> None:
    with listening(path) as listener, reach(path) as connection:
        accepted, _ = listener.accept()
        with accepted:
            connection.sendall(b"hello")

            assert accepted.recv(10) == b"hello"


def test_the_file_of_a_daemon_that_is_no_more_is_replaced(path: Path) -> None:
    left_behind(path)

    with listening(path), reach(path):
        pass
    assert not path.exists()


def test_where_a_daemon_listens_there_is_no_place_for_another(path: Path) -> None:
    with listening(path):
        said = refused(path, is_misuse=False)

        reach(path).close()
    assert said == (
        f"A daemon is already listening at {path}. Connect to it with `pygent-ls connect {path}`, or choose another "
        "path."
    )


def test_a_daemon_that_is_too_busy_to_accept_is_there_all_the_same(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, ExitStack() as waiting:
        listener.bind(str(path))
        listener.listen(1)
        for _ in range(2):
            connection = waiting.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            connection.settimeout(0)
            connection.connect(str(path))

        assert "already listening at" in refused(path, is_misuse=False)
    assert path.is_socket()


def make_file(path: Path) -> None:
    path.write_text("mine")


def make_link(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")


@pytest.mark.parametrize(
    ("make", "kind"), [(make_file, "a file"), (Path.mkdir, "a folder"), (make_link, "a link")], ids=lambda each: each
)
def test_what_is_no_socket_stays_as_it_is(path: Path, make: Callable[[Path], None], kind: str) -> None:
    make(path)
    before = path.lstat()

    assert refused(path, is_misuse=True).startswith(f"{path} is {kind}, not a socket")
    assert path.lstat() == before


def test_another_programs_socket_stays_as_it_is(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(path))

        assert "the socket of another program" in refused(path, is_misuse=False)
    assert path.is_socket()


def test_a_folder_that_is_not_there_and_a_path_that_is_too_long_are_said(path: Path) -> None:
    missing = path.parent / "missing"
    long = path.parent / ("x" * MAX_PATH_BYTES)
    n_bytes = len(os.fsencode(long))

    assert refused(missing / "socket", is_misuse=True) == (
        f"The folder {missing} cannot be used: No such file or directory."
    )
    assert refused(long, is_misuse=True).startswith(
        f"{long} has {n_bytes} bytes, but a socket path can have at most {MAX_PATH_BYTES}"
    )


def test_the_file_of_a_later_daemon_is_not_removed(path: Path) -> None:
    with listening(path):
        path.unlink()
        with listening(path):
            pass
        left_behind(path)

    assert path.is_socket()


def test_of_those_that_start_together_over_a_stale_file_one_listens(path: Path) -> None:
    n_daemons = 8
    left_behind(path)
    starting, ending = Barrier(n_daemons), Barrier(n_daemons)

    def start() -> str:
        starting.wait(WAIT_S)
        try:
            with listening(path):
                ending.wait(WAIT_S)
                return "listens"
        except SocketError as error:
            ending.wait(WAIT_S)
            return re.sub(r"[^ ]*/.*", "", str(error))

    with ThreadPoolExecutor(n_daemons) as pool:
        said = sorted(future.result(WAIT_S) for future in [pool.submit(start) for _ in range(n_daemons)])

    assert said == ["A daemon is already listening at "] * (n_daemons - 1) + ["listens"]
    assert not path.exists()


# Reaching it


@pytest.mark.parametrize("stale", [False, True])
def test_nobody_who_listens_is_said_and_what_would_help(path: Path, stale: bool) -> None:
    if stale:
        left_behind(path)

    with pytest.raises(SocketError) as caught:
        reach(path)

    assert str(caught.value) == f"No daemon is listening at {path}. Start one: pygent-ls --socket {path}"
    assert not caught.value.is_misuse


def test_what_is_no_socket_cannot_be_reached(path: Path) -> None:
    path.write_text("")

    with pytest.raises(SocketError, match="is a file, not a socket") as caught:
        reach(path)

    assert caught.value.is_misuse


def test_the_other_end_of_a_connection_has_a_user_and_a_process() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert peer(one) == Peer(os.getpid(), os.geteuid())


def test_what_a_process_has_started_is_its_own_however_far_away() -> None:
    command = ["sh", "-c", "sleep 300 & echo $!; wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())

        assert [Peer(pid, 0).is_ours for pid in (child.pid, grandchild)] == [True, True]
        assert [Peer(pid, 0).is_ours for pid in (0, 1, os.getpid(), os.getppid())] == [False] * 4

        os.killpg(child.pid, signal.SIGKILL)
    assert not Peer(child.pid, 0).is_ours
