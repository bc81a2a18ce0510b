"""Which files a command line would show, as far as its words tell."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pygent_ls.agent.reading_rules import FileRead
from pygent_ls.agent.workspace import Workspace
from pygent_ls.errors import ToolError
from pygent_ls.shell.line import ShellLine, SimpleCommand
from pygent_ls.shell.parser import read_line
from pygent_ls.shell.words import ANY, HOME

_SEARCHING = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "sed", "gsed", "awk", "gawk", "jq"})
"""Programs whose first word is a pattern or a program, unless an option gives it."""

_COPYING = frozenset({"cp", "gcp", "mv", "ln", "install", "rsync", "scp"})
"""Programs whose last word is where they put the others."""

_SHOWING = (
    _SEARCHING
    | _COPYING
    | {"cat", "tac", "nl", "head", "tail", "less", "more", "most", "bat", "batcat", "view", "pr", "fold", "fmt", "cut"}
    | {"sort", "uniq", "paste", "join", "comm", "diff", "cmp", "sdiff", "rev", "shuf", "split", "csplit", "column"}
    | {"base32", "base64", "basenc", "xxd", "od", "hexdump", "hd", "strings", "iconv", "yq", "dd", "zcat", "bzcat"}
    | {"xzcat", "gzip", "bzip2", "xz", "zstd", "tar", "zip", "7z", "source", ".", "readarray", "mapfile"}
    | {"vi", "vim", "nvim", "nano", "emacs", "ed", "ex", "openssl", "gpg"}
)
"""Programs that show, copy, rename or load the files that they are given."""

_SILENT = frozenset(
    {"ls", "stat", "test", "[", "[[", "rm", "rmdir", "touch", "mkdir", "chmod", "chown", "chgrp", "echo", "printf"}
    | {"du", "df", "cd", "pushd", "pwd", "basename", "dirname", "realpath", "readlink", "true", "false", "which"}
    | {"wc", "md5sum", "sha1sum", "sha256sum", "cksum", "file", "find", "fd", "tree", "tee", "export", "unset", "kill"}
)
"""Programs that tell of a file no more than its name, kind and size."""

_SHOWING_GIT = frozenset({"show", "diff", "blame", "annotate", "cat-file", "grep", "log", "archive", "difftool"})
_SILENT_GIT = frozenset({"add", "rm", "status", "commit", "restore", "checkout", "reset", "ls-files", "check-ignore"})

_RECURSIVE = frozenset({"rg", "ag", "ack", "tar", "zip", "7z", "rsync"})
_RECURSIVE_WITH_R = frozenset({"grep", "egrep", "fgrep", "zgrep", "cp", "gcp", "scp", "diff"})

_FEEDING = frozenset({"xargs", "parallel"})
"""Programs that give another one words which nobody sees before."""


def reads_of(text: str, folder: Path, workspace: Workspace) -> tuple[FileRead, ...]:
    """Every file that a command line may show, by the paths that rules are held against; begun in `folder`.

    What a program reads of itself, without being told to, is not among them.
    """
    found: dict[FileRead, None] = {}
    for path, is_sure in _files_in(read_line(text)):
        absolute = posixpath.normpath(posixpath.join(folder.as_posix(), path))
        places = [Path(absolute)]
        if ANY not in absolute:
            with suppress(ToolError):  # outside the workspace its own name is all there is
                places.append(workspace.resolve(absolute))
        found |= {FileRead(path=workspace.shown(place), is_sure=is_sure): None for place in places}
    return tuple(found)


def _files_in(line: ShellLine) -> Iterator[tuple[str, bool]]:
    """Paths, relative to where the line runs or absolute, and whether it is sure that they are read."""
    for each in line.reads:
        yield _joined(each.folder, each.path), True
    for command in line.all():
        yield from _named_in(command)
        if command.name in _FEEDING:
            yield from ((_joined(each.command.folder, ANY), False) for each in command.runs)


def _named_in(command: SimpleCommand) -> Iterator[tuple[str, bool]]:
    name = command.name.lower().removesuffix(".exe")
    shows = name in _SHOWING
    is_silent = name in _SILENT or (bool(command.runs) and not shows)
    if name == "git":
        done = next((word for word in command.words[1:] if not word.startswith("-")), "")
        shows, is_silent = done in _SHOWING_GIT, done in _SILENT_GIT
    if is_silent:
        return
    paths = [path for word in _arguments(name, command.words[1:]) for path in _paths_in(word)]
    yield from ((_joined(command.folder, path), shows) for path in paths)
    if name in _RECURSIVE or (name in _RECURSIVE_WITH_R and _has_option(command.words, "[rR]", "--recursive")):
        for path in paths or [""]:
            yield _joined(command.folder, path).rstrip("/") + "/" + ANY, False


def _arguments(name: str, words: Sequence[str]) -> list[str]:
    """The words that may name what is read."""
    plain = [index for index, word in enumerate(words) if not word.startswith("-")]
    left_out: list[int] = []
    if name in _SEARCHING and not _has_option(words, "[ef]", "--regexp|--file|--expression|--from-file"):
        left_out = plain[:1]
    elif name in _COPYING and not _has_option(words, "t", "--target-directory"):
        left_out = plain[-1:]
    return [word for index, word in enumerate(words) if index not in left_out]


def _has_option(words: Sequence[str], letters: str, long: str) -> bool:
    return any(re.match(rf"-[a-zA-Z]*{letters}|(?:{long})\b", word) for word in words)


def _paths_in(word: str) -> Iterator[str]:
    """What of a word may be a path: all of it, the value of an option, `@FILE`, and `REVISION:FILE`."""
    word = word.replace("{}", ANY)
    if not word.startswith("-"):
        yield word
    yield from (word[found.end() :] for found in re.finditer(r"[=@:]", word) if word[found.end() :])
    if found := re.match(r"-[a-zA-Z](?=[./\w])", word):
        yield word[found.end() :]


def _joined(folder: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(folder, path)).replace(HOME, ANY)
