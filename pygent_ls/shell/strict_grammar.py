"""The strict grammar of command lines by which allow rules are decided.

    line        = [ pipeline { ( "&&" | "||" | ";" | "&" | newline ) pipeline } ]
    pipeline    = command { "|" command }
    command     = ( word | redirection ) { word | redirection }
    redirection = [ digits ] ( ">" | ">>" ) quiet | "&>" quiet | [ digits ] ">&" ( digits | "-" ) | [ digits ] "<" word
    quiet       = "/dev/null" | "/dev/stdout" | "/dev/stderr"

A word consists of plain characters, `'…'`, `"…"`, escaped characters, wildcards, `~`, `$HOME` and `$?`; double quotes
may also contain any `$NAME` or `${NAME}`, which outside them could become no word or several. A comment ends with its
line. Every character is accounted for, and anything else rejects the whole text: assignments, substitutions, subshells,
groups, reserved words, here-documents, brace expansion, joined lines.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from pygent_ls.shell.grammar import UNFIT
from pygent_ls.shell.words import ANY, HOME

QUIET_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
"""Redirection targets that store nothing."""

RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "select", "in"}
    | {"function", "time", "coproc", "{", "}", "!", "[[", "]]"}
)
"""Words that cannot be a program's name at the start of a command."""
_PLAIN = re.compile(r"[A-Za-z0-9_./,:+@%^\]=-]+")
_SINGLE = re.compile(r"'([^']*)'")
_PARAMETER = re.compile(r"\$(?:HOME(?!\w)|\{HOME\}|\?)", re.ASCII)
_QUOTED_PARAMETER = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|\?)", re.ASCII)
_DOUBLE_PLAIN = re.compile(r"[^\"\\$`]+")
_BLANKS = re.compile(r"[ \t]+")
_COMMENT = re.compile(r"#[^\n]*")
_SEPARATOR = re.compile(r"&&|\|\||[;&|\n]")
_REDIRECTION = re.compile(
    r"(?P<both>&>)|[0-9]*(?:>&(?P<copied>[0-9]+|-)(?=[ \t\n;&|]|$)|(?P<to>>>?(?![>&|(]))|(?P<from><(?![<>&(])))"
)
_NO_EXPANSION = frozenset(" \t")
"""Characters after which a `$` is an ordinary character, as it is at the end of the text."""

_BYTES_OF_BLANKS = frozenset(b"\x85\xa0")
"""Bytes that a byte-oriented shell may treat as blanks."""


class StrictLine(Struct, frozen=True):
    """A text that the strict grammar accepts."""

    commands: tuple[tuple[str, ...], ...]
    """The words of each command; `ANY` and `HOME` stand for what is known only at run time."""
    reads: tuple[tuple[int, str], ...]
    """Files that commands read their input from: the command's index, and the path."""


class _RejectedError(Exception):
    """The strict grammar does not accept the text."""


def read_strictly(text: str) -> StrictLine | None:
    """Parse a text by the strict grammar; None if any character matches no rule of the grammar."""
    if UNFIT.search(text):
        return None
    try:
        return _Scanner(text).line()
    except _RejectedError:
        return None


