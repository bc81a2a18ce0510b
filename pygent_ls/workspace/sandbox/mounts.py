"""Command line of bubblewrap: visible, writable, hidden and protected paths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.ports.processes import ReadOnly
from pygent_ls.workspace.sandbox.home import hidden_homes, is_there, shown
from pygent_ls.workspace.sandbox.protected_paths import Protection
from pygent_ls.workspace.sandbox.visible_paths import OF_ROOT, SECRETS, SERVICE_FOLDERS, VAR_READ, sockets

RUNNING_SYSTEM = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
"""Links to the programs of some distributions; everything else below /run is sockets of system services."""

NAME_SERVICE = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")
"""Possible targets of /etc/resolv.conf; used only with a network."""

ROOT_KEEPS = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID")
"""Capabilities kept if the daemon is root (in a container): those for working on other users' files, but none that
could change a read-only mount or reach a file around it.
"""

OF_KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")
"""Settings of the machine; root may write some of them without any capability."""

TMP = "/tmp"  # noqa: S108 - its path inside

CACHES = f"{TMP}/caches"
"""Writable cache folder for programs that do not run without one (uv, go, npm)."""


_ESCAPED = re.compile(rb"[ \t\n\\\\]")
_ESCAPE = re.compile(rb"\\\\([0-7]{3})")
"""Escape sequence in the system's list of mounts."""


class SandboxLimits(Struct, frozen=True, kw_only=True):
    """Paths that a command in the sandbox may see and change."""

    folders: tuple[Path, ...]
    """Writable folders, except for their protected parts. Absolute, links resolved."""
    network: bool
    home: Path
    own: tuple[Path, ...]
    """Daemon's configuration and state."""
    temporary: Path
    """Folder with `tmp`, which is mounted at /tmp, `empty`, an empty folder, and `nothing`, an empty file."""
    read: tuple[Path, ...] = ()
    """Folders of the home that the settings make visible."""
    skills: Path | None = None
    """Folder of the user's skills in the configuration, whose scripts a command may run."""
    protected: Mapping[Path, Protection] = field(default_factory=dict[Path, Protection])
    namespaces: bool = False
    """Whether bubblewrap, in addition to the filter, prevents commands from creating user namespaces."""


