"""Secrets never reach the model: a placeholder takes the place of each value, and gives it back when a file is written.

A placeholder is one word, `{{SECRET_aws_access_key_5f0c1d2e3a4b}}`: what kind of value it was, and a keyed hash of it.
The same value has the same hash in every session of an installation, so that a placeholder which this session never
made can still be found again in the file that it came from.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from html import escape
from operator import itemgetter
from urllib.parse import quote, quote_plus

from pygent_ls.secrets.env_files import is_env_file, is_example_file
from pygent_ls.secrets.findings import Finding, SecretFinder
from pygent_ls.secrets.patterns import key_prefix

PLACEHOLDER = re.compile(r"\{\{SECRET_[a-z_]+_([0-9a-f]{12})\}\}")

MAX_PLACEHOLDER_CHARS = 80
"""More than any placeholder has: the finder's kinds have at most 40 letters."""

ALTERED_PLACEHOLDER = re.compile(r"(?<!\$)\{{1,2}\s*SECRET_[a-z]\w*|\bSECRET_[a-z_]+_[0-9a-f]{6,}")
"""What is left of a placeholder that was not copied exactly."""

MAX_PASSES = 5
"""Masking one value may lay bare the edges of another; two passes are enough for all but made-up text."""


@cache
def _prefix_of_placeholder() -> re.Pattern[str]:
    """A public prefix that stands before a placeholder."""
    return re.compile(rf"(?:{key_prefix().pattern})(?={{{{SECRET_)")


def unsearchable(text: str) -> str:
    """A masked text as it was before `Redactor.searchable`."""
    return _prefix_of_placeholder().sub("", text)


def whole_placeholders(text: str, at: int) -> int:
    """Where to cut a masked text instead of at an offset, so that no placeholder is cut: there, or shortly before."""
    for found in PLACEHOLDER.finditer(text, max(at - MAX_PLACEHOLDER_CHARS, 0), at + MAX_PLACEHOLDER_CHARS):
        if found.start() < at < found.end():
            return found.start()
    return at


