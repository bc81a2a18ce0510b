"""Names of sessions that the user has not named, from the first prompt or its attachments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pygent_ls.agent.context.attachments import (
    DiagnosticsPart,
    EditorPart,
    FilePart,
    ImagePart,
    NotePart,
    PromptPart,
    ReviewPart,
    SelectionPart,
    TerminalPart,
    is_background,
)
from pygent_ls.agent.messages import ImageBlock, Message, TextBlock
from pygent_ls.agent.ports.editor_state import LineRange

UNNAMED = "New session"
"""Name of an unnamed session until its first prompt."""

MAX_NAME_CHARS = 60
"""Maximum number of characters of a name taken from a prompt."""

MAX_PROMPT_CHARS = 50_000
"""Number of characters of a prompt that are searched for a name."""

MAX_LINE_CHARS = 2_000
"""Number of characters of a line that are searched for a name."""

MIN_NAME_CHARS = 15
"""Minimum length of a name. If the first line is shorter, such as "Hi,", the next one is added."""

_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")

_MARKUP = re.compile(r"^\s*(?:#{1,6}\s+|>\s?|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)+")
"""Markdown at the beginning of a line: a heading, a quotation, a list item."""

_EMPHASIS = re.compile(r"(?<!\w)\*\*(?=\S)(.{1,200}?)(?<=\S)\*\*(?!\w)")
"""Underscores are not treated as emphasis, because of names such as `__init__`."""

_LINK = re.compile(r"!?\[([^\]]{0,500})\]\([^)\s]{0,500}\)")

_RULE = re.compile(r"\s*(?:[-=*_]\s*){3,}$")

_MENTIONS_ALONE = re.compile(r"\s*+(?:@(?:\"[^\"]+\"\S*+|\S++)\s*+)++$")


def name_of(prompt: str) -> str:
    """Return the name of a session that begins with this prompt: its first words as plain text, cut between words if
    they are many. Empty if it has none.

    Lines that only name files, and pasted code, are used only if there is nothing else.
    """
    given = [line[:MAX_LINE_CHARS] for line in prompt[:MAX_PROMPT_CHARS].splitlines()]
    lines = [_plain(line) for line in given]
    said = [line for line in _outside_of_code(given) if line]
    spoken = [line for line in said if not _MENTIONS_ALONE.match(line)]
    return _short(_joined(spoken) or _joined(said) or next((line for line in lines if line), ""))


def name_of_attached(parts: Sequence[PromptPart]) -> str:
    """Return the name of a session whose first prompt has only these attachments; empty if they give none."""
    called = (_called(each) for each in parts if not isinstance(each, str) and not is_background(each))
    return _short(next((name for name in called if name), ""))


def name_of_conversation(messages: Iterable[Message]) -> str:
    """Return the name from the first prompt with text; empty if all prompts lack text."""
    for message in messages:
        if message.role == "user":
            own = (each.text for each in message.blocks if isinstance(each, TextBlock) and each.is_typed)
            if name := name_of("\n".join(own)):
                return name
    return ""


def _outside_of_code(lines: Iterable[str]) -> Iterable[str]:
    is_code = False
    for line in lines:
        if _FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            yield _plain(line)


def _plain(line: str) -> str:
    """Return a Markdown line as plain text; empty for a rule or a fence."""
    if _RULE.match(line) or _FENCE.match(line):
        return ""
    text = _MARKUP.sub("", line)
    text = _LINK.sub(r"\1", text)
    text = _EMPHASIS.sub(r"\1", text).replace("`", "")
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _joined(lines: Sequence[str]) -> str:
    """Join lines until the text has the minimum length."""
    text = ""
    for line in lines:
        text = f"{text} {line}".strip()
        if len(text) >= MIN_NAME_CHARS:
            break
    return text


def _short(text: str) -> str:
    if len(text) <= MAX_NAME_CHARS:
        return text
    cut = text[:MAX_NAME_CHARS]  # one more than fits, because a word may end there
    words, _, _ = cut.rpartition(" ")
    return f"{(words if len(words) >= MAX_NAME_CHARS // 2 else cut[:-1]).rstrip(' ,;:.')}…"


def _called(part: PromptPart) -> str:
    match part:
        case FilePart(path=path, lines=lines):
            return path.name + _where(lines)
        case SelectionPart(path=path, lines=lines):
            return path.name + _where(lines)
        case DiagnosticsPart(path=path):
            return f"Problems in {path.name}"
        case ImagePart(path=path):
            return path.name
        case ImageBlock():
            return "A picture"
        case TerminalPart(command=command):
            return command or "Terminal output"
        case NotePart() | EditorPart() | ReviewPart() | str():
            return ""


def _where(lines: LineRange | None) -> str:
    if lines is None:
        return ""
    return f"#L{lines.first}" if lines.first == lines.last else f"#L{lines.first}-L{lines.last}"
