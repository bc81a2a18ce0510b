"""Text of a model as shown to a person who is asked for permission: nothing in it can hide what it does."""

from __future__ import annotations

import json
import re
import shlex
from typing import cast

from pygent_ls.shell.parser import read_line
from pygent_ls.shell.words import ANY

LONG_CHARS = 1_000
"""Length from which a command is too long to take in at a glance; a message box may also cut it off."""

MAX_NAMED = 20
"""Maximum number of programs that are named for a long command."""

MIN_GAP_CHARS = 12
"""Minimum number of spaces in a row that could push what follows out of sight."""

MIN_EMPTY_LINES = 4
"""Minimum number of empty lines in a row that could do the same."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_GAP = re.compile(rf"(?<=\S)[^\S\n]{{{MIN_GAP_CHARS},}}(?=\S)")
_EMPTY_LINES = re.compile(rf"\n(?:[^\S\n]*\n){{{MIN_EMPTY_LINES},}}")


def visible(text: str) -> str:
    """Return the text with characters that hide or reorder others escaped: terminal controls, bidirectional controls,
    zero-width characters, and lone surrogates. Tabs and line feeds stay."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def in_full(text: str) -> str:
    """Return the text, visible and complete, with wide gaps replaced by their size. Further lines are indented, so that
    none can pass for a line of ours."""
    shown = _GAP.sub(lambda found: f" ⟨{len(found[0])} spaces⟩ ", visible(text))
    shown = _EMPTY_LINES.sub(lambda found: f"\n⟨{found[0].count(chr(10)) - 1} empty lines⟩\n", shown)
    return shown.replace("\n", "\n    ")


def capitalized(text: str) -> str:
    """Return the text with a capital letter at its beginning; names in it stay as they are."""
    return text[:1].upper() + text[1:]


def on_one_line(text: str) -> str:
    """Return the text, visible and without line breaks."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def whole_on_one_line(text: str) -> str:
    """Return all of the text, visible and without line breaks; wide gaps and runs of empty lines are replaced by their
    size."""
    shown = _EMPTY_LINES.sub(lambda found: f" ⟨{found[0].count(chr(10)) - 1} empty lines⟩ ", visible(text))
    return _GAP.sub(lambda found: f" ⟨{len(found[0])} spaces⟩ ", shown).replace("\n", "\\n").replace("\t", "\\t")


def programs_of(command: str) -> str:
    """Return a line that names the programs of a long command, to precede it; empty for a short one."""
    if len(command) < LONG_CHARS and command.count("\n") < MAX_NAMED:
        return ""
    line = read_line(command)
    names = list(dict.fromkeys(on_one_line(each.name.replace(ANY, "?")) for each in line.all()))
    named = ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")
    doubt = "" if line.is_parsed else " (it could not be parsed: there may be others)"
    return f"A long command, {len(command):,} characters; it runs {named or 'unknown programs'}{doubt}:\n"


MAX_EXCERPT_CHARS = 8_000
"""Maximum characters of a document that an error quotes: about 2 000 tokens, enough to make an edit again."""


def excerpt(text: str) -> str:
    """Return the text between fences, without its middle if it is long."""
    if len(text) <= MAX_EXCERPT_CHARS:
        return f"```\n{text}\n```"
    half = MAX_EXCERPT_CHARS // 2
    omitted = len(text) - 2 * half
    return f"```\n{text[:half]}\n[… {omitted} characters left out; use read_file …]\n{text[-half:]}\n```"


def one_line(value: object, limit: int = 120) -> str:
    """Return a value as it may stand in a title."""
    text = visible(" ".join(text_of(value).split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def text_of(value: object) -> str:
    """Return a tool argument as text: a list of strings as a command line, other values as JSON."""
    if isinstance(value, list) and all(isinstance(each, str) for each in cast("list[object]", value)):
        return shlex.join(cast("list[str]", value))  # as in a command line: `git add a.py 'b c.py'`
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
