"""Skills port: folders of instructions for one kind of task, which the model reads when it needs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

MAIN_FILE = "SKILL.md"
"""File of a skill that describes it, and that is read first."""


class Skill(Struct, frozen=True, kw_only=True):
    """One skill, as its author describes it."""

    name: str
    description: str
    folder: Path
    source: Literal["user", "workspace"]
    problem: str = ""
    """Why it cannot be used; empty if it can."""


class Skills(Protocol):
    """All skills of a user and of a workspace."""

    async def all(self) -> Sequence[Skill]:
        """Return the skills as they are now, by name."""
        ...

    async def read(self, name: str, file: str) -> tuple[Skill, str]:
        """Return the skill and the text of one of its files. Raises `ToolError` that lists what there is."""
        ...
