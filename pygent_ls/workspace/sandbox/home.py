"""Paths of the homes shown in the sandbox: tools, their downloads, and folders from the settings."""

from __future__ import annotations

import os
import pwd
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pygent_ls.workspace.environment import steps
from pygent_ls.workspace.sandbox.visible_paths import HOME_READ, HOMES, SECRETS, SHARED_TOOLS, TOOL_VARIABLES

BESIDE_PROGRAMS = ("bin", "sbin", "lib", "lib64", "libexec", "share", "include")
"""Folders of an installation whose `bin` is on the PATH."""

MAX_LINKS = 1_000
"""Maximum number of links read in one folder of programs."""

MAX_HOPS = 10
"""Maximum number of successive links to an interpreter."""

ENVIRONMENTS = (".venv", "venv", "env")
"""Python environments in a workspace folder, whose interpreter may be in the home."""

_INTERPRETER = re.compile(r"(?:python|pypy)[0-9.]*t?")


_ROOT = Path("/")


def hidden_homes(home: Path) -> tuple[Path, ...]:
    """Return the folders that contain homes, and this home, except those that contain the system itself."""
    real = {each.resolve() for each in (*HOMES, *_own_homes(home)) if each.is_dir()}
    outer = {each for each in real if not Path("/usr/bin").is_relative_to(each)}
    return tuple(
        sorted(each for each in outer if not any(each != other and each.is_relative_to(other) for other in outer))
    )


def _own_homes(home: Path) -> set[Path]:
    """Return the user's home according to the environment and according to the system."""
    try:
        return {home, Path(pwd.getpwuid(os.geteuid()).pw_dir)}
    except KeyError:  # a container's user without a line in /etc/passwd
        return {home}


def is_there(path: Path) -> bool:
    """Return whether the path leads to something that this user can see."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def shown(home: Path, folders: Sequence[Path], more: Sequence[Path], environment: Mapping[str, str]) -> list[Path]:
    """Return the existing paths that may be seen in the homes, each by the name that programs use; never a whole home.

    A link in the workspace only makes an interpreter visible: commands can create links there.
    """
    bases = hidden_homes(home)
    homes = _own_homes(home)
    named = [each / name for each in sorted(homes) for name in HOME_READ]
    named += SHARED_TOOLS
    named += _of_tools(environment, bases, folders)
    for program in _interpreters(folders):
        named += (program, *_installation(program))
    named += more
    found: dict[Path, None] = {}
    for path in dict.fromkeys(named):
        lies_there = _lies_in(path, bases) or _lies_in(os.path.realpath(path), bases)
        if lies_there and is_there(path) and (path in more or _may_be_shown(path, homes, folders)):
            found[path] = None
    return [path for path in found if not any(path != other and path.is_relative_to(other) for other in found)]


def _lies_in(path: Path | str, bases: Iterable[Path]) -> bool:
    return f"{path}/".startswith(tuple(f"{base}/" if base != _ROOT else "/" for base in bases))


def _may_be_shown(path: Path, homes: Collection[Path], folders: Sequence[Path]) -> bool:
    real = Path(os.path.realpath(path))
    secrets = tuple(f"{home}/{name}/" for home in homes for name in SECRETS)
    is_secret = any(f"{each}/".startswith(secrets) for each in (path, real))
    return not (is_secret or _is_too_much(path, homes) or _is_led_by(path, folders))


def _is_led_by(path: Path | str, folders: Sequence[Path]) -> bool:
    """Return whether anything on the way to the path's target is in these folders."""
    return any(_lies_in(step, folders) for step in steps(os.fspath(path)))


def _is_too_much(path: Path, homes: Collection[Path]) -> bool:
    """Return whether the path contains a home, or the data of all programs."""
    return any(home.is_relative_to(path) or path in (home / "share", home / ".local" / "share") for home in homes)


def _of_tools(environment: Mapping[str, str], bases: Sequence[Path], folders: Sequence[Path]) -> Iterator[Path]:
    for name in TOOL_VARIABLES:
        for text in environment.get(name, "").split(os.pathsep):
            if text.startswith("/"):
                yield Path(os.path.normpath(text))
    yield from (Path(sys.prefix), Path(sys.base_prefix))
    for text in dict.fromkeys(environment.get("PATH", "").split(os.pathsep)):
        if text.startswith("/"):
            folder = Path(os.path.normpath(text))
            yield folder
            yield from _installation(folder / "any")
            if not _is_led_by(folder, folders):
                yield from _behind_links(folder, bases, folders)


def _behind_links(folder: Path, bases: Sequence[Path], folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the targets of the programs in a folder, with their installations, except those reached through the
    workspace.
    """
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for _, entry in zip(range(MAX_LINKS), entries, strict=False) if entry.is_symlink()]
    except OSError:
        return
    if not _lies_in(os.path.realpath(folder), bases):  # the system has many links, and few lead directly to a home
        links = [link for link in links if _lies_in(os.readlink(link), bases)]  # noqa: PTH115 - there are thousands
    for target in map(Path, {os.path.realpath(link) for link in links if not _is_led_by(link, folders)}):
        if target.parent != folder:
            yield target
            yield from _installation(target)


def _installation(program: Path) -> Iterator[Path]:
    """Yield the parts of the installation of a program in a `bin`, and the `bin`."""
    if program.parent.name in ("bin", "sbin"):
        for name in BESIDE_PROGRAMS:
            yield program.parent.parent / name


def _interpreters(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        for name in ENVIRONMENTS:
            python = folder / name / "bin" / "python"
            for _ in range(MAX_HOPS):
                if not python.is_symlink():
                    break
                python = Path(os.path.normpath(python.parent / python.readlink()))
                if _INTERPRETER.fullmatch(python.name) and python.is_file() and os.access(python, os.X_OK):
                    yield python
