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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Protocol
from urllib.parse import quote

PLACEHOLDER = re.compile(r"\{\{SECRET_[a-z_]+_([0-9a-f]{12})\}\}")

ALTERED_PLACEHOLDER = re.compile(r"(?<!\$)\{{1,2}\s*SECRET_[a-z]\w*|\bSECRET_[a-z_]+_[0-9a-f]{6,}")
"""What is left of a placeholder that was not copied exactly."""

ENV_NAME = r"\.env(?:\.[\w-]+)*|[\w.-]+\.env|\.envrc|\.flaskenv|\.dev\.vars"
"""The names of files that hold environment variables for a program."""

_ENV_FILE = re.compile(ENV_NAME)

_EXAMPLE_FILE = re.compile(r".*\.(?:example|sample|template|dist|defaults?)")

MAX_PASSES = 5
"""Masking one value may lay bare the edges of another; two passes are enough for all but made-up text."""

MAX_HELD_CHARS = 65_536
"""Of live output, while a private key may not be over: more than any key has."""


def is_env_file(path: str) -> bool:
    """Whether it is a file such as `.env`, of which every value counts as secret.

    An `.env.example` is there to be read: in it only what looks like a key counts.
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    return _ENV_FILE.fullmatch(name) is not None and _EXAMPLE_FILE.fullmatch(name) is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A secret in a text, from `start` to before `end`; it lies within one line."""

    start: int
    end: int
    kind: str
    """What it is, in small letters and underscores."""
    everywhere: bool = True
    """It cannot be mistaken for anything else, so it is masked wherever it occurs from now on; else only here."""


class SecretFinder(Protocol):
    """Finds values that look like secrets. Called in a thread; line by line, so that parts of a text can be judged
    alone, but for private keys, whose lines follow their first one."""

    def __call__(self, text: str, path: str | None = None) -> Sequence[Finding]:
        """What is secret in the text, in any order. `path` is the file that the text is from, or shows lines of."""
        ...


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

    @property
    def is_on(self) -> bool:
        """Whether secrets are masked at all."""
        return self._finder is not None and self._is_wanted

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

    async def redact(self, text: str, path: str | None = None) -> str:
        """The text with a placeholder for each secret. What is found is known from now on."""
        return await self._redacted(self._finder, text, path) if self._finder and self._is_wanted else text

    async def learn(self, text: str, path: str | None = None) -> None:
        """Know the secrets of a text that is not shown, also while nothing is masked."""
        if self._finder:
            await self._redacted(self._finder, text, path)

    async def _redacted(self, finder: SecretFinder, text: str, path: str | None) -> str:
        if not text:
            return text
        for _ in range(MAX_PASSES):
            masked = await asyncio.to_thread(self._masked_once, finder, text, path)
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

    def _masked_once(self, finder: SecretFinder, text: str, path: str | None) -> str:
        """Runs in threads, several at a time: what it adds to is never changed or taken out of, and copied to be gone
        through."""
        return self._masked(text, finder(text, path))

    def _masked(self, text: str, found: Iterable[Finding]) -> str:
        kept = [match.span() for match in PLACEHOLDER.finditer(text)]
        new = [span for span in found if not _overlaps(span, kept)]
        for span in new:
            self._know(text[span.start : span.end], span)  # also what lies within another, as a password in an address
        known = [span for span in self._known_in(text) if not _overlaps(span, kept)]
        spans = sorted([*new, *known], key=lambda span: (span.start, -span.end))
        parts: list[str] = []
        done = 0
        for span in _merged(spans):
            value = text[span.start : span.end]
            self._know(value, span)
            parts += (text[done : span.start], self._placeholders[value])
            done = span.end
        return "".join([*parts, text[done:]])

    def _known_in(self, text: str) -> Iterator[Finding]:
        for value in tuple(self._everywhere):
            at = text.find(value)
            while at >= 0:
                yield Finding(start=at, end=at + len(value), kind="value")
                at = text.find(value, at + len(value))

    def _know(self, value: str, found: Finding) -> None:
        self._add(value, found.kind)
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


def _spellings(value: str) -> set[str]:
    """How else a value may be written: within an address, within JSON, and as base64."""
    data = value.encode("utf-8", "surrogatepass")
    spelled = {quote(data, safe=""), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return (spelled | {base64.b64encode(data).decode()}) - {value}


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


_KEY_BEGINS = re.compile(r"BEGIN [A-Z0-9 ]*PRIVATE KEY")
_KEY_ENDS = re.compile(r"END [A-Z0-9 ]*PRIVATE KEY")


class LiveRedactor:
    """Masks text that comes in pieces: a line is held back until it is whole, a private key until it is over."""

    def __init__(self, redactor: Redactor, path: str | None = None) -> None:
        """`path` is the file whose lines the text shows."""
        self._redactor = redactor
        self._path = path
        self._held = ""

    async def feed(self, piece: str) -> str:
        """What may be shown now; often nothing."""
        if not self._redactor.is_on:
            return piece
        self._held += piece
        end = self._end_of_whole_lines()
        whole, self._held = self._held[:end], self._held[end:]
        return await self._redactor.redact(whole, self._path)

    async def close(self) -> str:
        """What was held back."""
        rest, self._held = self._held, ""
        return await self._redactor.redact(rest, self._path)

    def _end_of_whole_lines(self) -> int:
        end = max(self._held.rfind("\n"), self._held.rfind("\r")) + 1
        begins = [match.start() for match in _KEY_BEGINS.finditer(self._held, 0, end)]
        if not begins or _KEY_ENDS.search(self._held, begins[-1], end) or end - begins[-1] > MAX_HELD_CHARS:
            return end
        return self._held.rfind("\n", 0, begins[-1]) + 1
