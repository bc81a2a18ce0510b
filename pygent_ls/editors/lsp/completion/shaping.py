"""The text that is offered of a model's answer. Pure."""

from __future__ import annotations

import re

MAX_LINES = 30
"""Maximum number of lines of a completion: more than can be judged at a glance."""

_FENCE = re.compile(r"\A\s*```[^\n]*\n(.*?)(?:\n```\s*)?\Z", re.DOTALL)


def is_enough(text: str, after: str) -> bool:
    """Whether no more of the answer is needed: within a line, its first line is the completion."""
    return text.count("\n") >= (1 if _is_within_line(after) else MAX_LINES)


def shaped(text: str, before: str, after: str) -> str:
    """Return the text to insert; empty if nothing is left to offer.

    Chat models answer in a code fence, repeat the beginning of the line, or go on with the text that follows.
    """
    fenced = _FENCE.match(text)
    text = (fenced[1] if fenced else text).replace("\r\n", "\n")
    line = before.rpartition("\n")[2]
    if line.strip() and text.startswith(line):
        text = text[len(line) :]
    within_line = _is_within_line(after)
    text = text.partition("\n")[0] if within_line else "\n".join(text.split("\n")[:MAX_LINES])
    text = _without_what_follows(text, after)
    text = text if within_line else text.rstrip()
    return text if text.strip() else ""


def _is_within_line(after: str) -> bool:
    """Whether the line goes on behind the cursor with more than closing brackets."""
    return bool(re.search(r"[^\s)\]}>;,:\"'`]", after.partition("\n")[0]))


def _without_what_follows(text: str, after: str) -> str:
    """Return the text without an end that is the beginning of what follows the cursor."""
    rest = after.partition("\n")[0]
    for length in range(min(len(rest), len(text)), 0, -1):
        if text.endswith(rest[:length]) and rest[:length].strip():
            return text[:-length]
    following = after.lstrip("\n").partition("\n")[0]
    lines = text.split("\n")
    if len(following.strip()) > 3 and following in lines[1:]:
        return "\n".join(lines[: lines.index(following, 1)])
    return text
