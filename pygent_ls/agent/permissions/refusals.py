"""Actions that are refused in every mode and that no rule or answer can allow.

These are commands that would destroy the system, the home folder or a disk, and writes to the daemon's own files and to
a repository's git hooks, which run programs later. Commands are judged by their text, which shows intent and mistakes;
what a program does once it runs is the sandbox's concern.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise

from msgspec import Struct

from pygent_ls.shell.command_line import ShellLine, SimpleCommand, Write
from pygent_ls.shell.words import ANY, HOME


class Protected(Struct, frozen=True, kw_only=True):
    """Protected places, as absolute paths with `/`."""

    home: str = ""
    """The user's home folder."""
    folders: tuple[str, ...] = ()
    """The daemon's own folders: its settings and its state."""
    keys: tuple[str, ...] = ()
    """Files with the keys that the user saved, which no tool may read either."""

    def reason_against_reading(self, paths: Iterable[str]) -> str | None:
        """Return why no tool may read one of these absolute paths; None if all may be read."""
        kept = {path.casefold() for path in self.keys}
        return _KEYS_STAY if any(path.casefold() in kept for path in paths) else None

    def reason_against_path(self, path: str) -> str | None:
        """Return why this absolute path may not be written; None if it may."""
        parts = path.casefold().split("/")
        if _holds_hooks(parts):
            return "git hooks run programs, so tools never write them"
        for folder in self.folders:
            if folder and _is_within(parts, folder.casefold().split("/")):
                return "tools never write the daemon's own settings and state"
        return None

    def reason_against_line(self, line: ShellLine, folder: str, *, is_held: bool = False) -> str | None:
        """Return why this command line is never run in this folder; None if it may be.

        In a sandbox (`is_held`) single writes to protected places are left to it: it makes them fail, and the rest of
        the line can run.
        """
        if _is_fork_bomb(line.text):
            return "it starts processes without end"
        for command in line.all():
            if reason := self._reason_against(command, folder, is_held=is_held):
                return reason
        words = dict.fromkeys((each.folder, word) for each in line.all() for word in each.words[1:])
        if reason := self.reason_against_reading(
            self._absolute(word, self._absolute(inside, folder)) for inside, word in (words if self.keys else ())
        ):
            return reason
        for write in () if is_held else line.writes:
            if reason := self._reason_against_write(write, folder):
                return reason
        return None

    def _reason_against(self, command: SimpleCommand, folder: str, *, is_held: bool) -> str | None:
        where = self._absolute(command.folder, folder)
        name, arguments = command.name, command.words[1:]
        if self._destroys(name, arguments, where):
            return "it would destroy the system or the home folder"
        if any(_is_disk(target) for target in _disk_targets(name, arguments)):
            return "it would overwrite a disk"
        if _trusts(command):
            return "only the user can trust a folder, not a command of the agent"
        if _is_own_command(command, "setup"):
            return "only the user can set up models and keys, not a command of the agent"
        for target in () if is_held else _written(name, arguments):
            if reason := self.reason_against_path(self._absolute(target, where)):
                return reason
        return None

    def _reason_against_write(self, write: Write, folder: str) -> str | None:
        path = self._absolute(write.path, self._absolute(write.folder, folder))
        return "it would overwrite a disk" if _is_disk(path) else self.reason_against_path(path)

    def _absolute(self, path: str, folder: str) -> str:
        path = path.replace(HOME, self.home or ANY) if path.startswith(HOME) else path
        joined = posixpath.normpath(posixpath.join(folder or ".", path))
        return re.sub("^//", "/", joined)

    # What would be lost

    def _destroys(self, name: str, arguments: Sequence[str], where: str) -> bool:
        if _could_be(name, "rm", "grm") and _is_recursive(arguments):
            return self._any_vital(_plain(arguments), where)
        if _could_be(name, "find", "gfind"):
            removes = "-delete" in arguments or _runs_rm(arguments)
            return removes and not _is_narrowed(arguments) and self._any_vital(_start_points(arguments), where)
        if name in ("chmod", "chown", "chgrp", "setfacl") and _is_recursive(arguments):
            return self._any_vital(_plain(arguments)[1:], where)
        if name == "mv":
            return self._any_vital(_plain(arguments)[:-1], where)
        if name == "rsync" and any(word.startswith("--del") for word in arguments):
            return self._any_vital(_plain(arguments)[-1:], where)
        return name in ("shred", "srm", "wipe") and self._any_vital(_plain(arguments), where)

    def _any_vital(self, targets: Iterable[str], where: str) -> bool:
        return any(self._is_vital(target, where) for target in targets)

    def _is_vital(self, target: str, where: str) -> bool:
        """Whether the target is the root, a system folder or the home folder, everything in one of them, or a folder
        above the home folder."""
        if not target or (target == ANY and where not in self._vital):
            return False
        path = self._absolute(target, where)
        inside, _, last = path.rpartition("/")
        if ANY in last and last.strip(ANY + ".") == "":  # `/*`, `~/.*`, `/$UNSET`
            path = inside or "/"
        return path in self._vital

    @property
    def _vital(self) -> frozenset[str]:
        home = posixpath.normpath(self.home) if self.home else ANY
        return _SYSTEM | {home, posixpath.dirname(home)} - {""}


