"""The workspace's chat document: answers to commands, for editors that have no chat panel."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

USER_HEADING = "## You"
ANSWER_HEADING = "## pygent"

_HEADING = re.compile(r"(?:^|(?<=[\r\n]))## (?:You|pygent)[ \t]*(?=[\r\n]|$)")
"""A line of its own, whichever way lines end."""


def chat_path(state_folder: Path, workspace: Path | None) -> Path:
    """Where the chat document of a workspace is kept."""
    name = workspace.name if workspace and workspace.name else "pygent"
    tag = hashlib.sha256(str(workspace).encode()).hexdigest()[:8]
    return state_folder / "chats" / f"{name}-{tag}.pygent.md"


def append_exchange(path: Path, prompt: str, answer: str) -> None:
    """Write a question and its answer at the end, and a heading for the next question below."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    kept = kept.rstrip().removesuffix(USER_HEADING).rstrip()
    parts = [kept, USER_HEADING, escaped(prompt), ANSWER_HEADING, escaped(answer), USER_HEADING]
    text = "\n\n".join(part for part in parts if part) + "\n\n"
    path.write_text(text, encoding="utf-8", errors="replace")  # an answer may hold half of a surrogate pair


def escaped(text: str) -> str:
    """Text in which no line reads as a heading of the conversation."""
    return _HEADING.sub(r"\\\g<0>", text.strip())
