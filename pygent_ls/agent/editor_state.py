"""What an editor tells beside its documents: where the user is, and what is wrong in which file.

It is background: the model may look at it, and nobody asked for anything by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:  # what a prompt carries knows tools, and tools know this
    from pygent_ls.agent.attachments import LineRange

Severity = Literal["error", "warning", "information", "hint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A diagnostic; line and column count from 1, columns in characters."""

    line: int
    column: int
    severity: Severity
    message: str
    origin: str = ""
    """Who says so and by which of its rules, where that was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblems:
    """The diagnostics of one file, in the order of their places; none where the editor told that it is clean."""

    path: Path
    problems: tuple[Problem, ...]
    is_stale: bool
    """The document changed since: places and problems may be others by now."""
    is_whole: bool
    """The editor told all that it shows for the file, and not only some of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Where the user is."""

    active: Path | None = None
    selected: tuple[Path, LineRange] | None = None
    visible: tuple[Path, ...] = ()


class EditorState(Protocol):
    """What the editor told last."""

    @property
    def view(self) -> View:
        """Where the user is, as far as that is known."""
        ...

    @property
    def is_live(self) -> bool:
        """Whether the editor tells of every change of the view by itself, so that it holds at any moment."""
        ...

    @property
    def recent(self) -> Sequence[Path]:
        """Files that the user works with, the best guess first: those that were in front, then those that are open."""
        ...

    @property
    def why_silent(self) -> str:
        """Where the editor never told of any diagnostics: what the model should know of that."""
        ...

    def counts(self) -> Sequence[tuple[Path, int, int]]:
        """The files with diagnostics that are not stale, with their errors and warnings."""
        ...

    async def problems(self) -> Sequence[FileProblems] | None:
        """All diagnostics that were told, the newest file first; None where the editor never told of any."""
        ...


@dataclass(frozen=True, slots=True)
class NoEditor:
    """Nobody shows anything."""

    view: View = View()
    is_live: bool = False
    recent: Sequence[Path] = ()
    why_silent: str = "No editor is connected that reports problems."

    def counts(self) -> Sequence[tuple[Path, int, int]]:
        """None."""
        return ()

    async def problems(self) -> Sequence[FileProblems] | None:
        """Never told."""
        return None
