"""Sandbox for commands, using bubblewrap if the machine has it.

Inside, the system is readable, as are the parts of the home that tools need; only the workspace folders and a private
/tmp are writable. Processes see only each other. The network is disabled unless the settings enable it.
`--die-with-parent` is not used: it would kill a command's other processes when bubblewrap itself gets the initial
SIGTERM, before they could clean up; the process group and the watchdog end them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.permissions.autorun_files import OPENED
from pygent_ls.agent.ports.processes import ReadOnly, SandboxState
from pygent_ls.workspace.environment import clean_environment
from pygent_ls.workspace.git.program import QUIET
from pygent_ls.workspace.sandbox.mounts import SandboxLimits, arguments, listed
from pygent_ls.workspace.sandbox.placeholders import Placeholders
from pygent_ls.workspace.sandbox.planted_files import look_after
from pygent_ls.workspace.sandbox.protected_paths import (
    COVERED_IN_GIT,
    GitSettingsReader,
    Protection,
    Protections,
    explanations,
    protections,
)
from pygent_ls.workspace.sandbox.survey import Survey, survey
from pygent_ls.workspace.sandbox.syscall_filter import MACHINES, program

log = logging.getLogger(__name__)

SandboxMode = Literal["auto", "require", "off"]

PROBE_S = 10.0
"""Time limit for the probe; setting up the sandbox takes about 20 ms here."""

SHELL = "/bin/sh"

REFUSALS = ("Read-only file system", "EROFS", "resource busy", "EBUSY", "Is a directory", "EISDIR")
"""Texts that programs print when they meet a mount or a placeholder."""

WITH_FILTER = 'exec 9<"$1"; shift; exec "$@"'
"""Shell script that opens the system call filter on the descriptor where bubblewrap expects it."""

WITH_LIMITS = """
ulimit -c 0
ulimit -f "$1" 2>/dev/null
[ "$2" = 0 ] || ulimit -u "$2" 2>/dev/null || ulimit -p "$2" 2>/dev/null
left=$3
shift 3
there=
while read -r _ _ _ root point _; do there="$there
$root $point "; done < /proc/self/mountinfo
while [ "$left" -gt 0 ]; do
    case "$there" in *"
$1 "*) ;; *)
        echo "The command was not run: ${1#* } was replaced while the sandbox was set up." >&2
        exit 126 ;;
    esac
    left=$((left - 1))
    shift
done
exec "$@"
"""
"""Shell script that runs inside, where a user namespace counts the processes of this command alone. The file limit is
in blocks of 512 bytes. A lower limit already in effect is kept. Then it checks that all paths are mounted as expected
by `listed`.
"""


class Resources(Struct, frozen=True, kw_only=True):
    """Limits on the resources of one command."""

    processes: int = 4_096
    memory_mb: int = 0
    """Memory of all its processes; 0 for four fifths of the machine's."""
    file_mb: int = 65_536
    """Size of a file that it writes."""

    @property
    def memory_bytes(self) -> int:
        """Memory limit in bytes."""
        if self.memory_mb:
            return self.memory_mb * 1_048_576
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 5 * 4


class SandboxOptions(Struct, frozen=True, kw_only=True):
    """Sandbox options from the settings."""

    mode: SandboxMode = "auto"
    network: bool = False
    read: tuple[Path, ...] = ()
    """Folders of the home that are visible."""
    resources: Resources = field(default_factory=Resources)


