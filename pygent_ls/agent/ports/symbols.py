"""Port for the symbols of source files: where something is defined and used, and what matters most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from pygent_ls.syntax.symbols import Reference, Symbol


class SourceFiles(Struct, frozen=True, kw_only=True):
    """Files to look at, without those that the user excluded: ignored files, and those of read rules."""

    paths: Sequence[str]
    """Absolute paths below the workspace's folders, links resolved. Files of unknown languages are skipped."""
    unsaved: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts of open documents by path, used in place of their files."""
    is_whole: bool = False
    """Whether these are all files of the workspace that may be read; what is remembered of others is then forgotten."""


class FileSymbols(Struct, frozen=True, kw_only=True):
    """Symbols of one file."""

    path: Path
    symbols: Sequence[Symbol]


class FileReferences(Struct, frozen=True, kw_only=True):
    """Places in one file that name something."""

    path: Path
    references: Sequence[Reference]


class SymbolFocus(Struct, frozen=True, kw_only=True):
    """What a ranking is about."""

    paths: Sequence[str] = ()
    """Absolute paths of files or folders."""
    names: Sequence[str] = ()


class RankedSymbol(Struct, frozen=True, kw_only=True):
    """Definition in a ranking."""

    path: Path
    symbol: Symbol


class SymbolRanking(Struct, frozen=True, kw_only=True):
    """Definitions, the most important first."""

    ranked: Sequence[RankedSymbol]
    n_symbols: int
    """Number of all definitions."""
    n_files: int
    """Number of files of known languages."""
    n_parsed: int = 0
    """Number of files that this call parsed; the others were remembered."""
    n_waiting: int = 0
    """Number of files that are not parsed yet; the next call goes on with them."""
    n_skipped: int = 0
    """Number of files that were left out: too large, generated, not text, or not parsed in time."""


class SymbolIndex(Protocol):
    """Symbols by their syntax alone, without a language server. What was parsed once is remembered until it changes.

    The results hold names and lines, but no text. Each method raises `ToolError` if the files cannot be parsed.
    """

    async def definitions_in(self, path: str, text: str) -> Sequence[Symbol]:
        """Return what a text defines, in order; empty for an unknown language. The path gives its language."""
        ...

    async def definitions_of(self, name: str, files: SourceFiles) -> Sequence[FileSymbols]:
        """Return the definitions of a name, by file."""
        ...

    async def references_to(self, name: str, files: SourceFiles) -> Sequence[FileReferences]:
        """Return the places that name something, its definitions included, by file."""
        ...

    async def rank(self, files: SourceFiles, focus: SymbolFocus, *, limit: int, seconds: float) -> SymbolRanking:
        """Return at most `limit` of the most important definitions. Parsing ends after so many seconds, and what is
        known by then is ranked."""
        ...
