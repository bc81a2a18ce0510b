"""Detection of keys and tokens by the formats in patterns.toml."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping

from pygent_ls.secrets.findings import Finding
from pygent_ls.secrets.patterns import SecretPattern, secret_patterns


def detect_keys(text: str, lowered: str) -> Iterator[Finding]:
    """Find the keys and tokens of all patterns.

    `lowered` is the text in lower case, each character at the same offset.
    """
    for pattern in secret_patterns():
        yield from detect(pattern, text, lowered)


def detect(pattern: SecretPattern, text: str, lowered: str) -> Iterator[Finding]:
    """Find the values of one pattern."""
    for match in _matches(pattern, text, lowered):
        start, end = match.span(match.lastindex or 0)
        if not any(EXCLUSIONS[name](text, start, end) for name in pattern.unless):
            yield Finding(start=start, end=end, kind=pattern.id)


def _matches(pattern: SecretPattern, text: str, lowered: str) -> Iterator[re.Match[str]]:
    if any(keyword in lowered for keyword in pattern.keywords):
        yield from pattern.expression.finditer(text)
    for prefix in pattern.prefixes:
        at = lowered.find(prefix.lower())
        while at >= 0:
            match = pattern.expression.match(text, at)
            if match:
                yield match
            at = lowered.find(prefix.lower(), match.end() if match else at + 1)


# Matches that are not secrets

WORDS = re.compile(
    r"_*[A-Za-z]+\d{0,3}(?:[-_./:](?:[A-Za-z]+\d{0,3}|\d{1,4}[a-z]{0,3}))*|[\d._,:/-]+"
    r"|(?:[A-Z]{0,6}+[a-z]{2,}+\d{0,5}+|[A-Z]{2,6}+\d{1,5}+|[vV]\d{1,2}+|Ed25519|Ed448|X509|X25519)++"
)
"""A number, or a name that a person chose, of words and small numbers. Each text can match in only one way: with
several ways to try, a long text that does not match would take years."""

MIN_DIFFERENT = 6
"""Minimum number of different characters in a key; `SKxxxxxxxx` has three."""

_DIGEST = re.compile(r"(?i:[0-9a-f]{32,128})")
_DIGEST_NAME = re.compile(r"(?i:sha\d+|md5|h1|integrity|checksum|digest|hash)\W{0,3}$")


def _is_words(text: str, start: int, end: int) -> bool:
    return WORDS.fullmatch(text, start, end) is not None


def _is_example(text: str, start: int, end: int) -> bool:
    """Whether the span is an example from documentation: `AKIAIOSFODNN7EXAMPLE`, `SKxxxxxxxx`."""
    return text.find("EXAMPLE", start, end) >= 0 or len(set(text[start:end])) < MIN_DIFFERENT


def _is_digest(text: str, start: int, end: int) -> bool:
    """Whether the span is a hash, as in lock files and in the output of git."""
    return bool(_DIGEST.fullmatch(text, start, end) or _DIGEST_NAME.search(text[max(start - 12, 0) : start]))


def _is_malformed(text: str, start: int, end: int) -> bool:
    """Whether the header or the claims of a JSON Web Token are not JSON."""
    header, _, rest = text[start:end].partition(".")
    return not (_is_json(header) and _is_json(rest.partition(".")[0]))


def _is_json(part: str) -> bool:
    """Whether a part of a token is JSON, encoded as base64url without padding."""
    try:
        json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        return False
    except RecursionError:  # nested too deep for the parser
        return True
    return True


EXCLUSIONS: Mapping[str, Callable[[str, int, int], bool]] = {
    "words": _is_words,
    "example": _is_example,
    "digest": _is_digest,
    "malformed": _is_malformed,
}
"""Tests that `unless` in patterns.toml names: whether a span of a text matches a pattern but is not a secret."""
