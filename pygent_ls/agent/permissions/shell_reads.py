"""Files that a command line would show, as far as its words tell."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

from msgspec import Struct

from pygent_ls.agent.ports.workspace import Workspace
from pygent_ls.agent.rules.read_rules import FileRead
from pygent_ls.errors import ToolError
from pygent_ls.shell.command_line import ShellLine, SimpleCommand
from pygent_ls.shell.options import MAX_WORD_CHARS, canonical, filled
from pygent_ls.shell.parser import read_line
from pygent_ls.shell.programs import awk, find, sed
from pygent_ls.shell.programs.arguments import Arguments, split, syntax
from pygent_ls.shell.programs.file_display import COPYING, FLAT, PATTERN_OPTIONS, RECURSIVE, SEARCHING, SHOWING, SILENT
from pygent_ls.shell.programs.git_reads import shown_by_git
from pygent_ls.shell.programs.system_programs import PROGRAMS, WRAPPERS
from pygent_ls.shell.words import ANY, HOME

_CODE = re.compile(
    r"python[\d.]*|node|deno|bun|perl|ruby|php|lua|psql|sqlite3|mysql|vim?|nvim|ex|ed|emacs|gdb|expect|osascript"
    r"|curl|wget|http|https|xh"
)
"""Programs that are given code, or forms, in their words and their input, in which paths stand among other things."""

_OTHER_NAMES = re.compile(r"/proc/.*\b(cwd|root|fd|task|map_files)\b.*|/dev/(fd|stdin)\b.*", re.DOTALL)
"""System names for open files and for the folders of processes."""

_ELSEWHERE = re.compile(r"\bGIT_(WORK_TREE|(COMMON_)?DIR|CONFIG\w*|INDEX_FILE|TEMPLATE_DIR|EXTERNAL_DIFF)\b")
"""Variables that make git use other files than its words name."""

_ARCHIVING = frozenset({"tarfile", "zipfile", "http.server", "shutil"})
"""Modules of Python that copy or serve the folders that they are given."""

_SCRIPTS = frozenset({"-e", "--regexp", "--expression"})
"""Options whose value is a pattern or a program."""

MAX_PATHS = 2_000
"""Maximum paths of one line that are examined; a line with more may show any file."""

MAX_LETTERS = 12
"""Maximum letters after one dash that are taken for options; more may hide the name of any file."""

MAX_PIECES = 200
"""Maximum pieces of one word that are taken for paths; a word with more may name any file."""


MAX_TEXT_PIECES = 1_000
"""Maximum different pieces of one text that are taken for paths; a text with more may name any file."""


class _NamedPath(Struct, frozen=True):
    """Path, absolute or relative to the folder in which the line runs."""

    path: str
    is_sure: bool
    may_be_folder: bool = False
    """Whether the content of the path is shown too, if it is a folder."""


def reads_of(text: str, folder: Path, workspace: Workspace) -> tuple[FileRead, ...]:
    """Return every file that a command line, started in `folder`, may show, by the paths that rules are compared with.

    Files that a program reads on its own, such as its configuration, are not included.
    """
    found: dict[FileRead, None] = {}

    def places(path: str) -> list[Path]:
        absolute = posixpath.join(folder.as_posix(), path)
        both = [Path(posixpath.normpath(absolute))]
        known, _, rest = absolute.partition(ANY)
        if rest or ANY in absolute:
            known, _, last = known.rpartition("/")
            rest = last + ANY + rest
        with suppress(ToolError):  # outside the workspace only its own name is known
            both.append(workspace.resolve(known or "/") / rest)  # `..` after a link starts at the link's target
        return both

    def below(place: Path) -> str:
        is_above = any(each.is_relative_to(place) for each in (folder, *workspace.folders, *workspace.more_folders))
        return ANY if is_above or ".." in place.parts else posixpath.join(workspace.shown(place), ANY)

    @cache
    def kind_of(path: str) -> str:
        resolved = places(path)[1:] if ANY not in path else []
        return workspace.kind_of(resolved[0]) if resolved else "missing"

    named = dict.fromkeys(_files_in(read_line(text), kind_of))
    if len(named) > MAX_PATHS:
        found[FileRead(path=ANY, is_sure=False)] = None
    for each in islice(named, MAX_PATHS):
        for place in places(each.path):
            found[FileRead(path=workspace.shown(place), is_sure=each.is_sure)] = None
            if each.may_be_folder and kind_of(each.path) != "file":
                found[FileRead(path=below(place), is_sure=False)] = None
    return tuple(found)


def _files_in(line: ShellLine, kind_of: Callable[[str], str]) -> Iterator[_NamedPath]:
    for each in line.reads:
        yield _NamedPath(_joined(each.folder, each.path), is_sure=True)
    for command in dict.fromkeys([*line.commands, *(line.plain or ())]):
        yield from _shown_by(command, command.words, command.folder, kind_of)
    takes_code = any(_CODE.fullmatch(each.name.lower()) for each in line.all())
    if _ELSEWHERE.search(line.text) and any(each.name == "git" for each in line.all()):
        yield _NamedPath(ANY, is_sure=False)
    texts = [*line.assigned, *(line.fed if takes_code else ())]  # `PAGER` and `GIT_EDITOR` are command lines
    for text in texts:
        yield from (_NamedPath(piece, is_sure=False) for piece in _named_in(text))


def _shown_by(
    command: SimpleCommand, words: Sequence[str], folder: str, kind_of: Callable[[str], str]
) -> Iterator[_NamedPath]:
    """Yield what a command shows, and what the commands that it runs show; `words` are its own, with inserted ones."""
    name = canonical(command.name.lower().removesuffix(".exe"))
    if name == "git":
        for path in shown_by_git(words, lambda path: kind_of(_joined(folder, path))):
            yield _NamedPath(path if path == ANY else _joined(folder, path), is_sure=ANY not in path)
            if folder and path != ANY:  # a path after `REVISION:` begins at the repository's root
                yield _NamedPath(path, is_sure=False)
    else:
        yield from _shown_by_words(command, name, words, folder)
    moves = name in WRAPPERS and _has_unlisted(words, WRAPPERS[name])
    moves = moves or any(word in ("-execdir", "-okdir") for word in words)
    for inner in command.runs:
        within = filled(words, inner.command.words, name) if name != "find" else inner.command.words
        yield from _shown_by(inner.command, within, ANY if moves else inner.command.folder, kind_of)


def _shown_by_words(command: SimpleCommand, name: str, words: Sequence[str], folder: str) -> Iterator[_NamedPath]:
    if name == "parallel" and any(word.startswith("::::") for word in words):
        yield from (_NamedPath(_joined(folder, word), is_sure=False) for word in words[1:])
    if _is_silent(name, words):
        return
    own = [inner.begin for inner in command.runs if inner.begin < len(words)]
    given = list(words[1 : min(own, default=len(words))]) if name != "find" else list(words[1:])
    shows = name in SHOWING and not command.runs
    if command.runs:
        given = [word for word in given if not re.search(r"\s", word)]  # a script is examined separately
    if not shows:
        pieces = (piece for word in given for piece in (_pieces_of(word) if _CODE.fullmatch(name) else _paths_in(word)))
        is_deep = name == "python" and not _ARCHIVING.isdisjoint(words)
        yield from (_NamedPath(_joined(folder, piece), is_sure=False, may_be_folder=is_deep) for piece in pieces)
        return
    if _may_show_any(name, words):
        yield _NamedPath(ANY, is_sure=False)
    if _CODE.fullmatch(name):
        yield from (_NamedPath(_joined(folder, piece), is_sure=False) for word in given for piece in _pieces_of(word))
    given = _arguments(name, words)
    is_deep = name in RECURSIVE or (name in FLAT and _has_unlisted(words, FLAT[name]))
    paths = [(path, not word.startswith("-")) for word in given for path in _paths_in(word)]
    may_be_folder = is_deep or name == "diff"
    yield from (_NamedPath(_joined(folder, path), is_sure, may_be_folder) for path, is_sure in paths)
    if is_deep and not _operands(name, words):
        yield _NamedPath(_joined(folder, ""), is_sure=False, may_be_folder=True)


def _is_silent(name: str, words: Sequence[str]) -> bool:
    if name == "find":
        return not find.unknown_in(words)
    if name not in SILENT:
        return False
    listed = SILENT[name]
    return listed is None or not _has_unlisted(words, listed)


def _has_unlisted(words: Sequence[str], listed: str) -> bool:
    how = syntax(listed)
    given = split(words, how)
    return bool(given.unknown) or any(each.name in how.unsafe for each in given.options)


def _may_show_any(name: str, words: Sequence[str]) -> bool:
    """Whether a program that shows files may show others than its words name."""
    if name == "patch" or any(re.match(r"--?fil", word) for word in words):
        return True  # a patch names its files, `--files0-from` and `--files-from` a list of files
    if name == "yq":
        return any(re.search(r"\bload", word) for word in words[1:])
    if name in ("tar", "zip", "7z", "rsync", "cpio"):
        pattern = r"-?[a-zA-Z]*[TC]|--(dir|cd)|-?@|-i" if name == "tar" else r"-[a-zA-Z]*[@i]|@"
        return any(re.match(pattern, word) for word in words[1:])
    if name in ("sed", "awk"):
        if any(each.name in ("-f", "-E", "-i", "--file") for each in _split(name, words).options):
            return True  # a script that is read from elsewhere
        is_plain = sed.is_plain if name == "sed" else awk.is_plain
        return not all(len(word) <= MAX_WORD_CHARS and is_plain(word) for word in _scripts(name, words))
    return name == "jq" and any(re.search(r"\b(import|include)\b", word) for word in words[1:])


def _scripts(name: str, words: Sequence[str]) -> list[str]:
    given = _split(name, words)
    by_option = [each.value or "" for each in given.options if each.name in _SCRIPTS]
    has_other = any(each.name in PATTERN_OPTIONS for each in given.options)
    return [
        *by_option,
        *(words[at] for at in given.plain[: 0 if has_other else 1]),
        *(words[at] for at in given.unknown),
    ]


def _arguments(name: str, words: Sequence[str]) -> list[str]:
    """Return the words that may name what is shown."""
    left_out: list[int] = []
    if name in SEARCHING:
        given = _split(name, words)
        left_out = [*_pattern_of(given), *(each.last for each in given.options if each.name in _SCRIPTS)]
    elif name in COPYING and not any(re.match(r"-[a-zA-Z]*t|--t", word) for word in words):
        plain = [index for index, word in enumerate(words) if index and not word.startswith("-")]
        left_out = plain[1:][-1:]  # with a single word, `ln` makes a link of that name here
    return [word for index, word in enumerate(words) if index and index not in left_out]


def _operands(name: str, words: Sequence[str]) -> list[int]:
    """Return the positions of words that are certainly neither options, their values, nor the pattern; empty if
    unclear."""
    given = _split(name, words)
    if given.unknown:
        return []
    pattern = _pattern_of(given) if name in SEARCHING else []
    return [at for at in given.plain if at not in pattern]


def _split(name: str, words: Sequence[str]) -> Arguments:
    return split(words, syntax(FLAT.get(name) or PROGRAMS.get(name, "")))


def _pattern_of(given: Arguments) -> list[int]:
    if any(each.name in PATTERN_OPTIONS for each in given.options) or any(at < given.rest for at in given.unknown):
        return []
    return given.plain[:1]


def _paths_in(word: str) -> Iterator[str]:
    """Yield what may be a path in a word: all of it, the value of an option, `@FILE`, and `REVISION:FILE`."""
    word = word.replace("{}", ANY)
    if re.search(r"(?i)\bfile:", word):
        yield ANY  # a URL, in which any character may be encoded
    if not word.startswith("-"):
        yield word
    elif found := re.match(r"-(\w+)", word):
        n_letters = len(found[1])  # any of the letters may be the option whose value follows it
        yield from (word[at:] for at in range(2, min(n_letters, MAX_LETTERS) + 2) if word[at:])
        yield from [ANY] if n_letters > MAX_LETTERS else []
    for found in re.finditer(r"[=@:]<?", word):
        value = word[found.end() :]
        yield from dict.fromkeys([value, re.split("[,;]", value)[0]]) if value else ()


def _pieces_of(code: str) -> Iterator[str]:
    """Yield what may be a path in code."""
    yield from _paths_in(code)
    pieces = re.findall(r"[^\s'\"`(),;<>|\[\]{}=]+", code)
    yield from dict.fromkeys(pieces[:MAX_PIECES])
    if len(pieces) > MAX_PIECES:
        yield ANY


def _named_in(text: str) -> Iterator[str]:
    """Yield what may be a path in a text of many lines."""
    text = re.sub(r"\\[abefnrtv]", " ", text) + " " + text  # `printf 'a\n'`
    pieces = dict.fromkeys(re.findall(r"[^\s'\"`(),;<>|\[\]{}=]+", text))
    for piece in islice(pieces, MAX_TEXT_PIECES):
        yield from _paths_in(piece) if len(piece) <= MAX_PIECES else [piece]
    if len(pieces) > MAX_TEXT_PIECES:
        yield ANY


def _joined(folder: str, path: str) -> str:
    joined = posixpath.join(folder, path).replace(HOME, ANY)
    return ANY if _OTHER_NAMES.fullmatch(posixpath.normpath(joined)) else joined
