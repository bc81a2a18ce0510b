"""Port for a repository's instruction files (AGENTS.md, CLAUDE.md), and their form for the model.

Their authority is the project's, not the user's or ours: they say how to work here, and permit nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.messages import Message, TextBlock
from pygent_ls.agent.rules.read_rules import Reading
from pygent_ls.agent.tools.session_secrets import SessionSecrets

MAX_NAME_CHARS = 300


class Instruction(Struct, frozen=True, kw_only=True):
    """One instruction file."""

    path: Path
    """Absolute, links resolved."""
    name: str
    """Name as it is shown."""
    text: str
    """Text, cut to the maximum length of a file; a cut text says so itself."""
    n_chars: int
    """Length of the whole file in characters."""
    below: str = ""
    """Folder that it applies to, as shown; empty for the whole workspace."""
    problem: str = ""
    """Why `text` is empty."""

    @property
    def shown(self) -> str:
        """Text as the model reads it, between tags that it cannot close."""
        name = one_line(self.name, MAX_NAME_CHARS).replace('"', "'")
        safe = self.text.strip().replace("</instructions", "[/instructions")
        return f"{_opening(name)}\n{safe}\n</instructions>"


def _opening(name: str) -> str:
    return f'<instructions file="{name}">'


def block_of(instruction: Instruction) -> TextBlock:
    """Return the message block for instructions that were found during a turn."""
    return TextBlock(text=f"{LEAD}{one_line(instruction.below, MAX_NAME_CHARS)}/.</reminder>\n{instruction.shown}")


LEAD = "<reminder>The repository has its own instructions for files below "


async def without_secrets(instruction: Instruction, secrets: SessionSecrets) -> Instruction:
    """Return the instruction with its text redacted, as the model may read it."""
    return replace(instruction, text=await secrets.masked(instruction.text, str(instruction.path)))


def lost(given: Iterable[Instruction], messages: Iterable[Message]) -> list[Instruction]:
    """Return those of `given` that none of these messages contains any more."""
    texts = {
        block.text.partition("\n")[2].partition("\n")[0]
        for message in messages
        for block in message.blocks
        if isinstance(block, TextBlock) and block.text.startswith(LEAD)
    }
    return [each for each in given if each.shown.partition("\n")[0] not in texts]


class Instructions(Protocol):
    """Instructions of one session. Files that a rule withholds from reading are not read here either."""

    async def of_workspace(self, reading: Reading) -> Sequence[Instruction]:
        """Return the current instructions at the roots of the workspace folders, each text once."""
        ...

    async def near(self, paths: Iterable[Path], reading: Reading) -> Sequence[Instruction]:
        """Return the instructions between a root and these files that were not given yet, the nearest last. They count
        as given from now on."""
        ...

    def forget_lost(self, messages: Sequence[Message]) -> None:
        """Mark as not given those that none of these messages contains. The messages are all that the model will read;
        what is lost is found again with the next file."""
        ...

    def afresh(self) -> Instructions:
        """Return an instance for another conversation, in which nothing was given yet."""
        ...


class NoInstructions(Struct, frozen=True):
    """Port without any instructions."""

    async def of_workspace(self, reading: Reading) -> Sequence[Instruction]:
        """Return none."""
        return ()

    async def near(self, paths: Iterable[Path], reading: Reading) -> Sequence[Instruction]:
        """Return none."""
        return ()

    def forget_lost(self, messages: Sequence[Message]) -> None:
        """Do nothing."""

    def afresh(self) -> Instructions:
        """Return the same instance."""
        return self
