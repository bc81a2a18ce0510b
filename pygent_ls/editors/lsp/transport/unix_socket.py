"""A Unix socket that only its owner can access: creation, connection and removal. Uses only the standard library."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pygent_ls.errors import SocketError

MAX_PATH_BYTES = 107 if sys.platform.startswith("linux") else 103
"""Maximum length of a socket's path: `sun_path` has 108 bytes on Linux and 104 on BSD and macOS, including the final
NUL."""

BACKLOG = 64
"""Number of clients that may wait to be accepted while the daemon starts or is busy."""

TURN_S = 2.0
"""Time limit for the lock that another daemon holds while it starts in the same folder."""

LOOK_AGAIN_S = 0.02


@contextmanager
def listening(path: Path) -> Generator[socket.socket]:
    """Listen at an absolute path, with mode 0600 from the start; the file is removed at the end.

    Replaces the socket file of a daemon that has ended. Raises `SocketError` if no socket can be created there, or a
    daemon already listens.
    """
    check_path(path)
    with _alone_in(path.parent):
        _make_room(path)
        listener = _bound(path)
        made = path.lstat()
    try:
        yield listener
    finally:  # before the socket is closed: as long as it answers, no other daemon replaces the file
        with suppress(OSError):
            found = path.lstat()
            if (found.st_dev, found.st_ino) == (made.st_dev, made.st_ino):
                path.unlink()
        listener.close()


def reach(path: Path) -> socket.socket:
    """Connect to the daemon that listens at an absolute path. Raises `SocketError` if no daemon listens, or that of
    another user."""
    check_path(path)
    with suppress(OSError):
        mode = path.stat().st_mode
        if not stat.S_ISSOCK(mode):
            raise SocketError(f"{path} is {_kind(mode)}, not a socket.", is_misuse=True)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(path))
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        raise SocketError(f"No daemon is listening at {path}. Start one: pygent-ls --socket {path}") from None
    except OSError as error:
        connection.close()
        raise SocketError(f"{path} cannot be reached: {error.strerror}.") from None
    other = peer(connection)
    if other is not None and other.uid != os.geteuid():
        connection.close()
        raise SocketError(f"{path} belongs to another user; nothing was sent.")
    return connection


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end of a connection, as reported by the system."""

    pid: int
    """Process id; 0 if the process is not visible from here, such as one outside of a container."""
    uid: int

    @property
    def is_ours(self) -> bool:
        """Whether this process is an ancestor of the peer."""
        pid, seen = self.pid, set[int]()
        while pid > 1 and pid not in seen:
            seen.add(pid)
            try:
                pid = int(Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):  # it has ended
                return False
            if pid == os.getpid():
                return True
        return False


def peer(connection: socket.socket) -> Peer | None:
    """Return the peer; None if the system does not report it, so that only the mode of the socket file protects it."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    form = "iII"  # process, user, group
    pid, uid, _ = struct.unpack(
        form, connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize(form))
    )
    return Peer(pid, uid)


def check_path(path: Path) -> None:
    """Raise `SocketError` if a path cannot be that of a socket."""
    n_bytes = len(os.fsencode(path))
    if n_bytes > MAX_PATH_BYTES:
        raise SocketError(
            f"{path} has {n_bytes} bytes, but a socket path can have at most {MAX_PATH_BYTES}. Choose a shorter "
            "path, for example in $XDG_RUNTIME_DIR.",
            is_misuse=True,
        )


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    usual = os.umask(0o177)  # chmod after the bind would be too late
    try:
        listener.bind(str(path))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise SocketError(f"No socket can be created at {path}: {error.strerror}.", is_misuse=True) from None
    finally:
        os.umask(usual)
    return listener


def _make_room(path: Path) -> None:
    """Remove the socket file of a daemon that has ended. Raises `SocketError` if anything else is there."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):  # the bind reports what is wrong with the folder
        return
    except OSError as error:
        raise SocketError(f"{path} cannot be accessed: {error.strerror}.", is_misuse=True) from None
    if not stat.S_ISSOCK(found.st_mode):
        raise SocketError(f"{path} is {_kind(found.st_mode)}, not a socket. Choose another path.", is_misuse=True)
    if found.st_uid != os.geteuid():
        raise SocketError(f"{path} belongs to another user. Choose another path.", is_misuse=True)
    if _answers(path):
        raise SocketError(
            f"A daemon is already listening at {path}. Connect to it with `pygent-ls connect {path}`, or choose "
            "another path."
        )
    with suppress(FileNotFoundError):
        path.unlink()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except BlockingIOError:  # the queue of waiting clients is full
            return True
        except OSError as error:
            raise SocketError(
                f"{path} is the socket of another program: {error.strerror}. Choose another path."
            ) from None
        return True


@contextmanager
def _alone_in(folder: Path) -> Generator[None]:
    """Lock the folder while a daemon creates its socket. Of two daemons that start together and find the same stale
    file, one would otherwise remove the socket of the other.

    Raises `SocketError` on a timeout.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise SocketError(f"The folder {folder} cannot be used: {error.strerror}.", is_misuse=True) from None
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    ends_s = time.monotonic() + TURN_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > ends_s:
                raise SocketError(f"{folder} is in use by another program. Choose another folder.") from None
            time.sleep(LOOK_AGAIN_S)
        except OSError:  # a file system without locks: daemons that start together are not protected
            return
        else:
            return


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a link" if stat.S_ISLNK(mode) else "a file"