_KEYS_STAY = "no tool may read the saved keys of providers"


def _trusts(command: SimpleCommand) -> bool:
    """Whether it runs the daemon's own `trust` in place of the user."""
    return _is_own_command(command, "trust", but_for="--show")


def _is_own_command(command: SimpleCommand, name: str, but_for: str = "") -> bool:
    """Whether it is a command of `pygent-ls`, run by its name or through a launcher of Python programs."""
    if not (_could_be(command.name, "pygent-ls") or re.match(r"(python|pypy|py$|uv|pipx)", command.name)):
        return False
    words = [posixpath.basename(word).replace("_", "-") for word in command.words]
    if "pygent-ls" not in words:
        return _could_be(command.name, "pygent-ls") and name in words
    after = words[words.index("pygent-ls") + 1 :]
    return name in after and not (but_for and but_for in after)


_SYSTEM = frozenset(
    {"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/media", "/mnt", "/opt", "/proc"}
    | {"/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin"}
    | {"/usr/share", "/var", "/var/lib"}
    | {"/Applications", "/Library", "/System", "/Users", "/Volumes", "/private", "/private/etc", "/private/var"}
)

_FUNCTION = re.compile(r"(?<=[\w:.@\s-])\(\s*+\)\s*+\{(?=([^}]{0,200}))")
"""Start of a function's body, after its name."""


def _is_fork_bomb(text: str) -> bool:
    """Whether a function in the text runs itself twice, once in the background."""
    for found in _FUNCTION.finditer(text):
        if "|" not in found[1]:
            continue
        before = text[max(found.start() - MAX_NAME_CHARS, 0) : found.start()].rstrip()
        if name := re.search(r"[\w:.@-]+$", before):
            itself = re.escape(name[0])
            if re.search(rf"{itself}\s*+\|\s*+{itself}\s*+&", found[1]):
                return True
    return False


MAX_NAME_CHARS = 100
"""Maximum length of a function's name, with the spaces after it, that is searched."""


_NARROWING = re.compile(
    r"-(i?(name|path|regex|wholename)|[acm](min|time)|[ac]?newer\w*|size|user|group|perm|empty|inum|nouser|nogroup)"
)


def _could_be(name: str, *names: str) -> bool:
    if ANY not in name:
        return name.lower() in names
    pattern = name.lower().replace("[", "[[]").replace(ANY, "*")
    return any(fnmatchcase(each, pattern) for each in names)


def _plain(arguments: Sequence[str]) -> list[str]:
    if "--" in arguments:
        at = list(arguments).index("--")
        return [*_plain(arguments[:at]), *arguments[at + 1 :]]
    return [word for word in arguments if not word.startswith("-")]


def _is_recursive(arguments: Sequence[str]) -> bool:
    options = arguments[: list(arguments).index("--")] if "--" in arguments else arguments
    return any(re.match(r"-[a-zA-Z]*[rR]|--r(ec|e?$)", word.replace(ANY, "")) for word in options)


def _start_points(arguments: Sequence[str]) -> Iterator[str]:
    for word in arguments:
        if word in ("-H", "-L", "-P"):
            continue
        if word.startswith(("-", "(", "!")):
            return
        yield word


def _runs_rm(arguments: Sequence[str]) -> bool:
    pairs = pairwise(arguments)
    return any(
        option in ("-exec", "-execdir", "-ok", "-okdir") and _could_be(program.rpartition("/")[2], "rm", "shred")
        for option, program in pairs
    )


