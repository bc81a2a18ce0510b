"""The sandbox for commands: bubblewrap, where the machine has it.

Inside, everything can be read but secrets, and nothing written but the workspace's folders and a /tmp of its own.
Processes see each other alone. The network is cut unless the settings say otherwise. `--die-with-parent` is not used:
it would kill a command's other processes when bubblewrap itself gets the polite SIGTERM, before they could clean up;
the process group and the watchdog end them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pygent_ls.agent.workspace import ReadOnly, SandboxState
from pygent_ls.workspace.environment import clean_environment
from pygent_ls.workspace.sandbox_places import ACTING_CONFIGURATION, ACTING_IN_GIT, OF_ROOT, SECRETS, sockets

SandboxMode = Literal["auto", "require", "off"]

RUNNING_SYSTEM = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
"""Links to the programs of some distributions; all else below /run is sockets of the system's services."""

NAME_SERVICE = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")
"""Where /etc/resolv.conf may lead; of use only with a network."""

PROBE_S = 10.0
"""Setting up takes about 10 ms here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a command in the sandbox may do."""

    folders: tuple[Path, ...]
    """May be written, their protected parts aside. Absolute, links resolved."""
    network: bool
    home: Path
    own: tuple[Path, ...]
    """The daemon's configuration and state."""
    temporary: Path
    """Holds `tmp`, which stands in the place of /tmp, `empty`, an empty folder, and `nothing`, an empty file."""


ROOT_KEEPS = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID")
"""Where the daemon is root (a container): what it takes to work on files of other users, and nothing with which a
read-only mount could be changed, or a file reached around it."""


