"""Search for secrets in text: by their format, by the name that they are assigned to, in URLs and in private keys.

Hashes, UUIDs and the digests of lock files are not secrets, and source code that resembles a secret is left alone:
a wrong mask costs the model more than a rare miss.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from pygent_ls.secrets.detectors import WORDS, detect_keys
from pygent_ls.secrets.diff_headers import NEXT_PATCH, PATCH_HEADER
from pygent_ls.secrets.env_files import is_env_file, is_mixed, is_nothing, secret_values
from pygent_ls.secrets.findings import Finding


def find_secrets(text: str, path: str | None = None) -> Sequence[Finding]:
    """Return the secrets in a text; implements `SecretFinder`."""
    lowered = _lowered(text)
    found = [*detect_keys(text, lowered), *_in_addresses(text), *_assigned(text, lowered)]
    found += _in_private_keys(text)
    found += _cut_off(text)
    for start, end in _env_parts(text, path):
        found += _in_env_file(text, start, end)
    return found


# Passwords in URLs, and tokens after `Bearer`

_IN_ADDRESS = re.compile(r"(?<=://)[^\s/:@\"'<>`{}]{0,128}:([^\s/@\"'<>`]{1,256})(?=@[\w.\[-])")
_IN_HEADER = re.compile(r"(?:[Bb]earer|BEARER|[Bb]asic|[Tt]oken)[ \t]+([A-Za-z0-9._~+/-]{16,}+={0,2}+)(?![\w(])")

_EVERYBODYS = re.compile(
    r"pass|passwd|password|pwd|secret|token|user|username|test|testing|postgres|mysql|root|admin|guest|change-?_?me"
    r"|my-?_?password|your.*|.*example.*|foo|bar|baz",
    re.IGNORECASE,
)
"""Passwords of examples and development set-ups."""


MIN_PASSWORD_CHARS = 4
"""Minimum length of a password in a URL; documentation uses `https://a:b@host`."""


def _in_addresses(text: str) -> Iterator[Finding]:
    if "://" in text:
        for match in _IN_ADDRESS.finditer(text):
            if len(match[1]) >= MIN_PASSWORD_CHARS and _is_value(match[1]):
                yield Finding(start=match.start(1), end=match.end(1), kind="password", everywhere=is_telling(match[1]))
    for match in _IN_HEADER.finditer(text):
        if is_mixed(match[1]) and _is_random(match[1]):
            yield Finding(start=match.start(1), end=match.end(1), kind="token")


# Words that git cuts off

_HUNK_BELOW = re.compile(r"^@@+ -\d[\d, +-]{0,80}@@+ [^\r\n]{0,160}?([^\s\"'`=:,;(){}\[\]<>]{8,160})$", re.MULTILINE)
"""Last word of the context line in the header of a hunk; git shows the first 80 bytes of the line."""


def _cut_off(text: str) -> Iterator[Finding]:
    for match in _HUNK_BELOW.finditer(text) if "@@ -" in text else ():
        if _is_random(match[1]):
            yield Finding(start=match.start(1), end=match.end(1), kind="value", everywhere=False)


# Values that are assigned to a name such as `api_key`

_NAMES = (
    r"(?:[Aa][Pp][Ii][_-]?[Kk][Ee][Yy]|[Ss]ecret|SECRET|[Tt]oken|TOKEN|[Pp]assword|PASSWORD|[Pp]asswd|PASSWD"
    r"|[Pp]assphrase|PASSPHRASE|[Pp]wd|PWD|[Cc]redential|CREDENTIAL|[Pp]rivate_?[Kk]ey|PRIVATE_KEY|[Aa]ccess_?[Kk]ey"
    r"|ACCESS_KEY|[Aa]uth_?[Kk]ey|AUTH_KEY|[Ee]ncryption_?[Kk]ey|ENCRYPTION_KEY|[Ss]igning_?[Kk]ey|SIGNING_KEY"
    r"|[Aa]ccount_?[Kk]ey|ACCOUNT_KEY|_PASS\b|_pass\b|_authToken|_auth\b)"
)
_ASSIGNED = re.compile(
    rf"({_NAMES}(?![a-z])[\w-]{{0,40}})[\"'\]]{{0,2}}(?:[ \t]{{0,8}}(?::=|=>|={{1,3}}|:)[ \t]{{0,8}}|[ \t]+(?=[\"']))"
    r"(?:[a-zA-Z]{1,2}(?=[\"']))?(?:\"([^\"\s]{6,512})\"|'([^'\s]{6,512})'|`([^`\s]{6,512})`|([^\s\"'`,;(){}\[\]<>]{6,512}))"
)
_ASSIGNED_HINTS = (
    *("apikey", "api_key", "api-key", "secret", "token", "passw", "passphrase", "pwd", "credential", "_pass", "_auth"),
    *("privatekey", "private_key", "accesskey", "access_key", "authkey", "auth_key", "encryptionkey"),
    *("encryption_key", "signingkey", "signing_key", "accountkey", "account_key"),
)
"""Every line that contains a name of `_NAMES` contains one of these in lower case."""
_PASSWORDS = re.compile(r"(?i:passw|passphrase|pwd|_pass)")
_PLAIN_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_CODE = re.compile(r"[&*!]?\w*(?:\??\.|::|->)\w.*")
_TEMPLATE = re.compile(r"^[$%{<]\S|\{[^{}]*\}|%\(|%s|^[au]rn:|^\d{4}-\d\d-\d\d[T ]\d|^\(\?|^\[[^\]]+\][+*]")
"""A template, a reference to another place, a time or a regular expression."""
_NO_SECRET_OF = re.compile(
    r"(?i:(?:next|page|prev|previous|continuation|change|lock|client_?request|idempotency|forward|backward|public_?key)"
    r"[_-]?)$"
)
"""Words before `token` that make it a pagination token, an idempotency token or the token of a public key."""
_MASK = re.compile(r"[*xX•.#_-]{3,}|(?>.*?\*{4}).*+|.*\.\.\.|.*…")


def _assigned(text: str, lowered: str) -> Iterator[Finding]:
    starts: set[int] = set()
    for hint in _ASSIGNED_HINTS:
        at = lowered.find(hint)
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            at = lowered.find(hint, _line_end(text, at))
    for start in starts:
        for match in _ASSIGNED.finditer(text, start, min(_line_end(text, start), start + MAX_LINE_CHARS)):
            if found := _judged(text, match):
                yield found


MAX_LINE_CHARS = 100_000
"""Number of characters of a line that are searched for assignments; longer lines are data."""


def _judged(text: str, match: re.Match[str]) -> Finding | None:
    group = next(number for number in (2, 3, 4, 5) if match[number] is not None)
    name, value, is_quoted = match[1], match[group], group != 5
    if not _is_value(value) or "://" in value:  # _in_addresses finds credentials in URLs
        return None
    if _is_within_a_path(text, match.start()) or (
        name[:5].lower() == "token" and _NO_SECRET_OF.search(text, max(match.start() - 20, 0), match.start())
    ):
        return None
    if is_quoted and _PASSWORDS.search(name):
        is_secret = is_mixed(value) or any(not each.isalnum() and each not in "-_./:" for each in value)
    elif is_quoted or (text[match.end(1) : match.start(group)] == "=" and _PLAIN_ENV_NAME.fullmatch(name)):
        is_secret = _is_random(value) or (not is_quoted and bool(_PASSWORDS.search(name)) and is_mixed(value))
    else:
        is_secret = len(value) >= 12 and _CODE.fullmatch(value) is None and _is_random(value)
    if not is_secret:
        return None
    return Finding(start=match.start(group), end=match.end(group), kind=_kind(name), everywhere=is_telling(value))


_PATH_BEFORE = re.compile(r":[\w.-]{0,60}$")


def _is_within_a_path(text: str, at: int) -> bool:
    """Whether a name is part of one such as `AWS::SecretsManager::Secret` or `arn:aws:secretsmanager:eu:1:secret`."""
    return _PATH_BEFORE.search(text, max(at - 61, 0), at) is not None


def _is_value(value: str) -> bool:
    """Whether the text can be a value: not an example, a mask, a template or a reference to another place."""
    return not (_EVERYBODYS.fullmatch(value) or is_nothing(value) or _MASK.fullmatch(value) or _TEMPLATE.search(value))


def _is_random(value: str) -> bool:
    """Whether the value looks random: letters and digits mixed, not words, and at least `MIN_BITS` per character."""
    return len(value) >= 8 and is_mixed(value) and not WORDS.fullmatch(value) and _bits(value) >= MIN_BITS


MIN_BITS = 2.8
"""Minimum Shannon entropy per character. Eight different characters have 3.0. Names of functions that contain a
number have about 3, too, but they consist of words."""


def _bits(value: str) -> float:
    n = len(value)
    return -sum(count / n * math.log2(count / n) for count in Counter(value).values())


def is_telling(value: str) -> bool:
    """Whether a value is distinctive enough to be masked wherever it occurs; `postgres` and `4711` are not."""
    return (len(value) >= 6 and is_mixed(value)) or (len(value) >= 12 and any(not each.isalnum() for each in value))


def _lowered(text: str) -> str:
    """Return the text in lower case with unchanged offsets: a few characters would become two."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := each.lower()) == 1 else each for each in text)


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _kind(name: str) -> str:
    """Return the name in lower case and underscores, the form that placeholders use."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z]+", "_", spaced.lower()).strip("_")[:40].strip("_") or "value"


_MATCHED_IN = re.compile(
    r"^(?:[\w./~^@{}-]{1,100}+:)?([^\r\n:]{0,256}\.(?:env|flaskenv|dev\.vars)[\w.-]{0,40}?)"
    r"(?:[:-]\d+[:-]|:(?=[A-Za-z_]))",
    re.MULTILINE,
)


def _env_parts(text: str, path: str | None) -> Iterator[tuple[int, int]]:
    """Yield the spans that show a file of environment variables: the whole text, a part of a diff, matches of grep."""
    if path is not None and is_env_file(path):
        yield 0, len(text)
    elif ".env" in text or ".flaskenv" in text or ".dev.vars" in text:
        for match in PATCH_HEADER.finditer(text):
            if is_env_file(_unquoted(match[1])) or is_env_file(_unquoted(match[2])):
                following = NEXT_PATCH.search(text, match.end())
                yield match.end(), following.start() if following else len(text)
        for match in _MATCHED_IN.finditer(text):
            if is_env_file(match[1]):
                yield match.end(), _line_end(text, match.end())


def _unquoted(name: str) -> str:
    """Return a file name without the quotes that git adds if the name is not plain ASCII."""
    return name.rstrip().strip('"')


def _in_env_file(text: str, start: int, end: int) -> Iterator[Finding]:
    for each in secret_values(text[start:end]):
        value = text[start + each.start : start + each.end]
        everywhere = is_telling(value) if each.is_named_secret else _holds_random_part(value)
        yield Finding(
            start=start + each.start,
            end=start + each.end,
            kind=_kind(each.name),
            everywhere=everywhere,
            variable=each.name,
            is_named=each.is_named_secret,
        )


_WORD_OR_NUMBER = re.compile(r"[A-Za-z]+\d{0,3}|\d+[a-z]{0,3}")
_PART = re.compile(r"[A-Za-z0-9]+")
MIN_RANDOM_CHARS = 8
"""Minimum number of characters, in parts that are neither words nor numbers, of a value whose name does not suggest a
secret. Hosts, paths, dates, versions and names of models have fewer."""


def _holds_random_part(value: str) -> bool:
    """Whether a value is masked wherever it occurs although its name does not suggest a secret."""
    parts = (part for part in _PART.findall(value) if not _WORD_OR_NUMBER.fullmatch(part))
    return len(value) >= 12 and sum(map(len, parts)) >= MIN_RANDOM_CHARS


# Private keys: each line is a value of its own, so that keys in diffs and numbered listings are found, too

_KEY_BEGINS = re.compile(r"BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY")
_KEY_LINE = re.compile(r"(?<![A-Za-z0-9+/=])([A-Za-z0-9+/]{16,}={0,2})(?![A-Za-z0-9+/=])")
_KEY_LAST_LINE = re.compile(
    r"(?:[ \t]*\d+\t|[ +<>!-]{1,8}|[^\s:=]{1,256}[:-]\d+[:-])?[ \t\"']*+([A-Za-z0-9+/=]{2,15})(?:\\n)?[\"',;+ \t\r]*"
)
_KEY_HEADER = re.compile(
    r"(?:[ \t]*\d+\t|[ +<>!-]{1,8}|[^\s:=]{1,256}[:-]\d+[:-])?[ \t\"']*+(?:[A-Z][\w-]*+: .*)?(?:\\n)?[\"',;+ \t\r]*"
)
MAX_KEY_LINES = 400
"""Maximum number of lines of a private key: more than the longest key has."""


_BETWEEN = re.compile(r"(?:[\s\\\"'`+,;|]|(?:Proc-Type|DEK-Info|Version|Comment):[^\\\r\n]*|\\[nrt])*")
"""Text allowed before a key and between its lines if the whole key is on the line of its BEGIN marker."""


def _in_private_keys(text: str) -> Iterator[Finding]:
    done = 0
    for begin in _KEY_BEGINS.finditer(text):
        if begin.start() < done:
            continue
        at, is_first, has_body = begin.end(), True, False
        for _ in range(MAX_KEY_LINES):
            done = _line_end(text, at)
            if end := _KEY_ENDS.search(text, at, done):
                done = end.start()
            parts = list(_beside_the_mark(text, at, done) if is_first else _key_parts(text, at, done))
            if not parts and has_body and (last := _KEY_LAST_LINE.fullmatch(text, at, done)):
                parts = [last.span(1)]
            for start, stop in parts:
                everywhere = stop - start >= 16 and is_mixed(text[start:stop])
                yield Finding(start=start, end=stop, kind="private_key", everywhere=everywhere)
            is_key = is_first or parts or _KEY_HEADER.fullmatch(text, at, done)
            if end or not is_key or done == len(text):
                break
            at, is_first, has_body = done + 1, False, has_body or bool(parts)


def _beside_the_mark(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the lines of a key that are on the line of its BEGIN marker, unless other text is between them."""
    for first, stop in _key_parts(text, start, end):
        if not _BETWEEN.fullmatch(text, start, first):
            return
        yield first, stop
        start = stop


def _key_parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _KEY_LINE.finditer(text, start, end):
        first, stop = match.span(1)
        # A line of a key has an even number of characters, so an odd number includes the sign of a diff.
        # The diff of a merge has two signs.
        signs = 2 if text.startswith("++", first) else int(text[first] == "+" and (stop - first) % 2)
        yield first + (signs if text[first - 1 : first] in ("", "\n") else 0), stop
