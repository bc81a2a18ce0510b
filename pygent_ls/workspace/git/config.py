"""Parser for git's configuration files, and a filter for settings that only affect how data is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from pygent_ls.file_access import read_beginning

MAX_BYTES = 5_000_000
"""Maximum size of one file: a configuration with some 20,000 branches."""

MAX_INCLUDES = 50
"""Maximum number of included files."""

_ESCAPED = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}

_HARMLESS = re.compile(
    r"core\.(abbrev|autocrlf|bigfilethreshold|checkstat|eol|excludesfile|attributesfile|filemode|ignorecase"
    r"|logallrefupdates|precomposeunicode|protecthfs|protectntfs|safecrlf|sparsecheckout|sparsecheckoutcone|symlinks"
    r"|repositoryformatversion|trustctime|whitespace)"
    r"|extensions\.(?!partialclone$|worktreeconfig$).*"
    r"|index\.(sparse|skiphash|threads)"
    r"|branch\..*\.(remote|merge|pushremote|description)"
    r"|remote\..*\.(fetch|url|pushurl)|remote\.pushdefault"
    r"|diff\.(algorithm|context|indentheuristic|interhunkcontext|renamelimit|renames|suppressblankempty)"
    r"|diff\..*\.(algorithm|binary|funcname|wordregex|xfuncname)"
    r"|status\.(aheadbehind|renamelimit|renames)"
    r"|log\.(follow|mailmap)",
    re.DOTALL,
)
"""Keys that name no program and no other configuration, and that only git reads. Unlisted keys have no effect: another
version of git may know more keys than we do.
"""


class Setting(NamedTuple):
    """Line of a configuration. A missing `=` gives None, which means true."""

    key: str
    """Key `section.name` or `section.subsection.name`, as `git config --list` writes it."""
    value: str | None


def parse(text: str) -> list[Setting]:
    """Parse the settings of a file, in order; includes are ordinary settings. Raises ValueError for what git rejects,
    too.
    """
    return list(_Parser(text).settings())


def harmless(settings: Iterable[Setting]) -> list[Setting]:
    """Return the settings that only affect how the repository is read."""
    return [each for each in settings if _HARMLESS.fullmatch(each.key)]


def rendered(settings: Iterable[Setting]) -> str:
    """Format these settings as a configuration file."""
    lines: list[str] = []
    for section, each in groupby(settings, key=lambda setting: setting.key.rpartition(".")[0]):
        name, dot, inside = section.partition(".")
        lines.append(f'[{name} "{_quoted(inside)}"]' if dot else f"[{name}]")
        for key, value in each:
            lines.append(f"\t{key.rpartition('.')[2]}" + ("" if value is None else f' = "{_escaped(value)}"'))
    return "\n".join([*lines, ""])


def read(file: Path) -> list[Setting]:
    """Read the settings of a file; empty if it is missing. Raises ValueError if some of them cannot be read."""
    try:
        data = read_beginning(file, MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ValueError(error.strerror or "cannot be read") from None
    if len(data) > MAX_BYTES:
        raise ValueError(f"is larger than {MAX_BYTES // 1_000_000} MB")
    return parse(data.decode("utf-8", "surrogateescape"))


def leads_to(file: Path, is_wanted: Callable[[Path], bool]) -> bool:
    """Return whether a configuration file, or one that it includes under any condition, is wanted or cannot be read."""
    waiting, n_seen = [file], 0
    while waiting:
        file = waiting.pop()
        n_seen += 1
        if n_seen > MAX_INCLUDES or is_wanted(file):
            return True
        try:
            settings = read(file)
            waiting += [
                file.parent / Path(value).expanduser()
                for key, value in settings
                if value and re.fullmatch(r"include(if\..*)?\.path", key, re.DOTALL)
            ]
        except (ValueError, RuntimeError):  # the second for the home of an unknown user
            return True
    return False


def _escaped(text: str) -> str:
    return _quoted(text).replace("\n", "\\n").replace("\t", "\\t").replace("\b", "\\b")


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


class _Parser:
    """Parser equivalent to git's `config.c`."""

    def __init__(self, text: str) -> None:
        self._text = text.removeprefix("\ufeff").replace("\r\n", "\n") + "\n"
        self._at: int = 0
        if "\0" in text:
            raise ValueError("contains a NUL")

    def settings(self) -> Iterator[Setting]:
        section = ""
        while found := _BLANK.match(self._text, self._at):
            self._at = found.end()
            if self._at == len(self._text):
                return
            if head := _SECTION.match(self._text, self._at):
                self._at = head.end()
                section = head[1].lower()
                if head[2] is not None:
                    section += "." + re.sub(r"\\(.)", r"\1", head[2])
            elif section and (name := _NAME.match(self._text, self._at)):
                self._at = name.end()
                yield Setting(f"{section}.{name[1].lower()}", self._value() if name[2] == "=" else None)
            else:
                break
        line = self._text.count("\n", 0, self._at) + 1
        raise ValueError(f"has a syntax error in line {line}")

    def _value(self) -> str:
        """Parse a value, without comments and surrounding blanks; blanks inside are kept."""
        pieces: list[str] = []
        is_quoted = False
        n_kept = 0
        """Number of pieces up to the last that is not an unquoted blank."""
        for found in _PIECE.finditer(self._text, self._at):
            piece = found[0]
            self._at = found.end()
            if piece == "\n":
                if is_quoted:
                    break
                return "".join(pieces[:n_kept])
            if piece == '"':
                is_quoted = not is_quoted
            elif piece[0] == "\\":
                if piece[1:] not in _ESCAPED and piece[1:] != "\n":
                    break
                pieces += [_ESCAPED[piece[1:]]] if piece[1:] != "\n" else []
                n_kept = len(pieces) if piece[1:] != "\n" else n_kept
            elif not is_quoted and piece[0] in "#;":
                self._at = self._text.index("\n", found.start()) + 1
                return "".join(pieces[:n_kept])
            elif is_quoted or not piece.isspace():
                pieces.append(piece)
                n_kept = len(pieces)
            elif pieces:
                pieces.append(piece)
        line = self._text.count("\n", 0, self._at) + 1
        raise ValueError(f"has a syntax error in line {line}")


_BLANK = re.compile(r"(?:[ \t\n\v\f\r]++|[#;][^\n]*+)*+")
_SECTION = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*+)")?\]')
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9-]*+)[ \t]*+(=|\n)")
_PIECE = re.compile(r"\\(?s:.)|[\"\n#;]|[ \t\v\f\r]+|[^\\\"\n#; \t\v\f\r]+")
