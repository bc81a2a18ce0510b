"""Replacement of secrets by placeholders, so that the model does not see them, and of placeholders in written files.

A placeholder is one word, `{{SECRET_aws_access_key_5f0c1d2e3a4b}}`: the kind of the value, and a keyed hash of it.
The same value has the same hash in every session of an installation. A placeholder that another session made can
therefore be resolved by reading the file that contains the value.
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
"""More characters than any placeholder has: kinds have at most 40."""

ALTERED_PLACEHOLDER = re.compile(r"(?<!\$)\{{1,2}\s*SECRET_[a-z]\w*|\bSECRET_[a-z_]+_[0-9a-f]{6,}")
"""A placeholder that was not copied exactly."""

SHORT_CHARS = 1_000
"""Maximum length of a text that is searched without a thread: that takes 0.2 ms, and a thread as long to begin. The
slowest text known takes 7 ms."""

MAX_PASSES = 5
"""Maximum number of passes. Masking a value may reveal the edges of another; real text needs at most two passes."""


@cache
def _prefix_of_placeholder() -> re.Pattern[str]:
    """Return the expression for a public prefix before a placeholder."""
    return re.compile(rf"(?:{key_prefix().pattern})(?={{{{SECRET_)")


def unsearchable(text: str) -> str:
    """Undo `Redactor.searchable`: return the masked text without public prefixes."""
    return _prefix_of_placeholder().sub("", text)


def whole_placeholders(text: str, at: int) -> int:
    """Return the offset at or shortly before `at` where a masked text can be cut without cutting a placeholder."""
    for found in PLACEHOLDER.finditer(text, max(at - MAX_PLACEHOLDER_CHARS, 0), at + MAX_PLACEHOLDER_CHARS):
        if found.start() < at < found.end():
            return found.start()
    return at


class Redactor:
    """Masks secrets in text, and remembers the value of each placeholder for a session.

    Without a finder nothing is masked or restored. While the redactor is switched off, nothing is masked, and earlier
    placeholders are still restored.
    """

    def __init__(self, finder: SecretFinder | None = None, *, key: bytes = b"") -> None:
        self._finder = finder
        self._key = key
        self._is_wanted = True
        self._placeholders: dict[str, str] = {}
        """Placeholders by value."""
        self._values: dict[str, str] = {}
        """Values by hash."""
        self._everywhere: dict[str, None] = {}
        """Values that are masked wherever they occur, in the order in which they were found."""
        self._variables: dict[str, dict[str, bool]] = {}
        """Other values of environment variables, by name, with whether the name suggests a secret."""

    @property
    def is_on(self) -> bool:
        """Whether secrets are masked."""
        return self._finder is not None and self._is_wanted

    @property
    def knowledge(self) -> int:
        """Number that changes when the set of masked values changes."""
        variables = frozenset((name, tuple(values)) for name, values in tuple(self._variables.items()))
        return hash((self.is_on, frozenset(tuple(self._values)), variables))

    def switch(self, *, on: bool) -> None:
        """Switch masking on or off from now on."""
        self._is_wanted = on

    def know(self, values: Iterable[str]) -> None:
        """Mask these values wherever they occur from now on, regardless of their form."""
        if self._finder is None:
            return
        for value in values:
            if value not in self._everywhere:
                self._know(value, Finding(start=0, end=len(value), kind="api_key"))

    async def redact(self, text: str, path: str | None = None, also: Collection[str] = ()) -> str:
        """Return the text with a placeholder for each secret and for each word in `also`. Secrets that are found are
        known from now on."""
        return await self._redacted(self._finder, text, path, also) if self._finder and self._is_wanted else text

    async def learn(self, text: str, path: str | None = None) -> None:
        """Remember the secrets of a text that is not shown, also while masking is switched off."""
        if self._finder:
            await self._redacted(self._finder, text, path)

    async def _redacted(self, finder: SecretFinder, text: str, path: str | None, also: Collection[str] = ()) -> str:
        if not text:
            return text
        for _ in range(MAX_PASSES):
            if len(text) <= SHORT_CHARS:
                masked = self._masked_once(finder, text, path, also)
            else:
                masked = await asyncio.to_thread(self._masked_once, finder, text, path, also)
            if masked == text:
                break
            text = masked
        return text

    def restore(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return the text with the values of its placeholders, and the unknown placeholders, which stay in the text."""
        unknown: list[str] = []

        def value_of(found: re.Match[str]) -> str:
            value = self._values.get(found[1])
            if value is None:
                unknown.append(found[0])
            return found[0] if value is None else value

        return PLACEHOLDER.sub(value_of, text), tuple(dict.fromkeys(unknown))

    def searchable(self, masked: str) -> str:
        """Return a masked text with the public prefix of each key before its placeholder, so that a search for the
        prefix finds it. `unsearchable` removes the prefixes again."""

        def begun(found: re.Match[str]) -> str:
            public = key_prefix().match(self._values.get(found[1], ""))
            return (public[0] if public else "") + found[0]

        return PLACEHOLDER.sub(begun, masked)

    def part_of(self, masked: str, start: int, end: int) -> str:
        """Return the part of a masked text that shows the characters from `start` to `end` of the original text. A
        placeholder is included as a whole if any part of its value is."""
        pieces: list[str] = []
        at = done = 0
        for found in PLACEHOLDER.finditer(masked):
            kept = masked[done : found.start()]
            pieces.append(kept[max(start - at, 0) : max(end - at, 0)])
            at += len(kept)
            n_chars = len(self._values.get(found[1], found[0]))
            if at < end and at + n_chars > start:
                pieces.append(found[0])
            at, done = at + n_chars, found.end()
        return "".join([*pieces, masked[done:][max(start - at, 0) : max(end - at, 0)]])

    def value_of(self, placeholder: str) -> str | None:
        """Return the value of a placeholder; None if it is unknown."""
        found = PLACEHOLDER.fullmatch(placeholder)
        return self._values.get(found[1]) if found else None

    def _masked_once(self, finder: SecretFinder, text: str, path: str | None, also: Collection[str]) -> str:
        """Mask the text once. Runs in several threads at a time: entries of the collections are added, but never
        changed or removed, and a collection is copied before it is iterated."""
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
            self._add(text[start:end], span.kind)  # with its invisible characters, which restore has to return
            parts += (text[done:start], self._placeholders[text[start:end]])
            done = end
        return "".join([*parts, text[done:]])

    def _spans(self, text: str, new: Sequence[Finding], kept: Sequence[tuple[int, int]]) -> Sequence[Finding]:
        """Return the new findings and the known values in a text, in order."""
        for span in new:
            self._know(text[span.start : span.end], span)  # also a finding within another, such as a password in a URL
        known = [span for span in self._known_in(text) if not _overlaps(span, kept)]
        return sorted([*new, *known], key=lambda span: (span.start, -span.end))

    def _known_in(self, text: str) -> Iterator[Finding]:
        for value in tuple(self._everywhere):
            at = text.find(value)
            while at >= 0:
                yield Finding(start=at, end=at + len(value), kind="value")
                at = text.find(value, at + len(value))

    def _assigned_in(self, text: str, *, anywhere: bool) -> Iterator[Finding]:
        """Find known values after the names of their variables. With `anywhere` the form of the assignment does not
        matter, and a value that is alone on its line is found, too."""
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
"""Prefix of a line that contains only an assignment: a location, a line number, or the sign of a diff."""


