"""The text that is offered of a model's answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pygent_ls.agent.display_text import visible

MAX_LINES = 30
"""Maximum number of lines of a completion: more than can be judged at a glance."""

MAX_CHARS = 6_000
"""Maximum length of an answer that is read."""

_FENCE = re.compile(r"\s*```[^\n]*\n")
_FENCE_BEGINS = re.compile(r"\s*`{1,3}[^\n]*\Z")

_PLACEHOLDER = re.compile(r"\{\{SECRET_")
"""What stands for a secret in what the model is sent."""


def is_enough(text: str, before: str, after: str) -> bool:
    """Whether no more of the answer is needed: within a line, its first line is the completion; elsewhere, the block
    that it begins."""
    if len(text) > MAX_CHARS:
        return True
    if _FENCE_BEGINS.match(text):
        return False
    body, is_closed = _unfenced(text)
    body = _without_line(body, before)
    if is_closed or is_within_line(after):
        return is_closed or "\n" in body
    lines = body.split("\n")
    return len(lines) > MAX_LINES or _block_end(lines, before) is not None


def shaped(text: str, before: str, after: str) -> str:
    """Return the text to insert; empty if nothing is left to offer.

    Chat models answer in a code fence, repeat the beginning of the line, or go on with the text that follows. Text with
    characters that an editor does not show, or that shows them in another order, is not offered.
    """
    text = text[:MAX_CHARS].replace("\r\n", "\n")
    if visible(text) != text or _PLACEHOLDER.search(text) or _FENCE_BEGINS.match(text):
        return ""
    text = _without_line(_unfenced(text)[0], before)
    within_line = is_within_line(after)
    if within_line:
        text = text.partition("\n")[0]
    else:
        lines = text.split("\n")[:MAX_LINES]
        text = "\n".join(lines[: _block_end(lines, before)])
    text = _without_what_follows(text, before, after)
    text = text if within_line else text.rstrip()
    return text if text.strip() else ""


def is_within_line(after: str) -> bool:
    """Whether the line goes on behind the cursor with more than closing brackets."""
    return bool(re.search(r"[^\s)\]}>;,:\"'`]", after.partition("\n")[0]))


def _unfenced(text: str) -> tuple[str, bool]:
    """Return the content of the code fence that the text begins with, and whether the fence is closed."""
    opened = _FENCE.match(text)
    if not opened:
        return text, False
    body = text[opened.end() :]
    end = 0 if body.startswith("```") else body.find("\n```")
    return (body, False) if end < 0 else (body[:end], True)


def _without_line(text: str, before: str) -> str:
    """Return the text without a repetition of the line that the cursor is in."""
    line = before.rpartition("\n")[2]
    return text[len(line) :] if line.strip() and text.startswith(line) else text


def _block_end(lines: Sequence[str], before: str) -> int | None:
    """Return the number of the first line behind the block that is completed; None if the block goes on.

    A line that is indented less ends it; at the top level, also one behind an empty line.
    """
    line = before.rpartition("\n")[2]
    if not line.strip():
        line += next((each for each in lines if each.strip()), "")
    indent, has_gap = _indent(line), False
    for number, each in enumerate(lines[1:], 1):
        if not each.strip():
            has_gap = True
        elif _indent(each) < indent or (has_gap and _indent(each) == 0 and any(one.strip() for one in lines[:number])):
            return number
    return None


def _indent(line: str) -> int:
    shown = line.expandtabs(4)
    return len(shown) - len(shown.lstrip())


def _without_what_follows(text: str, before: str, after: str) -> str:
    """Return the text without an end that is the beginning of what follows the cursor; empty if the cursor's line would
    become the next one."""
    rest, _, following = after.partition("\n")
    for length in range(min(len(rest), len(text)), 0, -1):
        if text.endswith(rest[:length]) and rest[:length].strip():
            return text[:-length]
    lines, below = text.split("\n"), [line for line in following.split("\n") if line.strip()]
    line = before.rpartition("\n")[2]
    made = [each.rstrip() for each in f"{line}{text}".split("\n") if each.strip()]
    if len("".join(made).strip()) > 3 and not rest.strip() and made == [each.rstrip() for each in below[: len(made)]]:
        return ""
    for length in range(min(len(lines) - 1, len(below)), 0, -1):
        if lines[-length:] == below[:length]:
            return "\n".join(lines[:-length])
    first = below[0] if below else ""
    if len(first.strip()) > 3 and first in lines[1:]:
        return "\n".join(lines[: lines.index(first, 1)])
    return text