def arguments(limits: SandboxLimits, cwd: Path, read_only: ReadOnly | None = None) -> list[str]:
    """Return bubblewrap's arguments. Later mounts cover earlier ones, so the order is: everything, hidden parts of it,
    visible parts of those, folders, protected paths.

    A `read_only` program cannot write to the folders or anything else, regardless of the limits.
    """
    if read_only:
        limits = replace(limits, network=False, protected={})
    whole = Path("/") in limits.folders and not read_only
    folders = sorted(folder for folder in limits.folders if folder.is_dir() and folder != Path("/"))
    return [
        *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *(("--unshare-user", "--disable-userns") if limits.namespaces else ()),
        *(() if limits.network else ("--unshare-net",)),
        *("--cap-drop", "ALL"),
        *(part for name in (ROOT_KEEPS if os.geteuid() == 0 else ()) for part in ("--cap-add", name)),
        *("--bind" if whole else "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *(part for path in OF_KERNEL if Path(path).exists() for part in ("--ro-bind", path, path)),
        *(("--tmpfs", TMP) if read_only else ("--bind", str(limits.temporary / "tmp"), TMP)),
        *_mounts(limits, folders, cwd, read_only),
        *(("--setenv", "TMPDIR", TMP) if "TMPDIR" in os.environ else ()),
        *(() if whole else _caches()),
        *("--chdir", str(cwd), "--"),
    ]


def listed(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the line in the system's list of mounts for each of these paths when mounted on itself: source and target.
    bubblewrap finds both by name, so a running command could put a link in the way. Raises OSError.
    """
    mounts: dict[bytes, tuple[bytes, bytes]] = {}
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        number, _, _, *places = line.split(b" ")[:5]
        root, point = (_ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), each) for each in places)
        mounts[number] = root.rstrip(b"/"), point.rstrip(b"/")
    for path in paths:
        root, point = mounts[_mount_of(path)]
        name = os.fsencode(path)
        if not name.startswith(point + b"/"):
            raise OSError(f"{path} is behind a link")
        pair = (_ESCAPED.sub(lambda found: b"\\%03o" % found[0][0], each) for each in (root + name[len(point) :], name))
        yield os.fsdecode(b" ".join(pair))


def _mount_of(path: Path) -> bytes:
    """Return the number of the mount that contains a path."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return Path(f"/proc/self/fdinfo/{descriptor}").read_bytes().partition(b"mnt_id:")[2].split()[0]
    finally:
        os.close(descriptor)


def _caches() -> Iterator[str]:
    yield from ("--setenv", "XDG_CACHE_HOME", CACHES)
    yield from ("--setenv", "npm_config_cache", f"{CACHES}/npm")


def _mounts(limits: SandboxLimits, folders: Sequence[Path], cwd: Path, read_only: ReadOnly | None) -> Iterator[str]:
    """Yield the arguments for the folders, and for paths hidden or protected around them and in them."""
    bind = "--ro-bind" if read_only else "--bind"
    system = dict(_system(network=limits.network))
    bases = (*hidden_homes(limits.home), *system)
    empty = [base for base in bases if not any(base.is_relative_to(folder) for folder in limits.folders)]
    show = shown(limits.home, folders, limits.read, os.environ)
    yield from _emptied(limits, empty, system, show)
    visible = [*show, *(path.resolve() for path in show), *folders]

    def is_visible(path: Path) -> bool:
        covered = any(path.is_relative_to(each) for each in (*empty, Path(TMP)))
        return not covered or any(path.is_relative_to(each) for each in visible)

    def is_around_a_folder(path: Path) -> bool:  # the user works in there
        return any(folder.is_relative_to(path) for folder in folders)

    hidden = [path for path in _hidden(limits) if is_visible(path) or is_around_a_folder(path)]
    for path in filter(is_around_a_folder, hidden):
        yield from _hiding(path, limits.temporary)
    if not is_visible(cwd):
        yield from ("--dir", str(cwd)) if limits.home.is_relative_to(cwd) else ("--ro-bind", str(cwd), str(cwd))
    yield from (part for folder in folders for part in (bind, str(folder), str(folder)))
    yield from _seen(read_only) if read_only else ()
    for path in hidden:
        if not is_around_a_folder(path):
            yield from _hiding(path, limits.temporary)
    yield from _own_files([path for path in limits.own if is_around_a_folder(path)], limits, read_only)
    for path, how in sorted(limits.protected.items()):
        yield from ("--bind" if how == "pin" else "--ro-bind", str(path), str(path))
    for base in empty:
        yield from ("--remount-ro", str(base))


def _seen(read_only: ReadOnly) -> Iterator[str]:
    for path in read_only.reads:
        yield from ("--ro-bind", str(path), str(path))
    yield from ("--bind", str(read_only.scratch), str(read_only.scratch))


def _emptied(
    limits: SandboxLimits, empty: Sequence[Path], system: Mapping[Path, Sequence[Path]], show: Sequence[Path]
) -> Iterator[str]:
    """Yield the arguments for folders of which little is visible."""
    for base in empty:
        yield from ("--tmpfs", str(base))
    if Path("/var") in empty:
        yield from ("--bind", str(limits.temporary / "tmp"), "/var/tmp")  # noqa: S108 - its path inside
        yield from ("--symlink", "/run", "/var/run", "--symlink", "/run/lock", "/var/lock")
    for base in empty:
        for path in system.get(base, ()):
            if is_there(path):
                yield from ("--ro-bind", str(path), str(path))
    for path in show:
        yield from ("--ro-bind", str(path.resolve()), str(path))


def _system(*, network: bool) -> Iterator[tuple[Path, Sequence[Path]]]:
    """Yield hidden folders of services, each with its visible parts."""
    run = (*RUNNING_SYSTEM, *(NAME_SERVICE if network else ()))
    var = [Path("/var") / name for name in VAR_READ]
    for path, shows in ((Path("/run"), list(map(Path, run))), (Path("/var"), var)):
        if path.is_dir() and not path.is_symlink():
            yield path, shows
    for path in SERVICE_FOLDERS:
        if path.is_dir():
            yield path, ()


def _hidden(limits: SandboxLimits) -> Iterator[Path]:
    """Yield the existing secrets, by their real paths, and the sockets of programs that act for the user."""
    below_home = (limits.home / name for name in SECRETS)
    outside = (path for path in sockets(os.environ) if not any(path.is_relative_to(each) for each in limits.folders))
    for path in (*below_home, *map(Path, OF_ROOT), *limits.own, limits.temporary, *outside):
        if os.path.lexists(path):
            real = path.resolve()
            if is_there(real) and real != Path("/"):
                yield real


def _own_files(in_use: Sequence[Path], limits: SandboxLimits, read_only: ReadOnly | None) -> Iterator[str]:
    """Yield the mounts of the daemon's folders that the user works in (`in_use`), and of the user's skills: the folder
    around them is hidden otherwise. A skill may be a link of the user."""
    for path in in_use:
        yield from ("--ro-bind", str(path if path.exists() else limits.temporary / "empty"), str(path))
    shown = () if limits.skills is None or in_use or read_only else sorted(limits.skills.glob("*/SKILL.md"))
    for main in shown:
        yield from ("--ro-bind", str(main.parent.resolve()), str(main.parent))


def _hiding(path: Path, temporary: Path) -> tuple[str, ...]:
    if path.is_dir():
        return "--tmpfs", str(path)
    return "--ro-bind", str(temporary / "nothing"), str(path)