def _is_narrowed(arguments: Sequence[str]) -> bool:
    return any(_NARROWING.fullmatch(word) for word in arguments)


# Disks

_DISK = re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|md|dm-|loop|mem|kmem|port|block/|disk/).*")


def _is_disk(path: str) -> bool:
    return _DISK.match(path) is not None


def _disk_targets(name: str, arguments: Sequence[str]) -> Iterator[str]:
    if name == "dd":
        yield from (word.removeprefix("of=") for word in arguments if word.startswith("of="))
    elif name.startswith("mkfs") or name in _FORMATTERS:
        yield from arguments
    elif name in ("tee", "truncate"):
        yield from _plain(arguments)
    elif name in ("cp", "mv", "install"):
        yield from _plain(arguments)[-1:]


_FORMATTERS = frozenset(
    {"mke2fs", "mkswap", "wipefs", "blkdiscard", "shred", "sgdisk", "sfdisk", "fdisk", "gdisk", "parted", "hdparm"}
    | {"newfs", "badblocks"}
)

# Files that a command writes

_WRITES_ALL = frozenset(
    {"tee", "touch", "mkdir", "rm", "rmdir", "unlink", "chmod", "chown", "chgrp", "chattr", "ln", "mv", "shred"}
    | {
        "truncate",
        "patch",
        "ed",
        "ex",
        "vi",
        "vim",
        "nvim",
        "nano",
        "emacs",
        "mkfifo",
        "mknod",
        "link",
        "setfacl",
        "sponge",
    }
)
_WRITES_LAST = frozenset({"cp", "install", "rsync", "scp", "gcp"})
_INTO = re.compile(r"(--target-directory=|--output=|--output-document=|--directory=|-o|-O|-t|-C|-d|of=)(.+)", re.DOTALL)
_NEXT_IS_INTO = frozenset(
    {"-t", "--target-directory", "-o", "-O", "--output", "--output-document", "-C", "--directory", "-d", "-P"}
)


def _written(name: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield the paths that a command would write, as far as its words show them."""
    plain = _plain(arguments)
    if name in _WRITES_ALL or ANY in name:
        yield from plain
    elif name in _WRITES_LAST:
        yield from plain[-1:]
    elif name in ("sed", "perl", "gsed") and any(re.match(r"-[a-zA-Z0-9]*i|--in-place", word) for word in arguments):
        yield from plain
    if name == "git":
        yield from _written_by_git(arguments)
    if name in ("find", "gfind"):
        yield from (path for word, path in pairwise(arguments) if re.fullmatch(r"-f(print[0f]?|ls)", word))
    if name not in _READERS:
        yield from _given_as_target(arguments)


def _written_by_git(arguments: Sequence[str]) -> Iterator[str]:
    yield from (word.partition("=")[2] for word in arguments if re.match(r"--out[a-z-]*=", word))
    yield from (path for word, path in pairwise(arguments) if word in ("-o", "--output", "--output-directory"))
    if any(word in ("clone", "init", "worktree") for word in arguments):
        yield from _plain(arguments)[1:]


_READERS = frozenset({"ls", "cat", "grep", "rg", "find", "stat", "head", "tail", "wc", "file", "diff", "git"})


def _given_as_target(arguments: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(arguments):
        if found := _INTO.fullmatch(word):
            yield found[2]
        if word in _NEXT_IS_INTO and index + 1 < len(arguments):
            yield arguments[index + 1]


def _holds_hooks(parts: Sequence[str]) -> bool:
    """Whether the path is, or lies in, a repository's hooks folder; submodules and worktrees have theirs below."""
    repositories = [index for index, part in enumerate(parts) if _is_part(part, ".git")]
    return any(_is_part(part, "hooks") for index in repositories[:1] for part in parts[index + 1 :])


def _is_within(parts: Sequence[str], folder: Sequence[str]) -> bool:
    return len(parts) >= len(folder) and all(
        _is_part(part, wanted) for part, wanted in zip(parts, folder, strict=False)
    )


def _is_part(part: str, wanted: str) -> bool:
    if ANY not in part:
        return part == wanted
    return part.strip(ANY) != "" and fnmatchcase(wanted, part.replace("[", "[[]").replace(ANY, "*"))