class Redactor:
    """A session's memory of which value hides behind which placeholder.

    Without a finder nothing is masked and nothing is put back. While it is switched off, nothing is masked, and what
    was masked before is still put back.
    """

    def __init__(self, finder: SecretFinder | None = None, *, key: bytes = b"") -> None:
        self._finder = finder
        self._key = key
        self._is_wanted = True
        self._placeholders: dict[str, str] = {}
        """By value."""
        self._values: dict[str, str] = {}
        """By hash."""
        self._everywhere: dict[str, None] = {}
        """The values that are masked wherever they occur, in the order they were found."""
        self._variables: dict[str, dict[str, bool]] = {}
        """The other values of environment variables, by name, and whether the name says that they are secret."""

    @property
    def is_on(self) -> bool:
        """Whether secrets are masked at all."""
        return self._finder is not None and self._is_wanted

    @property
    def knowledge(self) -> int:
        """Another number once more is masked, or less."""
        variables = frozenset((name, tuple(values)) for name, values in tuple(self._variables.items()))
        return hash((self.is_on, frozenset(tuple(self._values)), variables))

    def switch(self, *, on: bool) -> None:
        """Mask from now on, or not."""
        self._is_wanted = on

    def know(self, values: Iterable[str]) -> None:
        """Mask these values wherever they occur from now on, whatever they look like."""
        if self._finder is None:
            return
        for value in values:
            if value not in self._everywhere:
                self._know(value, Finding(start=0, end=len(value), kind="api_key"))

    async def redact(self, text: str, path: str | None = None, also: Collection[str] = ()) -> str:
        """The text with a placeholder for each secret, and for each word that is one of `also`. What is found is known
        from now on."""
        return await self._redacted(self._finder, text, path, also) if self._finder and self._is_wanted else text

    async def learn(self, text: str, path: str | None = None) -> None:
        """Know the secrets of a text that is not shown, also while nothing is masked."""
        if self._finder:
            await self._redacted(self._finder, text, path)

    async def _redacted(self, finder: SecretFinder, text: str, path: str | None, also: Collection[str] = ()) -> str:
        if not text:
            return text
        for _ in range(MAX_PASSES):
            masked = await asyncio.to_thread(self._masked_once, finder, text, path, also)
            if masked == text:
                break
            text = masked
        return text

    def restore(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The text with the values back in it, and the placeholders that are not known and stay."""
        unknown: list[str] = []

        def value_of(found: re.Match[str]) -> str:
            value = self._values.get(found[1])
            if value is None:
                unknown.append(found[0])
            return found[0] if value is None else value

        return PLACEHOLDER.sub(value_of, text), tuple(dict.fromkeys(unknown))

    def searchable(self, masked: str) -> str:
        """A masked text in which keys can be found by what all of their kind begin with, which stands before their
        placeholders; `unsearchable` takes it out again."""

        def begun(found: re.Match[str]) -> str:
            public = key_prefix().match(self._values.get(found[1], ""))
            return (public[0] if public else "") + found[0]

        return PLACEHOLDER.sub(begun, masked)

    def value_of(self, placeholder: str) -> str | None:
        """What stands behind a placeholder, where that is known."""
        found = PLACEHOLDER.fullmatch(placeholder)
        return self._values.get(found[1]) if found else None

    def _masked_once(self, finder: SecretFinder, text: str, path: str | None, also: Collection[str]) -> str:
        """Runs in threads, several at a time: what it adds to is never changed or taken out of, and copied to be gone
        through."""
        seen, place = _as_seen(text)
        found = [*finder(seen, path), *_words_in(seen, also)]
        if path is None or not is_example_file(path):
            found += self._assigned_in(seen, anywhere=path is not None and is_env_file(path))
        kept = [match.span() for match in PLACEHOLDER.finditer(seen)]
        parts: list[str] = []
        done = 0
        for span in _merged(self._spans(seen, [each for each in found if not _overlaps(each, kept)], kept)):
            self._know(seen[span.start : span.end], span)
            start, end = place(span.start), place(span.end - 1) + 1
            self._add(text[start:end], span.kind)  # with what is not seen in it, since it is put back
            parts += (text[done:start], self._placeholders[text[start:end]])
            done = end
        return "".join([*parts, text[done:]])

    def _spans(self, text: str, new: Sequence[Finding], kept: Sequence[tuple[int, int]]) -> Sequence[Finding]:
        """What was found in a text, and what else in it is known, in order."""
        for span in new:
            self._know(text[span.start : span.end], span)  # also what lies within another, as a password in an address
        known = [span for span in self._known_in(text) if not _overlaps(span, kept)]
        return sorted([*new, *known], key=lambda span: (span.start, -span.end))

    def _known_in(self, text: str) -> Iterator[Finding]:
        for value in tuple(self._everywhere):
            at = text.find(value)
            while at >= 0:
                yield Finding(start=at, end=at + len(value), kind="value")
                at = text.find(value, at + len(value))

    def _assigned_in(self, text: str, *, anywhere: bool) -> Iterator[Finding]:
        """Find known values behind the names of their variables. With `anywhere` the form does not matter, and a value
        that is alone in its line is found, too."""
        for match in _ASSIGNED.finditer(text) if self._variables else ():
            for value, is_named in self._variables.get(match[1], {}).items():
                end = match.end() + len(value)
                has_it = text.startswith(value, match.end()) and _ends_value(text, end)
                is_plain = anywhere or is_named or (match[2] == "=" and _is_line_of_its_own(text, match.start(), end))
                if has_it and is_plain:
                    yield Finding(start=match.end(), end=end, kind="value", everywhere=False)
        if anywhere:
            values = {value for each in tuple(self._variables.values()) for value in tuple(each)}
            for line in re.finditer(r"[^\n]+", text) if values else ():
                if (value := line[0].strip(" \t\r\"'`,;")) in values:
                    start = line.start() + line[0].index(value)
                    yield Finding(start=start, end=start + len(value), kind="value", everywhere=False)

    def _know(self, value: str, found: Finding) -> None:
        self._add(value, found.kind)
        if found.variable and not found.everywhere:
            values = dict.fromkeys((value, _unescaped(value)), found.is_named)
            self._variables[found.variable] = {**self._variables.get(found.variable, {}), **values}
        if found.everywhere and value not in self._everywhere:
            self._everywhere[value] = None
            for spelled in _spellings(value):
                self._add(spelled, found.kind)
                self._everywhere[spelled] = None

    def _add(self, value: str, kind: str) -> None:
        if value in self._placeholders:
            return
        digest = hmac.new(self._key, value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:12]
        self._placeholders[value] = f"{{{{SECRET_{kind}_{digest}}}}}"
        self._values[digest] = value


_ASSIGNED = re.compile(r"(?<!\w)([A-Za-z_]\w{0,250}+)[\"'\]]{0,2}[ \t]{0,8}(:=|=>|={1,3}|:)[ \t]{0,8}[\"'`]?")

_SHOWN_BEFORE = re.compile(r"(?:[^\s=]{0,256}[:-]\d{1,9}[:-]|[ \t]*\d{1,9}[\t:]|[ +<>!-]{0,8})?[ \t]*(?:export[ \t]+)?")
"""What stands before an assignment that has a line for itself: a place, a number, the sign of a diff."""


def _ends_value(text: str, at: int) -> bool:
    return not (text[at : at + 1].isalnum() or text[at : at + 1] in ("_", "-"))


def _is_line_of_its_own(text: str, start: int, end: int) -> bool:
    """Whether an assignment is all of its line."""
    begin = text.rfind("\n", max(start - 300, 0), start) + 1
    rest = text[end : end + 100].split("\n", 1)[0].lstrip("\"'`").strip()
    return (not rest or rest.startswith("#")) and _SHOWN_BEFORE.fullmatch(text, begin, start) is not None


def _words_in(text: str, words: Collection[str]) -> Iterator[Finding]:
    """Where the words stand, each for itself and not within a longer one."""
    for word in words:
        at = text.find(word)
        while at >= 0:
            end = at + len(word)
            is_within = (text[at - 1 : at].isalnum() and word[0].isalnum()) or (
                text[end : end + 1].isalnum() and word[-1].isalnum()
            )
            if not is_within:
                yield Finding(start=at, end=end, kind="value", everywhere=False)
            at = text.find(word, end)


def _spellings(value: str) -> set[str]:
    """How else a value may be written: within an address, JSON, HTML or quotes, without the backslashes of its quotes,
    and as base64."""
    spelled: set[str] = set()
    for each in {value, _unescaped(value)}:
        data = each.encode("utf-8", "surrogatepass")
        in_json = json.dumps(each)[1:-1]
        for_pages = in_json.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        spelled |= {each, in_json, for_pages, json.dumps(each, ensure_ascii=False)[1:-1], each.replace("'", "'\\''")}
        spelled |= {quote(data, safe=""), quote_plus(data), escape(each), escape(each, quote=False)}
        spelled.add(base64.b64encode(data).decode())
    lines = re.split(r"(?:\\[nrt])+", value)  # a program writes them as lines
    return (spelled | {line for line in lines if len(line) >= MIN_LINE_CHARS}) - {value}


MIN_LINE_CHARS = 16
"""Length from which a line of a secret is masked where it stands alone."""


def _unescaped(value: str) -> str:
    """What a program has of a value that stood between quotes with backslashes in it."""
    return re.sub(r"\\([\"'\\$`])", r"\1", value)


# What of a text can be seen


_NOT_SEEN = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]|\x1b\][^\x07\x1b\n]*+(?:\x07|\x1b\\)?|\x1b[()].|\x1b[=>78cM]|[^\n]\x08"
    r"|[\0\x0e\x0f\xad\u200b-\u200f\u2060\ufeff\ufffd]"
)
"""Colours and other commands for a terminal, what is struck over, and characters that show nothing: a NUL stands beside
each letter where UTF-16 is read as UTF-8, with the two bytes of its mark before the first."""

_OF_ASCII = ("\x1b", "\x08", "\0", "\x0e", "\x0f")


def _as_seen(text: str) -> tuple[str, Callable[[int], int]]:
    """The text without what cannot be seen, each carriage return as the end of a line; and where a character of it
    stands in the whole text."""
    seen = re.sub(r"\r(?!\n)", "\n", text) if "\r" in text else text
    if text.isascii() and not any(each in text for each in _OF_ASCII):
        return seen, int
    starts, lost, pieces = [0], [0], list[str]()
    done = 0
    for found in _NOT_SEEN.finditer(seen):
        pieces.append(seen[done : found.start()])
        done = found.end()
        lost.append(lost[-1] + done - found.start())
        starts.append(done - lost[-1])
    if not pieces:
        return seen, int

    def place(at: int) -> int:
        return at + lost[bisect_right(starts, at) - 1]

    return "".join([*pieces, seen[done:]]), place


def _overlaps(span: Finding, others: Sequence[tuple[int, int]]) -> bool:
    """`others` are in order, and apart."""
    following = bisect_right(others, span.start, key=itemgetter(1))
    return following < len(others) and others[following][0] < span.end


def _merged(spans: Iterable[Finding]) -> Iterator[Finding]:
    """The spans, which are in order, with those that overlap joined to one."""
    last: Finding | None = None
    for span in spans:
        if last is None or span.start >= last.end:
            if last is not None:
                yield last
            last = span
        elif span.end > last.end:
            everywhere = last.everywhere or span.everywhere
            last = Finding(start=last.start, end=span.end, kind=last.kind, everywhere=everywhere)
        elif (span.start, span.end) == (last.start, last.end) and span.everywhere and not last.everywhere:
            last = span
    if last is not None:
        yield last
