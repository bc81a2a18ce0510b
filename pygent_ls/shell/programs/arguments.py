"""Parser of a command's words as its program reads them: options, their values, and the rest.

A program's options are listed as text, separated by spaces:

    -abc         letters without a value, which may be joined in one word
    -k:          a letter with a value, in the same word or the next one
    -j::         a letter with an optional value in the same word
    --all        a long option without a value
    --key=       a long option with a value; each further `=` is one more word
    --color?     a long option with an optional value in the same word
    !-o:         the same, for an option that is known and not safe
    @1           options end before the first plain word; @2 before the second
    @old         the first word may hold letters without a dash, whose values follow in their order: `tar xfC`
    @named       a subcommand that is covered only by a rule that names it
    @long        long options may have one dash, and letters cannot be joined: `go test -run X`
    #1           number of plain words that are safe; #0 for none
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct, field

from pygent_ls.shell.words import ANY

_ATTACHED = -1
"""Number of values of an option with only an optional value in the same word."""


class Syntax(Struct, frozen=True):
    """How a program reads its words."""

    values: Mapping[str, int]
    """Number of values of each known option, by its name with dashes."""
    unsafe: frozenset[str]
    stops_at: int
    """Number of the plain word, counted from 1, at which options end; 0 if they may be anywhere."""
    is_long: bool
    is_old: bool
    is_named: bool
    most_plain: int | None


class Option(Struct, frozen=True):
    """An option as given, with the indices of the words in which it begins and its value ends."""

    index: int
    last: int
    name: str
    value: str | None = None


class Arguments(Struct):
    """A command's words after its name."""

    options: list[Option] = field(default_factory=list[Option])
    plain: list[int] = field(default_factory=list[int])
    """Indices of the words that are neither options nor their values."""
    unknown: list[int] = field(default_factory=list[int])
    """Indices of the words with an option that is not listed, or that may become one at run time."""
    rest: int = 0
    """Index at which the program stops looking for options; the number of words if it never does."""


@cache
def syntax(text: str) -> Syntax:
    """Return the syntax that a list of options describes."""
    values: dict[str, int] = {}
    unsafe: set[str] = set()
    flags: set[str] = {token for token in text.split() if token in ("@long", "@old", "@named")}
    stops_at, is_long, most_plain = 0, "@long" in flags, None
    for token in text.split():
        if token[0] == "#":
            most_plain = int(token[1:])
        elif token in flags:
            pass
        elif token[0] == "@":
            stops_at = int(token[1:])
        else:
            names, n_values = _names(token.removeprefix("!"), is_long=is_long)
            values |= dict.fromkeys(names, n_values)
            unsafe |= {*names} if token.startswith("!") else set()
    return Syntax(values, frozenset(unsafe), stops_at, is_long, "@old" in flags, "@named" in flags, most_plain)


def _names(token: str, *, is_long: bool) -> tuple[list[str], int]:
    found = re.fullmatch(r"(-{1,2})(.+?)(:{1,2}|=+|\?)?", token)
    if found is None:
        raise ValueError(f"{token!r} describes no option")
    dashes, name, suffix = found.groups()
    n_values = _ATTACHED if suffix in ("::", "?") else len(suffix or "")
    if is_long:
        return [f"-{name}"], n_values
    return ([f"-{letter}" for letter in name] if dashes == "-" else [token.rstrip("=?")]), n_values


def split(words: Sequence[str], how: Syntax, begin: int = 1) -> Arguments:
    """Parse the words from `begin` on."""
    found = Arguments(rest=len(words))
    position = begin
    if how.is_old and words[position : position + 1] and not words[position].startswith(("-", ANY)):
        position = _old(words, position, how, found)
    while position < len(words):
        word = words[position]
        if word == "--":
            found.plain += range(position + 1, len(words))
            found.rest = position + 1
            break
        if word.startswith(ANY):
            found.unknown.append(position)
        if not word.startswith("-") or word == "-":
            if len(found.plain) + 1 == how.stops_at:
                found.plain += range(position, len(words))
                found.rest = position
                break
            found.plain.append(position)
            position += 1
        else:
            position = _option(words, position, how, found)
    return found


def _old(words: Sequence[str], position: int, how: Syntax, found: Arguments) -> int:
    after = position + 1
    for letter in words[position]:
        n_values = how.values.get(f"-{letter}")
        if n_values is None:
            found.unknown.append(position)
        elif n_values > 0:
            found.options.append(Option(position, after, f"-{letter}", "".join(words[after : after + 1])))
            after += 1
        else:
            found.options.append(Option(position, position, f"-{letter}"))
    return after


def _option(words: Sequence[str], position: int, how: Syntax, found: Arguments) -> int:
    """Record the options in one word and return the index of the next word after their values."""
    word = words[position]
    if how.is_long or word.startswith("--"):
        name, equals, value = word.partition("=")
        if how.is_long:
            name = "-" + name.lstrip("-")
        n_values = how.values.get(name)
        if n_values is None or (equals and not n_values):
            found.unknown.append(position)
            return position + 1
        return _given(words, position, name, value if equals else None, n_values, found)
    for at in range(1, len(word)):
        name = f"-{word[at]}"
        n_values = how.values.get(name)
        if n_values is None:
            found.unknown.append(position)
            return position + 1
        if n_values:
            return _given(words, position, name, word[at + 1 :] or None, n_values, found)
        found.options.append(Option(position, position, name))
    return position + 1


def _given(
    words: Sequence[str], position: int, name: str, attached: str | None, n_values: int, found: Arguments
) -> int:
    n_next = 0 if n_values == _ATTACHED else n_values - (attached is not None)
    values = words[position + 1 : position + 1 + n_next]
    value = attached if attached is not None else (values[0] if values else None)
    found.options.append(Option(position, position + n_next, name, value))
    found.unknown += [at for at, each in enumerate(values, position + 1) if each.startswith(ANY)]
    return position + 1 + n_next