class Stay:
    """Files on the disk for one running command, from before it begins until it has ended."""

    def __init__(
        self, folders: Sequence[Path], settings: GitSettingsReader | None, known: Survey | None = None
    ) -> None:
        """Create the placeholders. `known` is the survey after an earlier command. Blocking; `leave` must be called."""
        self._lock = threading.Lock()
        self._has_left = False
        self._told: list[str] = []
        existing = [folder for folder in folders if folder != Path("/")]
        self._held = {folder: Placeholders(folder) for folder in existing}
        try:
            self.before: Survey = survey(existing, before=known)
            self.after = self.before
            self.protected: Protections = protections(existing, self.before, settings)
            self._missing = {path for path, how in self.protected.paths.items() if how not in ("pin", "read")}
            for path in self._missing:
                if not self._make(path, self.protected.paths[path]):
                    del self.protected.paths[path]  # a command cannot create it either
        except BaseException:
            self._let_go()
            raise

    def look(self) -> None:
        """Check for files left by the command so far, while it runs. Blocking."""
        with self._lock:
            if not self._has_left:
                self._told += look_after(self.protected, self.before, runs=True)[0]

    def leave(self) -> list[str]:
        """Check for files left by the command, and remove its placeholders; return the notes to report. Call it
        once.
        """
        with self._lock:
            if self._has_left:
                return []
            self._has_left = True
            try:
                told, self.after = look_after(self.protected, self.before)
                return [*self._told, *told]
            finally:
                self._let_go()

    def explain(self, output: str, *, failed: bool) -> list[str]:
        """Explain why a command met a protected path, if its output says so; in one line if the command did not
        fail.
        """
        if not failed:
            output = "\n".join(line for line in output.splitlines() if any(each in line for each in REFUSALS))
        if not any(each in output for each in REFUSALS):
            return []
        return explanations(self.protected, self._missing, output)

    def _make(self, path: Path, how: Protection) -> bool:
        holder = max((each for each in self._held if path.is_relative_to(each)), key=lambda each: len(each.parts))
        return how in ("folder", "file", "dot") and self._held[holder].make(path, how)

    def _let_go(self) -> None:
        missing = getattr(self, "_missing", set[Path]())
        for folder, held in self._held.items():
            held.leave(path for path in missing if path.is_relative_to(folder))


