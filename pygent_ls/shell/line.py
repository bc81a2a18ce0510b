"""What a shell command line does, as far as its text shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pygent_ls.shell.wrappers import name_of

NEVER = 1_000_000
"""Where a command begins that is not among its wrapper's own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleCommand:
    """A program and its arguments; `ANY` and `HOME` stand in the words for what only running can tell."""

    words: tuple[str, ...]
    folder: str
    """Where it runs, relative to where the line does, or absolute; holds `ANY` where it cannot be told."""
    runs: tuple[Inner, ...] = ()
    """The commands that it is made to run, as `sudo` and `xargs` are."""

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return name_of(self.words)

    def all(self) -> Iterator[SimpleCommand]:
        """This command and every one that it is made to run."""
        yield self
        for inner in self.runs:
            yield from inner.command.all()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """A command within another's words."""

    begin: int
    """The index of its first word among the outer words; `NEVER` where it was given as one text."""
    command: SimpleCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A redirection into a file, or from one."""

    path: str
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellLine:
    """What a command line does, as far as its text shows."""

    text: str
    commands: tuple[SimpleCommand, ...]
    """In the order of the text, substitutions before the command that they stand in."""
    writes: tuple[Write, ...]
    reads: tuple[Write, ...]
    is_parsed: bool
    """Every byte of the text is accounted for. If not, `commands` are guesses, good for a refusal and nothing else."""
    assigned: tuple[str, ...]
    """What variables are set to."""
    fed: tuple[str, ...]
    """What commands find in their input, as far as it stands in the line."""
    plain: tuple[SimpleCommand, ...] | None
    """The commands as the strict grammar reads them; None unless it accepts the text, and the other has parsed it."""

    def all(self) -> Iterator[SimpleCommand]:
        """Every command that either grammar reads, those that others are made to run included."""
        for command in dict.fromkeys([*self.commands, *(self.plain or ())]):
            yield from command.all()