class _Scanner(Struct):
    text: str
    at: int = 0
    commands: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    reads: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def line(self) -> StrictLine:
        needs_command = False  # after `&&`, `||` and `|`
        while True:
            words = self._command()
            self.commands += [words] if words else []
            if self.at == len(self.text):
                if needs_command and not words:
                    raise _RejectedError
                return StrictLine(tuple(self.commands), tuple(self.reads))
            separator = self._take(_SEPARATOR)
            if words:
                needs_command = separator in ("&&", "||", "|")
            elif separator != "\n":
                raise _RejectedError

    def _command(self) -> tuple[str, ...]:
        """Return the words of the next command; empty before the end of an empty line."""
        words: list[str] = []
        is_redirected = False
        while True:
            self._take(_BLANKS)
            if self._take(_COMMENT) is not None or self.at == len(self.text):
                break
            if self._redirection():
                is_redirected = True
            elif _SEPARATOR.match(self.text, self.at):
                break
            else:
                words.append(self._word(is_first=not words))
        if is_redirected and not words:
            raise _RejectedError
        return tuple(words)

    def _redirection(self) -> bool:
        found = _REDIRECTION.match(self.text, self.at)
        if found is None:
            return False
        if found.start() and self.text[found.start() - 1] not in " \t\n;&|<>":
            raise _RejectedError  # `{name}>file`, and digits at the end of a word
        self.at = found.end()
        if found["copied"] is not None:
            return True
        self._take(_BLANKS)
        target = self._word(is_first=False)
        if found["from"] is not None:
            if ANY in target or re.match(r"/dev/(tcp|udp)", target):
                raise _RejectedError
            self.reads.append((len(self.commands), target))
        elif target not in QUIET_TARGETS:
            raise _RejectedError
        return True

    def _word(self, *, is_first: bool) -> str:
        """Return the word that begins here. Raises `_RejectedError`."""
        begin, value, unquoted = self.at, "", ""
        while self.at < len(self.text) and self.text[self.at] not in " \t\n;&|<>":
            if self.text[self.at] == "~" and self.at == begin:
                value += self._home()
            elif quoted := self._quoted():
                value += quoted[0]
            else:
                piece = self._ordinary(self.text[self.at])
                unquoted += piece
                value += ANY if piece in ("*", "?", "[") else piece
        if unquoted == "[" and value == ANY:
            value = "["  # the program: a lone bracket is not a wildcard
        if "{" in unquoted and ("," in unquoted or ".." in unquoted):
            raise _RejectedError  # brace expansion
        if self.at == begin or (is_first and _is_no_program(value, unquoted)):
            raise _RejectedError
        return value

    def _quoted(self) -> tuple[str] | None:
        """Return the value of the quotes, escaped character or parameter here; None for any other character."""
        match self.text[self.at]:
            case "'":
                return (self._must(_SINGLE)[1],)
            case '"':
                return (self._double(),)
            case "\\":
                return (self._escaped(),)
            case "$":
                return (self._parameter(_PARAMETER),)
            case _:
                return None

    def _ordinary(self, character: str) -> str:
        if found := _PLAIN.match(self.text, self.at):
            self.at = found.end()
            return found[0]
        is_letter = character.isalnum() and not _BYTES_OF_BLANKS.intersection(character.encode("utf-8", "replace"))
        if not is_letter and character not in "*?[{}!#~":  # `#` begins a comment only at the start of a word
            raise _RejectedError
        self.at += 1
        return character

    def _home(self) -> str:
        self.at += 1
        following = self.text[self.at : self.at + 1]
        if following and following not in "/ \t\n;&|<>":
            raise _RejectedError
        return HOME

    def _escaped(self) -> str:
        escaped = self.text[self.at + 1 : self.at + 2]
        if not escaped or escaped == "\n" or ord(escaped) > 0x7E:
            raise _RejectedError
        self.at += 2
        return escaped

    def _parameter(self, pattern: re.Pattern[str]) -> str:
        """Return the value of a parameter, or an ordinary `$`."""
        following = self.text[self.at + 1 : self.at + 2]
        if not following or following in _NO_EXPANSION:
            self.at += 1
            return "$"
        return HOME if self._must(pattern)[0].strip("${}") == "HOME" else ANY

    def _double(self) -> str:
        self.at += 1
        parts: list[str] = []
        while True:
            match self.text[self.at : self.at + 1]:
                case '"':
                    self.at += 1
                    return "".join(parts)
                case "\\":
                    escaped = self.text[self.at + 1 : self.at + 2]
                    if not escaped or escaped == "\n":
                        raise _RejectedError
                    parts.append(escaped if escaped in '$`"\\' else "\\" + escaped)
                    self.at += 2
                case "$" if self.text[self.at + 1 : self.at + 2] == '"':
                    parts.append("$")
                    self.at += 1
                case "$":
                    parts.append(self._parameter(_QUOTED_PARAMETER))
                case _:
                    parts.append(self._must(_DOUBLE_PLAIN)[0])

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[0]

    def _must(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _RejectedError
        self.at = found.end()
        return found


def _is_no_program(value: str, unquoted: str) -> bool:
    """Whether bash takes this first word of a command, with this unquoted part, for something other than a program."""
    return not value or value in RESERVED or "=" in unquoted or unquoted.startswith(("%", "[["))
