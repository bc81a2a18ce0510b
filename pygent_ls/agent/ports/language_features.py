"""The language features port: what language servers know about code, of the editor or of the daemon's own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from pygent_ls.agent.ports.editor_state import Problem
from pygent_ls.agent.ports.workspace import Document, EditPlan
from pygent_ls.errors import ToolError

LocationKind = Literal["definition", "implementation", "type_definition", "references"]

CallDirection = Literal["incoming", "outgoing"]

Feature = Literal[
    "diagnostics",
    "definition",
    "implementation",
    "type_definition",
    "references",
    "hover",
    "document_symbols",
    "workspace_symbols",
    "call_hierarchy",
    "rename",
    "code_actions",
    "format",
    "format_written",
]


MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What an answer may raise that does not follow the protocol in a way that nothing foresaw."""


class CodeLocation(Struct, frozen=True, kw_only=True):
    """Lines of a file, from 1, both ends included. The file may lie outside the workspace."""

    path: Path
    line: int
    end_line: int


class CodeSymbol(Struct, frozen=True, kw_only=True):
    """Definition of a function, class, variable or the like."""

    name: str
    kind: str
    """Kind in words: `function`, `class` …"""
    location: CodeLocation
    """The whole definition; `line` is that of the name."""
    container: str = ""
    """Name of the symbol that it belongs to."""
    depth: int = 0
    """Number of symbols around it, in a list of a file's symbols."""


class Call(Struct, frozen=True, kw_only=True):
    """Function that calls another one, or is called by it, with the lines of the calls."""

    symbol: CodeSymbol
    path: Path
    """File that contains the calls."""
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeAction:
    """Change that a language server offers for some lines."""

    title: str
    kind: str = ""
    """Kind by the protocol: `quickfix`, `refactor.extract`, `source.organizeImports` …"""
    obstacle: str = ""
    """Why it cannot be applied; empty if it can."""
    raw: object = field(default=None, repr=False, compare=False)
    """Action as its server gave it."""


class CheckedFile(Struct, frozen=True, kw_only=True):
    """Problems of one version of a document, by all that check it."""

    path: Path
    text: str
    """Text that was checked."""
    problems: tuple[Problem, ...]
    is_complete: bool
    """Whether every checker has reported about this very text. Otherwise some may not have checked it yet."""


class LanguageFeatures(Protocol):
    """Answers about code. Lines count from 1, columns from 0 in characters.

    A method returns None, or nothing, if nothing can answer for the file; it raises `ToolError` with the reason if a
    server refuses. Every wait is bounded.
    """

    @property
    def offered(self) -> Collection[Feature]:
        """Features that something may answer; which files it answers for is known only when it is asked."""
        ...

    def prepare(self, paths: Sequence[Path]) -> None:
        """Start what checks these files, which are about to be edited. Returns at once."""
        ...

    async def locations(self, kind: LocationKind, document: Document, line: int, column: int) -> Sequence[CodeLocation]:
        """Return where the symbol at a position is defined, implemented or used."""
        ...

    async def hover(self, document: Document, line: int, column: int) -> str:
        """Return type and documentation of the symbol at a position."""
        ...

    async def document_symbols(self, document: Document) -> Sequence[CodeSymbol]:
        """Return the symbols of a file, in order."""
        ...

    async def workspace_symbols(self, query: str) -> Sequence[CodeSymbol]:
        """Return symbols of the workspace whose name fits."""
        ...

    async def calls(self, direction: CallDirection, document: Document, line: int, column: int) -> Sequence[Call]:
        """Return the calls of the function at a position, or those that it makes."""
        ...

    async def rename(self, document: Document, line: int, column: int, new_name: str) -> EditPlan | None:
        """Return the plan that renames the symbol at a position wherever it is used; nothing is changed."""
        ...

    async def code_actions(self, document: Document, first: int, last: int) -> Sequence[CodeAction]:
        """Return the actions for these lines."""
        ...

    async def plan_action(self, action: CodeAction) -> EditPlan:
        """Return the plan that an action of `code_actions` stands for. Raises `ToolError` if it has none."""
        ...

    async def checked(self, document: Document, wait_s: float) -> CheckedFile | None:
        """Return the problems of the document as it is now, after waiting up to `wait_s` for its checkers. None if
        nothing checks it."""
        ...

    async def formatted(self, path: Path, text: str, *, on_save_only: bool, is_written: bool = False) -> str | None:
        """Return a text that is about to be written, formatted; None if nothing formats it.

        With `is_written`, the text is that of the file, and an editor answers that formats nothing else (the feature
        `format_written`). With `on_save_only`, only an editor that formats the file on each save answers.
        """
        ...


class NoLanguageFeatures:
    """Language features without an editor that has them and without language servers."""

    offered: Collection[Feature] = ()

    def prepare(self, paths: Sequence[Path]) -> None:
        """Do nothing."""

    async def locations(self, kind: LocationKind, document: Document, line: int, column: int) -> Sequence[CodeLocation]:
        """Return nothing."""
        return ()

    async def hover(self, document: Document, line: int, column: int) -> str:
        """Return nothing."""
        return ""

    async def document_symbols(self, document: Document) -> Sequence[CodeSymbol]:
        """Return nothing."""
        return ()

    async def workspace_symbols(self, query: str) -> Sequence[CodeSymbol]:
        """Return nothing."""
        return ()

    async def calls(self, direction: CallDirection, document: Document, line: int, column: int) -> Sequence[Call]:
        """Return nothing."""
        return ()

    async def rename(self, document: Document, line: int, column: int, new_name: str) -> EditPlan | None:
        """Return None."""
        return None

    async def code_actions(self, document: Document, first: int, last: int) -> Sequence[CodeAction]:
        """Return nothing."""
        return ()

    async def plan_action(self, action: CodeAction) -> EditPlan:
        """Raise `ToolError`."""
        raise ToolError(f"Nothing can apply {action.title!r}.")

    async def checked(self, document: Document, wait_s: float) -> CheckedFile | None:
        """Return None."""
        return None

    async def formatted(self, path: Path, text: str, *, on_save_only: bool, is_written: bool = False) -> str | None:
        """Return None."""
        return None