def arguments(limits: Limits, cwd: Path, read_only: ReadOnly | None = None) -> list[str]:
    """What bubblewrap is told. Later mounts cover earlier ones, so the order is: all, folders, what is protected.

    A program that is `read_only` can write the folders no more than all else, whatever the limits say.
    """
    if read_only:
        limits = replace(limits, network=False)
    whole = Path("/") in limits.folders and not read_only
    folders = sorted(folder for folder in limits.folders if folder.is_dir() and folder != Path("/"))
    return [
        *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *(() if limits.network else ("--unshare-net",)),
        *("--cap-drop", "ALL"),
        *(part for name in (ROOT_KEEPS if os.geteuid() == 0 else ()) for part in ("--cap-add", name)),
        *("--bind" if whole else "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *(("--tmpfs", TMP) if read_only else ("--bind", str(limits.temporary / "tmp"), TMP)),
        *_system(network=limits.network),
        *_mounts(limits, folders, None if whole else cwd, read_only),
        *(("--setenv", "TMPDIR", TMP) if "TMPDIR" in os.environ else ()),
        *(() if whole else _caches()),
        *("--chdir", str(cwd), "--"),
    ]


TMP = "/tmp"  # noqa: S108 - its place inside

CACHES = f"{TMP}/caches"
"""Where programs that need a cache to run at all (uv, go, npm) find one that they can write."""


def _caches() -> Iterator[str]:
    yield from ("--setenv", "XDG_CACHE_HOME", CACHES)
    yield from ("--setenv", "npm_config_cache", f"{CACHES}/npm")


def _mounts(limits: Limits, folders: Sequence[Path], cwd: Path | None, read_only: ReadOnly | None) -> Iterator[str]:
    """The folders, and what is hidden or protected around them and in them."""

    def is_around_a_folder(path: Path) -> bool:  # the user works in there
        return any(folder.is_relative_to(path) for folder in folders)

    hidden = list(_hidden(limits))
    if limits.home.is_relative_to(TMP):  # it is covered by now
        yield from ("--ro-bind", str(limits.home), str(limits.home))
    for path in filter(is_around_a_folder, hidden):
        yield from _hiding(path, limits.temporary)
    if cwd is not None and not any(cwd.is_relative_to(folder) for folder in folders):
        yield from ("--ro-bind", str(cwd), str(cwd))
    for folder in folders:
        yield from ("--ro-bind" if read_only else "--bind", str(folder), str(folder))
    yield from _seen(read_only) if read_only else ()
    for path in hidden:
        if not is_around_a_folder(path):
            yield from _hiding(path, limits.temporary)
    for path in filter(is_around_a_folder, limits.own):
        yield from _reading_only(path, limits.temporary)
    for folder in () if read_only else folders:
        yield from _protecting(folder, limits.temporary)


def _seen(read_only: ReadOnly) -> Iterator[str]:
    for path in read_only.reads:
        yield from ("--ro-bind", str(path), str(path))
    yield from ("--bind", str(read_only.scratch), str(read_only.scratch))


def _system(*, network: bool) -> Iterator[str]:
    """Nothing of what only services use."""
    for path in (Path("/var/tmp"), Path("/run")):  # noqa: S108 - hidden, not used
        if path.is_dir() and not path.is_symlink():
            yield from ("--tmpfs", str(path))
    for name in (*RUNNING_SYSTEM, *(NAME_SERVICE if network else ())):
        yield from ("--ro-bind-try", name, name)


def _hidden(limits: Limits) -> Iterator[Path]:
    """The secrets that there are, by their real paths, and the sockets of what acts for the user."""
    below_home = (limits.home / name for name in SECRETS)
    for path in (*below_home, *map(Path, OF_ROOT), *limits.own, *sockets(os.environ)):
        if os.path.lexists(path):
            real = path.resolve()
            if real.exists() and real != Path("/"):
                yield real


def _hiding(path: Path, temporary: Path) -> tuple[str, ...]:
    if path.is_dir():
        return "--tmpfs", str(path)
    return "--ro-bind", str(temporary / "nothing"), str(path)


def _protecting(folder: Path, temporary: Path) -> Iterator[str]:
    """What would run outside the sandbox later: git's hooks and configuration, and the agent's own configuration.

    The folder that holds them is a mount of its own, so that it cannot be renamed away. What is missing is covered by
    an empty folder, so that it cannot be made.
    """
    git = folder / ".git"
    if git.is_dir() and not git.is_symlink():
        yield from ("--bind", str(git), str(git))
        yield from _reading_only(git / "hooks", temporary)
        if (git / "config").exists():
            yield from _reading_only(git / "config", temporary)
    elif git.exists():  # a link, or a worktree's file
        yield from _reading_only(git.resolve(), temporary)
    for path in _acting_inside(git):
        yield from _reading_only(path, temporary)
    yield from _reading_only(folder / ".pygent", temporary)
    for name in ACTING_CONFIGURATION:
        path = folder / name
        if path.exists() and not path.is_symlink():
            yield from _reading_only(path, temporary)


def _acting_inside(git: Path) -> Iterator[Path]:
    """What else in a repository names programs to run: the settings of its work trees, and those of its submodules."""
    if not git.is_dir() or git.is_symlink():
        return
    for pattern in ACTING_IN_GIT:
        yield from sorted(path for path in git.glob(pattern) if not path.is_symlink())


def _reading_only(path: Path, temporary: Path) -> tuple[str, ...]:
    source = path if path.exists() else temporary / "empty"
    return "--ro-bind", str(source), str(path)


def _missing_parts(folders: Sequence[Path]) -> Iterator[Path]:
    """The folders that bubblewrap makes, to mount on what is protected and not there."""
    for folder in folders:
        git = folder / ".git"
        if git.is_dir() and not git.is_symlink() and not os.path.lexists(git / "hooks"):
            yield git / "hooks"
        if folder.is_dir() and not os.path.lexists(folder / ".pygent"):
            yield folder / ".pygent"


class Sandbox:
    """Sets up the sandbox of one daemon's commands."""

    def __init__(
        self, mode: SandboxMode, folders: Callable[[], Sequence[Path]], *, network: bool, own: Sequence[Path] = ()
    ) -> None:
        self._mode: SandboxMode = mode
        self._folders = folders
        self._network = network
        self._own = tuple(path.resolve() for path in own)
        self._works: list[str] = []
        """The command line that was seen to work last."""
        self._temporary: Path | None = None
        self._removal: Callable[[], object] | None = None
        self._made: Counter[Path] = Counter()
        """Folders that stand in the workspace only to be mounted on, and how many commands need them."""
        self._changing = threading.Lock()
        """Held while what stands on the disk for commands is made or removed: the probe runs in a thread, and two
        commands that begin together have one each."""

    def mount_beside(self, other: Sandbox) -> None:
        """Both set up commands of one process, maybe in the same folders: what stands there only to be mounted on stays
        as long as either needs it."""
        self._made, self._changing = other._made, other._changing

    def change(self, mode: SandboxMode, *, network: bool) -> None:
        """Set it up like this from the next command on."""
        if network != self._network:
            self._works = []
        self._mode, self._network = mode, network

    def may_write(self, path: Path) -> bool:
        """Whether a command in the sandbox could have written there; the path has no links before its last part."""
        own = [self._temporary] if self._temporary is not None else []
        return any(path.is_relative_to(folder) for folder in (*self._folders(), *own))

    async def state(self, bwrap: str | None) -> SandboxState:
        """Whether commands will run in it; `bwrap` is the program's path, None where there is none."""
        required = self._mode == "require"
        if self._mode == "off":
            return SandboxState(kind="off")
        if bwrap is None or not sys.platform.startswith("linux"):
            reason = "bubblewrap is not installed." if sys.platform.startswith("linux") else "This system has none."
            return SandboxState(kind="missing", reason=reason, required=required)
        reason = await asyncio.to_thread(self._problem, bwrap)
        return SandboxState(kind="failed" if reason else "on", reason=reason, required=required)

    @contextlib.contextmanager
    def around(self, bwrap: str, cwd: Path, read_only: ReadOnly | None = None) -> Generator[tuple[str, ...]]:
        """The beginning of a command line that runs the rest in the sandbox, as long as that runs; see `arguments`."""
        with self._changing:
            limits = self._limits()
            told = arguments(limits, cwd.absolute(), read_only)
            protected = () if read_only else _missing_parts(limits.folders)
            missing = {path for path in (*protected, *self._made) if path.parent.is_dir()}
            self._made.update(missing)
        try:
            yield (bwrap, *told)
        finally:
            with self._changing:
                self._made.subtract(missing)
                for path in missing:
                    if self._made[path] <= 0:
                        del self._made[path]
                        with contextlib.suppress(OSError):  # never made, or the user has put something there
                            path.rmdir()

    def remove_temporary(self) -> None:
        """Remove what the commands shared under `/tmp`; the daemon leaves without the interpreter's own farewell."""
        if self._removal is not None:
            self._removal()
            self._temporary = self._removal = None

    def _limits(self) -> Limits:
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="pygent-ls-")).resolve()
            self._removal = weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
            for name in ("tmp", "empty"):
                (self._temporary / name).mkdir()
            (self._temporary / "nothing").touch(mode=0o444)
        return Limits(
            folders=tuple(self._folders()),
            network=self._network,
            home=Path.home(),
            own=self._own,
            temporary=self._temporary,
        )

    def _problem(self, bwrap: str) -> str:
        """Why it cannot be set up; empty where it can."""
        if self._works == [bwrap, *self._signature()]:
            return ""
        with self.around(bwrap, Path("/")) as beginning:
            try:
                done = subprocess.run(
                    [*beginning, "/bin/sh", "-c", ":"],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=PROBE_S,
                    check=False,
                    env=clean_environment(os.environ, self.may_write),
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                return f"{bwrap} cannot set it up: {error}"
        if done.returncode == 0:
            self._works = [bwrap, *self._signature()]
            return ""
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"{bwrap} cannot set it up: {said[-1] if said else f'exit code {done.returncode}'}"

    def _signature(self) -> list[str]:
        return [str(folder) for folder in self._folders()]