class Sandbox:
    """Sets up the sandbox for one daemon's commands."""

    def __init__(
        self,
        options: SandboxOptions,
        folders: Callable[[], Sequence[Path]],
        *,
        own: Sequence[Path] = (),
        skills: Path | None = None,
    ) -> None:
        """`own` are the daemon's files, which are hidden but for the user's `skills` in them."""
        self._options = options
        self._folders = folders
        self._own = tuple(path.resolve() for path in own)
        self._skills = skills
        self._works: tuple[object, ...] = ()
        """Conditions under which it worked last."""
        self._namespaces = True
        self._temporary: Path | None = None
        self._removal: Callable[[], object] | None = None
        self._making = threading.Lock()
        """Lock for the probe, which runs in a thread; without it, two commands that start together would each run
        one.
        """
        self._stays: set[Stay] = set()
        self._known: Survey | None = None
        """Latest survey; paths unchanged since then are not read again."""

    @property
    def resources(self) -> Resources:
        """Resource limits of a command."""
        return self._options.resources

    def change(self, options: SandboxOptions) -> None:
        """Use these options from the next command on."""
        self._options = options

    def may_write(self, path: Path) -> bool:
        """Return whether a command in the sandbox could have written there; only the path's last part may be a link."""
        own = [self._temporary] if self._temporary is not None else []
        return any(path.is_relative_to(folder) for folder in (*self._folders(), *own))

    async def state(self, bwrap: str | None) -> SandboxState:
        """Return the state of the sandbox; `bwrap` is the program's path, None if it is missing."""
        required = self._options.mode == "require"
        if self._options.mode == "off":
            return SandboxState(kind="off")
        if bwrap is None or not sys.platform.startswith("linux"):
            reason = (
                "bubblewrap is not installed." if sys.platform.startswith("linux") else "This system has no sandbox."
            )
            return SandboxState(kind="missing", reason=reason, required=required)
        reason = await asyncio.to_thread(self._problem, bwrap)
        if reason:
            return SandboxState(kind="failed", reason=reason, required=required)
        return SandboxState(kind="on", reason=self._weakness(), required=required, has_network=self._options.network)

    def enter(self, bwrap: str, git: str | None, cwd: Path) -> tuple[tuple[str, ...], Stay]:
        """Return the start of a command line that runs the rest in the sandbox, with its placeholders. Blocking; some
        20 ms, and 40 more in a workspace of 20,000 files.
        """
        settings = GitSettingsReader(git, clean_environment({**os.environ, **QUIET}, self.may_write)) if git else None
        stay = Stay(_existing(self._folders()), settings, self._known)
        self._stays.add(stay)
        try:
            limits = replace(self._limits(), protected=stay.protected.paths)
            return self._beginning(bwrap, limits, cwd.absolute()), stay
        except OSError:
            self.left(stay)
            raise

    def look(self, bwrap: str, cwd: Path, read_only: ReadOnly) -> tuple[str, ...]:
        """Return the start of a command line whose rest cannot write to the workspace and so needs no placeholders.
        Blocking.
        """
        return self._beginning(bwrap, self._limits(), cwd.absolute(), read_only)

    def look_at_all(self) -> None:
        """Check for files left by running commands so far, since a program outside may act on them. Blocking."""
        for stay in tuple(self._stays):
            stay.look()

    def tidy(self) -> None:
        """Remove placeholders in the folders left by a killed daemon. Blocking, and quick."""
        for folder in _existing(self._folders()):
            names = (*OPENED, ".git", *(f".git/{name}" for name in COVERED_IN_GIT))
            with contextlib.suppress(OSError):
                Placeholders(folder).leave(folder / name for name in names)

    def left(self, stay: Stay) -> list[str]:
        """Process the end of a command; return the notes on the files that it left. Blocking."""
        told = stay.leave()
        self._known = stay.after
        for each in told:
            log.warning("after a command in the sandbox: %s", each)
        self._stays.discard(stay)
        return told

    def close(self) -> None:
        """Remove the commands' shared files under `/tmp` and their placeholders in the workspace; the daemon exits
        without the interpreter's own cleanup.
        """
        for stay in tuple(self._stays):
            self.left(stay)
        if self._removal is not None:
            self._removal()
            self._temporary = self._removal = None

    def _beginning(
        self, bwrap: str, limits: SandboxLimits, cwd: Path, read_only: ReadOnly | None = None
    ) -> tuple[str, ...]:
        filtered = os.uname().machine in MACHINES
        beginning = (SHELL, "-c", WITH_FILTER, SHELL, str(limits.temporary / "filter")) if filtered else ()
        resources = self._options.resources
        processes = resources.processes if limits.namespaces else 0
        told = arguments(limits, cwd, read_only)
        mounted = list(listed(sorted({*limits.folders, *limits.protected} - {Path("/")})))
        return (
            *beginning,
            *(bwrap, *(("--seccomp", "9") if filtered else ()), *told),
            *(SHELL, "-c", WITH_LIMITS, SHELL, str(resources.file_mb * 2_048), str(processes)),
            *(str(len(mounted)), *mounted),
        )

    def _limits(self) -> SandboxLimits:
        with self._making:
            if self._temporary is None:
                self._temporary = Path(tempfile.mkdtemp(prefix="pygent-ls-")).resolve()
                self._removal = weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
                for name in ("tmp", "empty"):
                    (self._temporary / name).mkdir()
                (self._temporary / "nothing").touch(mode=0o444)
                (self._temporary / "filter").write_bytes(program())
            temporary = self._temporary
        return SandboxLimits(
            folders=_existing(self._folders(), Path("/")),
            network=self._options.network,
            home=Path.home(),
            own=self._own,
            temporary=temporary,
            read=self._options.read,
            skills=self._skills,
            namespaces=self._namespaces and os.geteuid() != 0,
        )

    def _problem(self, bwrap: str) -> str:
        """Return why the sandbox cannot be set up; empty if it can."""
        if self._works == self._signature(bwrap):
            return ""
        self._namespaces = True
        reason = self._tried(bwrap)
        if reason and os.geteuid() != 0:  # before 0.8 bubblewrap has no such option
            self._namespaces = False
            reason = self._tried(bwrap) and reason
        if not reason:
            self._works = self._signature(bwrap)
        return reason

    def _tried(self, bwrap: str) -> str:
        beginning = self._beginning(bwrap, self._limits(), Path("/"))
        try:
            done = subprocess.run(
                [*beginning, SHELL, "-c", ":"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROBE_S,
                check=False,
                env=clean_environment(os.environ, self.may_write),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{bwrap} cannot set it up: {error}"
        if done.returncode == 0:
            return ""
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"{bwrap} cannot set it up: {said[-1] if said else f'exit code {done.returncode}'}"

    def _weakness(self) -> str:
        """Return the restrictions that it cannot enforce on this machine, although it works."""
        if os.uname().machine in MACHINES or (self._namespaces and os.geteuid() != 0):
            return ""
        return "Commands in it can create user namespaces."

    def _signature(self, bwrap: str) -> tuple[object, ...]:
        return bwrap, self._options, *self._folders()


def _existing(folders: Sequence[Path], *besides: Path) -> tuple[Path, ...]:
    """Return the existing folders that are not links: a command may have created a link for a missing folder. The root
    is left out unless it is in `besides`.
    """
    return tuple(
        folder
        for folder in folders
        if folder in besides or (folder != Path("/") and folder.is_dir() and os.path.realpath(folder) == str(folder))
    )
