"""Result of the analysis: what a shell command line does, as far as its text shows."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from pygent_ls.shell.wrappers import name_of

NEVER = 1_000_000
"""Start of a command that is not among its wrapper's own words."""


class SimpleCommand(Struct, frozen=True, kw_only=True):
    """A program and its arguments; in the words, `ANY` and `HOME` stand for what is known only at run time."""

    words: tuple[str, ...]
    folder: str
    """Folder that it runs in, absolute or relative to the line's; contains `ANY` if unknown."""
    runs: tuple[Inner, ...] = ()
    """The commands that it runs, as `sudo` and `xargs` do."""

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return name_of(self.words)

    def all(self) -> Iterator[SimpleCommand]:
        """Yield this command and every command that it runs."""
        yield self
        for inner in self.runs:
            yield from inner.command.all()


class Inner(Struct, frozen=True, kw_only=True):
    """A command within another's words."""

    begin: int
    """Index of its first word among the outer words; `NEVER` if it was given as one text."""
    command: SimpleCommand


class Write(Struct, frozen=True, kw_only=True):
    """A redirection into a file, or from one."""

    path: str
    folder: str


class ShellLine(Struct, frozen=True, kw_only=True):
    """What a command line does, as far as its text shows."""

    text: str
    commands: tuple[SimpleCommand, ...]
    """In the order of the text; substitutions precede the command that contains them."""
    writes: tuple[Write, ...]
    reads: tuple[Write, ...]
    is_parsed: bool
    """Whether every byte of the text is accounted for. If not, `commands` are guesses that only justify a refusal."""
    assigned: tuple[str, ...]
    """Values assigned to variables."""
    fed: tuple[str, ...]
    """Input of commands, as far as it is in the line."""
    plain: tuple[SimpleCommand, ...] | None
    """The commands as the strict grammar reads them; None unless both grammars accept the text."""

    def all(self) -> Iterator[SimpleCommand]:
        """Yield every command that either grammar reads, including those that others run."""
        for command in dict.fromkeys([*self.commands, *(self.plain or ())]):
            yield from command.all()
