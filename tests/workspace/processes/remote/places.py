"""Real places where commands run: a container of podman, and an OpenSSH server on the loopback interface."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.processes.remote.owners import owner_of
from pygent_ls.workspace.processes.remote.remote_processes import RemoteProcesses
from tests.workspace.programs import LIMIT_S

SSHD = "/usr/sbin/sshd"


@dataclass(frozen=True)
class Place:
    """Place with a workspace's folder, as the settings name it. The folder is the same files here and there."""

    commands: str
    programs: Path
    """Folder of the program that leads there, which comes first in the search path."""
    here: Path
    there: str
    folder: str = ""
    """Setting `remote.folder`."""

    @property
    def path(self) -> str:
        return f"{self.programs}{os.pathsep}{os.environ['PATH']}"

    def processes(self) -> RemoteProcesses:
        return RemoteProcesses(LocalProcesses(), owner_of(self.commands, self.folder, "", self.here))


def program(file: Path, script: str) -> None:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def root_folder(folder: Path) -> Path:
    """The files of a container: a busybox, without bash."""
    root = folder / "rootfs"
    for each in ("bin", "etc", "work", "tmp"):
        (root / each).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin")
    for name in ("sh", "sleep", "cat", "env", "grep", "head", "wc", "setsid", "id", "touch", "printf"):
        (root / "bin" / name).symlink_to("busybox")
    (root / "etc" / "passwd").write_text("root:x:0:0:root:/:/bin/sh\nmaker:x:1234:1234:maker:/:/bin/sh\n")
    (root / "etc" / "group").write_text("root:x:0:\nmaker:x:1234:\n")
    return root


class Podman:
    """podman with everything below one folder, without a network and control groups.

    crun refuses a machine with control groups of both versions: podman sees those of version 2 alone. Its locks are in
    files, since all podmans of a machine share those in memory, and each new one releases them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        self.programs.mkdir()
        real = shutil.which("podman")
        assert real is not None
        options = f"--root {folder}/root --runroot {folder}/run --tmpdir {folder}/tmp --storage-driver vfs"
        options += " --cgroup-manager cgroupfs --events-backend none"
        (folder / "containers.conf").write_text('[engine]\nlock_type = "file"\n')
        script = f"export CONTAINERS_CONF={folder}/containers.conf; "
        script += "umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup"
        for name in ("podman", "docker"):
            program(
                self.programs / name,
                f"""exec unshare -m sh -c '{script}; exec {real} {options} "$@"' {name} "$@" """,
            )
        self.root = root_folder(folder)

    def __call__(self, *arguments: str) -> str:
        done = subprocess.run(
            [str(self.programs / "podman"), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
        return done.stdout

    def start(self, name: str, here: Path, *options: str) -> Place:
        self(
            *("run", "--detach", "--name", name, "--network", "none", "--cgroups", "disabled"),
            *("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"),
            *("--volume", f"{here}:/work", *options, "--rootfs", str(self.root), "sleep", "100000"),
        )
        return Place(commands=f"podman:{name}", programs=self.programs, here=here, there="/work")


@contextmanager
def podman_in_a_folder() -> Generator[Podman]:
    """podman without containers, which removes those that a test has started."""
    with tempfile.TemporaryDirectory(prefix="pygent-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        podman = Podman(Path(folder))
        try:
            yield podman
        finally:
            podman("rm", "--all", "--force", "--time", "0")


@contextmanager
def ssh_server(folder: Path, here: Path) -> Generator[Place]:
    """An OpenSSH server for the user who runs the tests, with keys and settings of its own."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    port = free_port()
    settings = {
        "ListenAddress": f"127.0.0.1:{port}",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "user.pub",
        "PidFile": "none",
        "UsePAM": "no",
        "StrictModes": "no",
        "PermitRootLogin": "yes",
        "PasswordAuthentication": "no",
    }
    (folder / "sshd_config").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    key = " ".join((folder / "host.pub").read_text().split()[:2])
    (folder / "known").write_text(f"[127.0.0.1]:{port} {key}\n")
    (folder / "config").write_text(
        f"Host box\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {folder}/user\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known\n  SendEnv LANG LC_*\n"
    )
    (folder / "bin").mkdir()
    program(folder / "bin" / "ssh", f'exec {shutil.which("ssh")} -F {folder}/config "$@"')
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    server = subprocess.Popen(
        [SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        assert server.stderr is not None
        for line in server.stderr:
            if b"Server listening" in line:
                break
        yield Place(commands="ssh:box", programs=folder / "bin", here=here, there=str(here), folder=str(here))
    finally:
        server.terminate()
        server.communicate(timeout=LIMIT_S)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def living(words: str) -> Mapping[int, str]:
    """Processes of this machine, those of containers included, whose command line is of these words."""
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if line == words:
                found[int(entry.name)] = line
    return found


def becomes(is_true: Callable[[], bool]) -> bool:
    """Whether something becomes true of processes that no event tells of. Blocking."""
    until = time.monotonic() + LIMIT_S
    while not is_true() and time.monotonic() < until:
        threading.Event().wait(0.02)
    return is_true()


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