def _ends_value(text: str, at: int) -> bool:
    return not (text[at : at + 1].isalnum() or text[at : at + 1] in ("_", "-"))


def _is_line_of_its_own(text: str, start: int, end: int) -> bool:
    """Whether the line contains nothing but the assignment."""
    begin = text.rfind("\n", max(start - 300, 0), start) + 1
    rest = text[end : end + 100].split("\n", 1)[0].lstrip("\"'`").strip()
    return (not rest or rest.startswith("#")) and _SHOWN_BEFORE.fullmatch(text, begin, start) is not None


def _words_in(text: str, words: Collection[str]) -> Iterator[Finding]:
    """Find the words, except within longer words."""
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
    """Return other spellings of a value: in a URL, JSON, HTML or quotes, without the backslashes of its quotes, and in
    base64."""
    spelled: set[str] = set()
    for each in {value, _unescaped(value)}:
        data = each.encode("utf-8", "surrogatepass")
        in_json = json.dumps(each)[1:-1]
        for_pages = in_json.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        spelled |= {each, in_json, for_pages, json.dumps(each, ensure_ascii=False)[1:-1], each.replace("'", "'\\''")}
        spelled |= {quote(data, safe=""), quote_plus(data), escape(each), escape(each, quote=False)}
        spelled.add(base64.b64encode(data).decode())
    lines = re.split(r"(?:\\[nrt])+", value)  # a program prints them as separate lines
    return (spelled | {line for line in lines if len(line) >= MIN_LINE_CHARS}) - {value}


MIN_LINE_CHARS = 16
"""Minimum length of a line of a secret that is also masked without the rest of the secret."""


def _unescaped(value: str) -> str:
    """Return the value that a program reads from a quoted value with backslashes."""
    return re.sub(r"\\([\"'\\$`])", r"\1", value)


# Invisible characters


_NOT_SEEN = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]|\x1b\][^\x07\x1b\n]*+(?:\x07|\x1b\\)?|\x1b[()].|\x1b[=>78cM]|[^\n]\x08"
    r"|[\0\x0e\x0f\xad\u200b-\u200f\u2060\ufeff\ufffd]"
)
"""Terminal escape sequences, characters that a backspace removes, and invisible characters. UTF-16 that is read as
UTF-8 has a NUL beside each letter, and the two bytes of its byte order mark at the beginning."""

_OF_ASCII = ("\x1b", "\x08", "\0", "\x0e", "\x0f")


def _as_seen(text: str) -> tuple[str, Callable[[int], int]]:
    """Return the text without invisible characters and with each carriage return as the end of a line; and a function
    that maps an offset in it to the offset in the original text."""
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
    """Whether the span overlaps one of `others`, which are in order and do not overlap each other."""
    following = bisect_right(others, span.start, key=itemgetter(1))
    return following < len(others) and others[following][0] < span.end


def _merged(spans: Iterable[Finding]) -> Iterator[Finding]:
    """Join spans that overlap. `spans` are in order."""
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
