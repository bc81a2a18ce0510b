"""Values in files of environment variables: secret, unless `is_nothing` is true or they are small numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_SECRET_NAME = re.compile(
    r"SECRET|TOKEN(?!S)|PASS|PWD|PIN$|CREDENTIAL|KEYS?(?![A-Z])|AUTH(?!OR)|DSN|SALT|PEPPER|PRIVATE|CERT|JWT|COOKIE"
    r"|WEBHOOK|LICENSE|MNEMONIC|SEED|PHRASE|SIGNATURE|CONNECTION_?STRING",
    re.IGNORECASE,
)
_NAME_OF_A_PROPERTY = re.compile(
    r".*_(?:URLS?|URI|HOST|PORT|PATH|FILE|DIR|DOMAIN|TTL|NAME|ID|TYPE|ALG|ALGORITHM|ISSUER|AUDIENCE|ENABLED|EXPIR\w*"
    r"|TIMEOUT\w*|LENGTH|ROUNDS|METHOD|PROVIDER|REGION)",
    re.IGNORECASE,
)
"""Names of a property of a secret, such as `KEY_FILE` and `TOKEN_TTL`, and not of the secret itself."""

_PLACES = (
    r"[ \t]*\d+\t|[ +<>!-]{1,8}|[^\r\n:=]{0,256}(?:env|vars)[\w.-]{0,40}[:-]\d+[:-]"
    r"|\^?[0-9a-f]{7,40} [^\r\n()]{0,256}\([^\r\n()]{0,256}\) "
)
_SHOWN_AS = rf"(?:{_PLACES})?(?:\[-|\{{\+)?[ \t]*"
"""Prefix of a displayed line: the line number of read_file, the signs of a diff (in the diff of a merge one for each
parent), the location in grep, the columns of `git blame`, or the first mark of `git diff --word-diff`."""

_HUNK = r"@@+ -\d[\d, +-]{0,80}@@+ "
"""Prefix of the context line that a diff repeats in the header of a hunk."""

_ASSIGNMENT = re.compile(
    rf"^(?:{_HUNK}|\d{{1,9}}[:-])?{_SHOWN_AS}"
    r"(#[ \t]*)?(?:(?:export|declare|typeset|readonly|local)[ \t]+(?:-\w+[ \t]+)?)?"
    r"([A-Za-z_][\w.-]{0,250}+)(?:[ \t]*(=)|:(?=[ \t]))[ \t]*([^\r\n]*)",
    re.MULTILINE,
)
"""An assignment; it may be commented out."""

_LINE = re.compile(rf"{_SHOWN_AS}([^\r\n]*)")

_QUOTED = {
    '"': re.compile(r'\A"((?:[^"\\]|\\.)*)"'),
    "'": re.compile(r"'([^']*)'"),
    "`": re.compile(r"`([^`]*)`"),
}
_HERE = re.compile(r"<<-?[ \t]*[\"'\\]?(\w+)")
_REST_OF_LINE = re.compile(r"[ \t]*(?:[ \t]#.*)?")
_COMMENT = re.compile(r"[ \t]#")

MAX_LINES_OF_A_VALUE = 200
"""Maximum number of lines of one value: more than a certificate with its chain has."""

_NOTHING = re.compile(r"(?i:true|false|yes|no|on|off|null|none|nil|undefined)?")
_REFERENCE = re.compile(
    r"\$\{?\w+\}?|\$\{\w+:?\?[^{}]*\}|\$\{\w+:?-(?:\$\{?\w+\}?)?\}|\$\(.*\)|\{\{.*\}\}"
    r"|(?:op|vault|ssm|secretsmanager|keychain|env|file):\S*|<[^<>]*>"
)
"""A reference to the place of a value, instead of the value."""

_SMALL_NUMBER = re.compile(r"\d{1,5}")


_ENV_FILE = re.compile(r"#?(?:\.env(?:[._-][\w.-]+)?|[\w.-]+\.env|\.envrc|\.flaskenv|\.dev\.vars)[~#]?", re.IGNORECASE)
"""Names of files of environment variables, and of copies that editors make of them. Case is ignored, as on
some file systems."""

_EXAMPLE_FILE = re.compile(r".*[._-](?:example|sample|template|dist|defaults?)", re.IGNORECASE)


def is_env_file(path: str) -> bool:
    """Whether the path is a file such as `.env`, in which every value counts as secret.

    An `.env.example` is meant to be read: in it only values that look like keys count.
    """
    return _ENV_FILE.fullmatch(_name_of(path)) is not None and not is_example_file(path)


def is_example_file(path: str) -> bool:
    """Whether the path is a file such as `.env.example`."""
    return _EXAMPLE_FILE.fullmatch(_name_of(path)) is not None


def _name_of(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


class EnvValue(NamedTuple):
    """Value of a variable, or one line of the value, as a span of the text without quotes."""

    name: str
    start: int
    end: int
    is_named_secret: bool
    """Whether the variable has a name such as DB_PASSWORD."""


def secret_values(text: str) -> Iterator[EnvValue]:
    """Yield the values in a file of environment variables, or in a display of some of its lines."""
    at = 0
    while match := _ASSIGNMENT.search(text, at):
        at = match.end()
        name = match[2]
        named = _SECRET_NAME.search(name) is not None and _NAME_OF_A_PROPERTY.fullmatch(name) is None
        if match[3] is None and (match[1] or not (name.isupper() and (named or "_" in name))):
            continue  # words before a colon, as in a program's output
        for start, end in _spans(text, *match.span(4)):
            if match[4][:1] not in _QUOTED:
                at = max(at, end)  # the value's other lines are not assignments
            value = text[start:end]
            if not (is_nothing(value) or (not named and _SMALL_NUMBER.fullmatch(value))):
                yield EnvValue(name, start, end, named)


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the value that begins at `start`, line by line if it continues after `end`, the end of the first line."""
    rest = text[start:end]
    quoted = _QUOTED.get(rest[:1])
    if quoted is None:
        comment = _COMMENT.search(text, start - 1, end)
        yield start, start + len(text[start : comment.start() if comment else end].rstrip())
        yield from _continued(text, end, rest)
        return
    closed = quoted.match(rest)
    if closed is None and (lines := list(_following(text, end, rest[0]))):
        yield start + 1, start + len(rest.rstrip())
        yield from lines
    elif closed and _REST_OF_LINE.fullmatch(rest, closed.end()):
        yield start + closed.start(1), start + closed.end(1)
    else:
        yield start, start + len(rest.rstrip())


