"""Environment of the programs that the daemon runs by itself, and lookup of these programs.

A folder that a sandboxed command, or any user of the machine, can write may contain a program under any name. Nothing
is run from there unless the user allowed that very command.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

MayWrite = Callable[[Path], bool]
"""Returns whether a command in the sandbox can write a path, of which only the last part may be a link."""

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
"""Variables that select a repository; a daemon started from a git hook inherits them."""

_PART = re.compile(r"[^\s:;,='\"]+")

MAX_LINKS = 40
"""Maximum number of links in a path, as on Linux."""


def clean_environment(environment: Mapping[str, str], may_write: MayWrite) -> dict[str, str]:
    """Return the variables without those that lead a program to code in a writable place."""
    clean: dict[str, str] = {}
    for name, value in environment.items():
        if name in OF_A_REPOSITORY:
            continue
        if name in PATH_LISTS:
            kept = [each for each in value.split(os.pathsep) if is_safe(each, may_write)]
            if kept or name == "PATH":  # without a PATH, some programs search the working directory
                clean[name] = os.pathsep.join(kept) or os.defpath
        elif name not in COMMANDS or all(_is_safe_word(part, may_write) for part in _PART.findall(value)):
            clean[name] = value
    return clean


def find_program(name: str, environment: Mapping[str, str], may_write: MayWrite) -> str | None:
    """Return the absolute path of a program if neither it nor any link to it is in a writable place."""
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
    """Return whether a path is absolute, and nothing on the way to its target is in a writable place."""
    if not Path(path).is_absolute():
        return False
    last = Path("/")
    for last in map(Path, steps(path)):
        if may_write(last):
            return False
    return not _is_for_everybody(last)


def _is_safe_word(part: str, may_write: MayWrite) -> bool:
    """Return whether a part of a command line or of options is a plain word or a safe path."""
    return ("/" not in part and not part.startswith((".", "~"))) or is_safe(part, may_write)


def steps(path: str) -> Iterator[str]:
    """Yield every folder entry that is looked up when a path is resolved, ending with the target."""
    at, left, n_links = "", _names_of(path), 0
    while left:
        name = left.pop()
        if name == "..":
            at = at.rpartition("/")[0]
            continue
        step = f"{at}/{name}"
        yield step
        try:
            target = os.readlink(step)  # noqa: PTH115 - creating thousands of Paths takes longer than reading the links
        except OSError:  # not a link, or missing
            at = step
            continue
        n_links += 1
        if n_links > MAX_LINKS:
            return
        at = "" if target.startswith("/") else at
        left += _names_of(target)


def _names_of(path: str) -> list[str]:
    """Return the names in a path, last one first."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _is_for_everybody(path: Path) -> bool:
    """Return whether any user of the machine can create files in this folder or change this file."""
    try:
        return bool(path.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return False
