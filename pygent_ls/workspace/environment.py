"""The environment of programs that the daemon runs by itself, and where it looks for them.

A folder that a command in the sandbox can write, or any user of the machine, may hold a program under any name. Nothing
is run from there unless the user allowed that very command.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

MayWrite = Callable[[Path], bool]
"""Whether a command in the sandbox can write a path; no part before its last is a link."""

PATH_LISTS = frozenset(
    {"PATH", "CLASSPATH", "GEM_PATH", "GIT_EXEC_PATH", "GCONV_PATH", "LOCPATH", "NODE_PATH"}
    | {"PERL5LIB", "PERLLIB", "PYTHONHOME", "PYTHONPATH", "RUBYLIB", "LUA_PATH", "LUA_CPATH"}
    | {"LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "OPENSSL_ENGINES", "OPENSSL_MODULES"}
    | {"DYLD_FALLBACK_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH"}
)
"""Variables that list files or folders with code, separated by colons."""

COMMANDS = frozenset(
    {"BASH_ENV", "ENV", "ZDOTDIR", "SHELL", "PROMPT_COMMAND", "EDITOR", "VISUAL", "PAGER", "BROWSER"}
    | {"LESSOPEN", "LESSCLOSE", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "NODE_OPTIONS", "PERL5OPT"}
    | {"PERL5DB", "PYTHONBREAKPOINT", "PYTHONSTARTUP", "PYTHONUSERBASE", "RUBYOPT", "OPENSSL_CONF"}
    | {"RIPGREP_CONFIG_PATH", "GNUPGHOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "NPM_CONFIG_USERCONFIG"}
    | {"GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_PAGER"}
    | {"GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_TEMPLATE_DIR", "SSH_ASKPASS"}
    | {"SUDO_ASKPASS", "SSH_SK_HELPER", "SSH_PKCS11_HELPER"}
)
"""Variables whose values name programs, options that load code, or configuration that does."""

OF_A_REPOSITORY = frozenset(
    {"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT"}
    | {"GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE"}
    | {"GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE"}
    | {"GIT_WORK_TREE", "GIT_ATTR_SOURCE", "GIT_INTERNAL_SUPER_PREFIX"}
)
"""What says which repository is meant; a daemon that was started from a git hook has inherited it."""

_PART = re.compile(r"[^\s:;,='\"]+")

MAX_LINKS = 40
"""As Linux: a path with more links leads nowhere."""


def clean_environment(environment: Mapping[str, str], may_write: MayWrite) -> dict[str, str]:
    """The variables without what leads a program to code in a place that can be written."""
    clean: dict[str, str] = {}
    for name, value in environment.items():
        if name in OF_A_REPOSITORY:
            continue
        if name in PATH_LISTS:
            kept = [each for each in value.split(os.pathsep) if is_safe(each, may_write)]
            if kept or name == "PATH":  # without a PATH, programs are looked for in the working directory by some
                clean[name] = os.pathsep.join(kept) or os.defpath
        elif name not in COMMANDS or all(_is_safe_word(part, may_write) for part in _PART.findall(value)):
            clean[name] = value
    return clean


def find_program(name: str, environment: Mapping[str, str], may_write: MayWrite) -> str | None:
    """The absolute path of a program that lies, with every link to it, where nothing can have been put."""
    named = Path(name)
    folders = (
        [named.parent] if named.is_absolute() else map(Path, environment.get("PATH", os.defpath).split(os.pathsep))
    )
    for folder in folders:
        found = folder / named.name
        is_there = is_safe(str(folder), may_write) and os.access(found, os.X_OK) and found.is_file()
        if is_there and is_safe(str(found), may_write):
            return str(found)
    return None


def is_safe(path: str, may_write: MayWrite) -> bool:
    """Whether a path is absolute, and nothing on the way to what it leads to is in a place that can be written."""
    if not Path(path).is_absolute():
        return False
    last = Path("/")
    for last in map(Path, steps(path)):
        if may_write(last):
            return False
    return not _is_for_everybody(last)


def _is_safe_word(part: str, may_write: MayWrite) -> bool:
    """Whether a part of a command line or of options is a plain word, or a safe path."""
    return ("/" not in part and not part.startswith((".", "~"))) or is_safe(part, may_write)


def steps(path: str) -> Iterator[str]:
    """Every entry of a folder that is looked up on the way to what a path leads to, the last of it at the end."""
    at, left, n_links = "", _names_of(path), 0
    while left:
        name = left.pop()
        if name == "..":
            at = at.rpartition("/")[0]
            continue
        step = f"{at}/{name}"
        yield step
        try:
            target = os.readlink(step)  # noqa: PTH115 - a Path for each of thousands takes longer than the link
        except OSError:  # no link, or nothing
            at = step
            continue
        n_links += 1
        if n_links > MAX_LINKS:
            return
        at = "" if target.startswith("/") else at
        left += _names_of(target)


def _names_of(path: str) -> list[str]:
    """The names in a path, the last one first."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _is_for_everybody(path: Path) -> bool:
    """Whether any user of the machine can make files in this folder, or change this file."""
    try:
        return bool(path.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return False