def _following(text: str, end: int, quote: str) -> Iterator[tuple[int, int]]:
    """Yield the other lines of a quoted value, without display prefixes; nothing if no quote closes it."""
    spans: list[tuple[int, int]] = []
    for _ in range(MAX_LINES_OF_A_VALUE):
        begin = text.find("\n", end) + 1
        line = _LINE.match(text, begin) if begin else None
        if line is None:
            return
        end = line.end()
        closing = _closing(line[1], quote)
        is_over = _REST_OF_LINE.fullmatch(line[1], closing + 1) is not None
        spans.append((line.start(1), line.start(1) + closing if closing >= 0 and is_over else end))
        if closing >= 0:
            yield from spans
            return


def _closing(line: str, quote: str) -> int:
    """Return the offset of the quote that closes a value; -1 if the line does not have it."""
    at = line.find(quote)
    while at >= 0 and quote == '"' and _is_escaped(line, at):
        at = line.find(quote, at + 1)
    return at


def _is_escaped(line: str, at: int) -> bool:
    begin = at
    while begin and line[begin - 1] == "\\":
        begin -= 1
    return (at - begin) % 2 == 1


def _continued(text: str, end: int, rest: str) -> Iterator[tuple[int, int]]:
    """Yield the other lines of a value without quotes: after a backslash, and in a here-document."""
    here = _HERE.search(rest)
    for _ in range(MAX_LINES_OF_A_VALUE if here or rest.endswith("\\") else 0):
        begin = text.find("\n", end) + 1
        line = _LINE.match(text, begin) if begin else None
        if line is None or (here and line[1].strip() == here[1]):
            return
        end = line.end()
        if line[1].strip():
            yield line.start(1), line.start(1) + len(line[1].rstrip())
        if not here and not line[1].endswith("\\"):
            return


def is_nothing(value: str) -> bool:
    """Whether the value is empty, a yes or no, or a reference to another place."""
    return _NOTHING.fullmatch(value) is not None or _REFERENCE.fullmatch(value) is not None


def is_mixed(run: str) -> bool:
    """Whether the text contains both letters and digits, which a word does not."""
    return any(each.isdigit() for each in run) and any(each.isalpha() for each in run)
