"""The detectors of the library bc-detect-secrets, which checkov keeps up to date; this module alone imports it.

Only its patterns are used. What it offers beyond them opens files, keeps settings for the whole process, and can ask
the provider over the network whether a key is valid: none of that is ever called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import NamedTuple

from pygent_ls.agent.secrets import Finding


class _Detector(NamedTuple):
    module: str
    kind: str
    hints: tuple[str, ...]
    """One of them is in every text, all in small letters, in which the detector finds something."""
    form: str = ""
    """A regular expression that such a text matches; where there is no telling word."""
    own: str = ""
    """In place of the library's pattern, if that takes the square of a text's length. What the group `none` is part of
    is no finding: a run that would be tried from each of its characters is passed at once."""


DETECTORS: Mapping[str, _Detector] = {
    "AWSKeyDetector": _Detector("aws", "aws_key", ("a3t", "abia", "acca", "akia", "asia", "aws")),
    "ArtifactoryDetector": _Detector("artifactory", "artifactory_key", ("akc",)),
    "AzureStorageKeyDetector": _Detector("azure_storage_key", "azure_storage_key", ("==",), r"[A-Za-z0-9+/]{86}=="),
    "DiscordBotTokenDetector": _Detector("discord", "discord_token", (".",), r"[MNO][\w-]{23,25}\.[\w-]{6}\."),
    "GitHubTokenDetector": _Detector("github_token", "github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    "JwtTokenDetector": _Detector(
        *("jwt", "json_web_token", ("eyj",)),
        own=r"eyJ[\w=-]++(?:\.[\w=-]++\.?+[\w.+/=-]*+|(?P<none>))",
    ),
    "MailchimpDetector": _Detector("mailchimp", "mailchimp_key", ("-us",), r"[0-9a-z]{32}-us\d"),
    "NpmDetector": _Detector("npm", "npm_token", ("npm_", "_authtoken", "npm token", "npm-token", "npmtoken")),
    "SendGridDetector": _Detector("sendgrid", "sendgrid_key", ("sg.",)),
    "SlackDetector": _Detector("slack", "slack_token", ("xox", "hooks.slack")),
    "SquareOAuthDetector": _Detector("square_oauth", "square_secret", ("sq0csp-",)),
    "StripeDetector": _Detector("stripe", "stripe_key", ("k_live_",)),
    "TwilioKeyDetector": _Detector("twilio", "twilio_key", ("ac", "sk"), r"(?:AC|SK)[a-z0-9]{32}"),
}
"""Those that know a value by its own form. Those that guess by names or randomness mask too much of a program, and for
private keys and passwords in addresses the finder needs more than they give."""

MIN_CHARS = 8
"""A group of a pattern that is shorter holds a prefix, not the value."""

_DIGEST = re.compile(r"(?i:[0-9a-f]{32,128})")
_DIGEST_NAME = re.compile(r"(?i:sha\d+|md5|h1|integrity|checksum|digest|hash)\W{0,3}$")


def detected(text: str, lowered: str) -> Iterator[Finding]:
    """What the library's detectors find. The library is loaded once a text gives a reason to.

    `lowered` is the text in small letters.
    """
    for name, detector in DETECTORS.items():
        if any(hint in lowered for hint in detector.hints) and re.search(detector.form, text):
            patterns, is_valid = _loaded(name)
            for pattern in patterns:
                yield from _found(pattern, text, detector.kind, is_valid)


@cache
def _loaded(name: str) -> tuple[tuple[re.Pattern[str], ...], Callable[[str], bool]]:
    """The patterns of a detector, and what else it demands of a value."""
    module = import_module(f"detect_secrets.plugins.{DETECTORS[name].module}")
    detector = getattr(module, name)
    if own := DETECTORS[name].own:
        return (re.compile(own, re.ASCII),), detector.is_formally_valid
    patterns = tuple(each for each in detector.denylist if "\\n" not in each.pattern)  # a finding is on one line
    return patterns, getattr(detector, "is_formally_valid", lambda _: True)


def _found(pattern: re.Pattern[str], text: str, kind: str, is_valid: Callable[[str], bool]) -> Iterator[Finding]:
    for match in pattern.finditer(text):
        if match.lastgroup == "none":
            continue
        group = max(range(len(match.groups()) + 1), key=lambda n: (n > 0 and len(match[n] or "") >= MIN_CHARS, -n))
        start, end = _trimmed(text, *match.span(group))
        value = text[start:end]
        if (
            "\n" not in value
            and _is_formally_valid(value, is_valid)
            and not _is_example(value)
            and not _is_digest(text, start, value)
        ):
            if text[start - 1 : start].isalnum() or text[end : end + 1].isalnum():
                continue  # a part of something longer
            yield Finding(start=start, end=end, kind=kind)


def _is_formally_valid(value: str, is_valid: Callable[[str], bool]) -> bool:
    try:
        return is_valid(value)
    except RecursionError:  # JSON that is nested too deep for the library
        return True


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Without the delimiters that some patterns take in."""
    while start < end and text[start] in " \t\r\n\"'=:":
        start += 1
    while start < end and text[end - 1] in " \t\r\n\"'":
        end -= 1
    return start, end


MIN_DIFFERENT = 6
"""Characters of a key; `ACxxxxxxxx` has three."""


def _is_example(value: str) -> bool:
    """Whether it stands in documentation: `AKIAIOSFODNN7EXAMPLE`, `ACxxxxxxxx`."""
    return "EXAMPLE" in value or len(set(value)) < MIN_DIFFERENT


def _is_digest(text: str, start: int, value: str) -> bool:
    """Whether it is a hash, as lock files and git are full of."""
    return _DIGEST.fullmatch(value) is not None or _DIGEST_NAME.search(text[max(start - 12, 0) : start]) is not None
