"""Comments that ask for something: `# pygent: make this async`. Pure.

What a line means in its language is not known here. A comment sign counts where it stands outside of the quotes of its
own line, and some signs count in some files only, since they are something else in all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

MARK = "pygent:"

MAX_LINE_CHARS = 2_000
"""Of a line that is looked at: longer ones were written by programs, and quotes in them cost the square of this."""

MAX_REQUESTS = 100
"""Of one document: a lens for each is shown."""

_SIGNS = r"(?<![:/])/{2,}!?|/\*+!?|<!--|\#+[|:]?|-{2,}(?:\[\[)?|\{-\|?|\(\*+|\{\#|<%--"
"""Anywhere in a line. A URL's `//` is none."""

_SIGNS_AFTER_SPACE = r"(?<!\S)(?:;+|%+|\*+)|^\s*(?:\"\"\"|''')"
"""At the beginning of a line, or after a space: elsewhere they are operators."""

_STRINGS = r"""\"(?:\\.|[^"\\])*\"|(?<!\w)[bBfFrRuU]{0,2}'(?:\\.|[^'\\])*'|`[^`]*`"""
"""An apostrophe in a word opens none, and a quote that is not closed in its line opens none either."""

_ENDS = re.compile(r"""(?:(?<!\*)\*++(?:/\}?|\))|(?<!-)--++>|(?:(?<!-)--++)?%>|\|?-\}|\#\}|\|\#|\]\]|\"\"\"|''')$""")


def _pattern(signs: str) -> re.Pattern[str]:
    return re.compile(rf"(?:(?P<sign>{signs})[ \t]*{MARK}(?P<request>.*))|{_STRINGS}")


_USUAL = _pattern(f"{_SIGNS}|{_SIGNS_AFTER_SPACE}")
_MARKUP = _pattern("<!--")
"""Where a line that begins with a number sign is a heading, and one with an asterisk belongs to a list."""

_OWN: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys((".md", ".markdown", ".txt", ".xml", ".svg"), _MARKUP),
    **dict.fromkeys((".html", ".htm"), _pattern(r"<!--|(?<![:/])/{2,}|/\*+")),
    **dict.fromkeys((".rst",), _pattern(r"^\s*\.\.")),
    **dict.fromkeys((".vim", ".vimrc", "vimrc", "_vimrc", ".gvimrc", ".exrc"), _pattern(rf'^\s*:?"|{_SIGNS}')),
    **dict.fromkeys((".vb", ".vbs", ".bas"), _pattern(r"(?<!\S)'|(?i:^\s*rem\b)")),
    **dict.fromkeys((".bat", ".cmd"), _pattern(r"^\s*::|(?i:^\s*@?rem\b)")),
    **dict.fromkeys((".f", ".for", ".f77", ".f90", ".f95", ".f03", ".f08"), _pattern(r"!+|^[cC*]")),
    **dict.fromkeys((".m4", ".ac"), _pattern(r"\bdnl\b|\#+")),
}
"""The signs of files that have others, by the end of their name or by the whole of it."""


def comment_requests(uri: str, text: str) -> Iterator[tuple[int, str]]:
    """The lines with a request, counted from 0, and what each asks for."""
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
    return _OWN.get(path.suffix) or _OWN.get(path.name) or _USUAL
