"""What a repository's own files (AGENTS.md, CLAUDE.md) tell an agent: the port, and how the model reads them.

They are the project's words, neither the user's nor ours: they say how to work here, and permit nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from pygent_ls.agent.messages import Message, TextBlock
from pygent_ls.agent.reading_rules import Reading
from pygent_ls.agent.secret_keeping import Secrets
from pygent_ls.agent.tool import one_line

MAX_NAME_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One file of instructions."""

    path: Path
    """Absolute, links resolved."""
    name: str
    """As it is shown."""
    text: str
    """Cut where the file is longer than one may be; it says so itself."""
    n_chars: int
    """Of the whole file."""
    below: str = ""
    """The folder that it is for, as it is shown; empty for the whole workspace."""
    problem: str = ""
    """Why there is no text."""

    @property
    def shown(self) -> str:
        """As the model reads it, between marks that its text cannot close."""
        name = one_line(self.name, MAX_NAME_CHARS).replace('"', "'")
        safe = self.text.strip().replace("</instructions", "[/instructions")
        return f"{_opening(name)}\n{safe}\n</instructions>"


def _opening(name: str) -> str:
    return f'<instructions file="{name}">'


def block_of(instruction: Instruction) -> TextBlock:
    """What is said in the conversation of a file that was found on the way."""
    return TextBlock(text=f"{LEAD}{one_line(instruction.below, MAX_NAME_CHARS)}/.</reminder>\n{instruction.shown}")


LEAD = "<reminder>The repository has its own instructions for files below "


async def without_secrets(instruction: Instruction, secrets: Secrets) -> Instruction:
    """The same as the model may read it."""
    return replace(instruction, text=await secrets.masked(instruction.text, str(instruction.path)))


def lost(given: Iterable[Instruction], messages: Iterable[Message]) -> list[Instruction]:
    """Those that were said in the conversation and are in none of these messages any more."""
    texts = {
        block.text.partition("\n")[2].partition("\n")[0]
        for message in messages
        for block in message.blocks
        if isinstance(block, TextBlock) and block.text.startswith(LEAD)
    }
    return [each for each in given if each.shown.partition("\n")[0] not in texts]


class Instructions(Protocol):
    """One session's. What a rule keeps from being read is not read here either."""

    async def of_workspace(self, reading: Reading) -> Sequence[Instruction]:
        """Those at the roots of the workspace's folders, as they are now, each text once."""
        ...

    async def near(self, paths: Iterable[Path], reading: Reading) -> Sequence[Instruction]:
        """Those on the way from a root to these files that were not given yet, the nearest last. They count as given
        from now on."""
        ...

    def forget_lost(self, messages: Sequence[Message]) -> None:
        """Let those that stand in none of these messages, which are all that the model will read, not count as given
        any more: they are found again with the next file."""
        ...

    def afresh(self) -> Instructions:
        """For another conversation, in which none was given yet."""
        ...


@dataclass(frozen=True, slots=True)
class NoInstructions:
    """Nobody has written any."""

    async def of_workspace(self, reading: Reading) -> Sequence[Instruction]:
        """None."""
        return ()

    async def near(self, paths: Iterable[Path], reading: Reading) -> Sequence[Instruction]:
        """None."""
        return ()

    def forget_lost(self, messages: Sequence[Message]) -> None:
        """There are none."""

    def afresh(self) -> Instructions:
        """Likewise."""
        return self
