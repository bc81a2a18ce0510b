"""Files whose text a git command would show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from pygent_ls.shell.programs.arguments import Arguments, split, syntax
from pygent_ls.shell.programs.file_display import GIT_SILENT, GIT_SUMMARY
from pygent_ls.shell.programs.git import COMMANDS, GLOBAL
from pygent_ls.shell.words import ANY, HOME

_ALL = frozenset(
    {"stash show", "stash list", "reflog", "status", "commit", "apply", "clone", "fetch", "fsck", "pull", "remote"}
    | {"worktree add"}
)
"""Commands that show or copy all text, whichever files their arguments name."""

_GLOBAL = "--no-pager -P --no-optional-locks --literal-pathspecs"
"""Options before the command that do not change what paths mean."""


def shown_by_git(words: Sequence[str], kind_of: Callable[[str], str]) -> Iterator[str]:
    """Yield the paths of files whose text the command may show.

    `FOLDER/ANY` stands for everything below a folder, `ANY` for any file of the repository. `kind_of` says whether a
    path, as the words give it, is that of a "file" or a "folder", or "missing".
    """
    before = split(words, replace(syntax(GLOBAL), stops_at=1))
    if not before.plain:
        return
    begin = before.plain[0]
    command = words[begin]
    if f"{command} {''.join(words[begin + 1 : begin + 2])}" in {**COMMANDS, **GIT_SILENT}:
        begin += 1
        command = f"{command} {words[begin]}"
    how = COMMANDS.get(command)
    given = split(words, syntax(how or ""), begin + 1)
    is_known = (
        how is not None and not given.unknown and not any(each.name in syntax(how).unsafe for each in given.options)
    )
    names = {each.name for each in given.options} | ({"--"} & set(words[begin + 1 :]))
    objects = [words[at] for at in given.plain if at < given.rest]
    own = {each.name for each in before.options} - set(_GLOBAL.split())
    moves = bool(own - {"-c", "-C"} or before.unknown)  # to another work tree, into which it could copy everything
    yield from (path for each in before.options if each.name == "-c" for path in _pieces_of(each.value or ""))
    if command == "config":  # programs, such as editors, may be among the values
        yield from (path for at in given.plain[1:] for path in _pieces_of(words[at]))
    if is_known and not moves and _is_silent(command, names, objects, kind_of):
        return
    is_elsewhere = moves or own
    if is_elsewhere or not is_known or command in _ALL or "--full-diff" in names:
        yield ANY
    elif command != "mv":
        yield from [] if _is_limited(command, words, given, kind_of) else [ANY]
    for index, word in enumerate(words[begin + 1 :], begin + 1):
        for path in _paths_in(word):
            yield path
            # a word that names no file is a revision, unless it follows `--`
            if kind_of(path) == "folder" or (index >= given.rest and kind_of(path) == "missing"):
                yield f"{path}/{ANY}"


def _is_silent(command: str, options: set[str], objects: Sequence[str], kind_of: Callable[[str], str]) -> bool:
    if command == "clone":
        return all(re.match(r"(?!file:)[^/:]+:", each) for each in objects[:1])
    if command in ("fetch", "pull", "remote"):  # it may fetch from this or another local repository
        return not any(re.match(rf"[./~{ANY}{HOME}]|file:", each) or kind_of(each) == "folder" for each in objects)
    if command in GIT_SILENT:
        return not options & set(GIT_SILENT[command].split())
    needed, showing = GIT_SUMMARY.get(command, ("", ""))
    if command == "stash show" and not options:
        return True  # a summary; with any option it may show the text instead
    if command == "show" and any(":" in each or re.fullmatch(r"[0-9a-f]{4,}", each) for each in objects):
        return False  # the text of a file given by name or object id is always shown
    return bool(options & set(needed.split())) and not options & set(showing.split())


def _is_limited(command: str, words: Sequence[str], given: Arguments, kind_of: Callable[[str], str]) -> bool:
    """Whether the words limit the command to certain files."""
    plain = [words[at] for at in given.plain]
    if not plain:
        return False
    if any(re.match(r":(?!/*\w)|:\(|:/", word) for word in plain):
        return False  # a pathspec pattern of git
    if command in ("blame", "annotate"):
        return True
    if command in ("show", "cat-file") and all(re.fullmatch(r"[^:]*:.+", word) for word in plain):
        return True
    if words[given.rest - 1] == "--":
        return given.plain[-1] >= given.rest
    return kind_of(plain[-1]) == "file"


def _pieces_of(setting: str) -> Iterator[str]:
    yield from re.findall(r"[^\s'\"`(),;<>|\[\]{}=]+", setting)


def _paths_in(word: str) -> Iterator[str]:
    """Yield the parts of a word that may be a path: all of it, what follows `REVISION:`, the value of an option."""
    word = re.sub(r"[*?\[]", ANY, word)
    if not word.startswith("-"):
        yield word
    yield from (word[found.end() :] for found in re.finditer(r"[=:]", word) if word[found.end() :])
