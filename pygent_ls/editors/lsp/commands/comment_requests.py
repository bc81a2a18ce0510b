"""Requests in comments, such as `# pygent: make this async`. Pure.

The language of a file is not parsed. A comment sign counts outside the quotes of its own line. Some signs count only in
certain files, because they mean something else in others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

MARK = "pygent:"

MAX_LINE_CHARS = 2_000
"""Maximum length of a line that is searched: longer lines are generated, and the time to match quotes grows with the
square of the length."""

MAX_REQUESTS = 100
"""Maximum number of requests in one document; each has a code lens."""

_SIGNS = r"(?<![:/])/{2,}!?|/\*+!?|<!--|\#+[|:]?|-{2,}(?:\[\[)?|\{-\|?|\(\*+|\{\#|<%--"
"""Signs that count anywhere in a line, except the `//` of a URL."""

_SIGNS_AFTER_SPACE = r"(?<!\S)(?:;+|%+|\*+)|^\s*(?:\"\"\"|''')"
"""Signs that count only at the beginning of a line or after a space; elsewhere they are operators."""

_STRINGS = r"""\"(?:\\.|[^"\\])*\"|(?<!\w)[bBfFrRuU]{0,2}'(?:\\.|[^'\\])*'|`[^`]*`"""
"""String literals. An apostrophe within a word and a quote that is not closed in its line start no string."""

_ENDS = re.compile(r"""(?:(?<!\*)\*++(?:/\}?|\))|(?<!-)--++>|(?:(?<!-)--++)?%>|\|?-\}|\#\}|\|\#|\]\]|\"\"\"|''')$""")


@cache
def _pattern(signs: str) -> re.Pattern[str]:
    return re.compile(rf"(?:(?P<sign>{signs})[ \t]*{MARK}(?P<request>.*))|{_STRINGS}")


_USUAL = f"{_SIGNS}|{_SIGNS_AFTER_SPACE}"
_MARKUP = "<!--"
"""Signs of files in which `#` marks a heading and `*` a list item."""

_OWN: Mapping[str, str] = {
    **dict.fromkeys((".md", ".markdown", ".txt", ".xml", ".svg"), _MARKUP),
    **dict.fromkeys((".html", ".htm"), r"<!--|(?<![:/])/{2,}|/\*+"),
    **dict.fromkeys((".rst",), r"^\s*\.\."),
    **dict.fromkeys((".vim", ".vimrc", "vimrc", "_vimrc", ".gvimrc", ".exrc"), rf'^\s*:?"|{_SIGNS}'),
    **dict.fromkeys((".vb", ".vbs", ".bas"), r"(?<!\S)'|(?i:^\s*rem\b)"),
    **dict.fromkeys((".bat", ".cmd"), r"^\s*::|(?i:^\s*@?rem\b)"),
    **dict.fromkeys((".f", ".for", ".f77", ".f90", ".f95", ".f03", ".f08"), r"!+|^[cC*]"),
    **dict.fromkeys((".m4", ".ac"), r"\bdnl\b|\#+"),
}
"""Signs of other files, by suffix or full name."""


def comment_requests(uri: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number, from 0, and the text of each request."""
    if MARK not in text:
        return
    pattern = _pattern_of(uri)
    n_found = 0
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text)):
        request = _request_in(line, pattern) if MARK in line and len(line) <= MAX_LINE_CHARS else ""
        if request:
            yield number, request
            n_found += 1
        if n_found == MAX_REQUESTS:
            return


def _request_in(line: str, pattern: re.Pattern[str]) -> str:
    for found in pattern.finditer(line):
        if found["sign"]:
            return _ENDS.sub("", found["request"].rstrip()).strip()
    return ""


def _pattern_of(uri: str) -> re.Pattern[str]:
    path = PurePosixPath(uri.lower())
    return _pattern(_OWN.get(path.suffix) or _OWN.get(path.name) or _USUAL)
