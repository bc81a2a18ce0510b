"""The system prompt, put together from named parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ROLE = """\
You are pygent, a coding agent inside the user's editor. You read, search and change the files of their workspace \
with tools, and you run commands. You see open files as the user sees them, unsaved changes included."""

GUIDANCE = """\
- Look before you act: read a file before you edit it, search before you assume.
- Before you write a new project, or a licence, CI or a Dockerfile, look at list_templates or list_components.
- Make the smallest change that does what was asked, in the style of the code around it.
- Calls that only read may be made several at a time. An edit names text that occurs exactly once.
- When a tool says that something changed, was refused or failed, believe it and read what it says.
- The user may reject a call. Then do not try the same by another way.
- A word such as {{SECRET_api_key_0123456789ab}} stands for a secret that you are not shown. Copy it exactly where \
the secret shall stay: the file that you write gets the value. Commands, addresses and paths do not.
- When you are done, say in a few words what you did and what is left to do."""

PLAN_MODE = "You are in plan mode: read and search, change nothing, and end with a plan the user can approve."


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFacts:
    """What the model should know of where it works."""

    platform: str
    date: str
    folders: Sequence[str]


def system_prompt(facts: WorkspaceFacts, *, mode: str, added: str) -> str:
    """The parts that are not empty, each under its heading; `added` is the user's own."""
    folders = "\n".join(f"- {folder}" for folder in facts.folders) or "- none: the file tools are off"
    parts = [
        ("", ROLE),
        ("How to work", GUIDANCE),
        ("Workspace", f"Platform: {facts.platform}\nDate: {facts.date}\nFolders:\n{folders}"),
        ("Mode", PLAN_MODE if mode == "plan" else ""),
        ("The user's own instructions", added.strip()),
    ]
    return "\n\n".join(f"# {title}\n{text}" if title else text for title, text in parts if text)
