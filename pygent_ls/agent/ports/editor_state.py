"""The editor state port: what an editor reports besides its documents, which is where the user is and the diagnostics.

It is background: the model may look at it, but it is not a request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

Severity = Literal["error", "warning", "information", "hint"]


class Problem(Struct, frozen=True, kw_only=True):
    """A diagnostic; line and column count from 1, columns in characters."""

    line: int
    column: int
    severity: Severity
    message: str
    origin: str = ""
    """Program and rule that report it, if known."""


class FileProblems(Struct, frozen=True, kw_only=True):
    """Diagnostics of one file, in order of position; empty if the editor reported that it is clean."""

    path: Path
    problems: tuple[Problem, ...]
    is_stale: bool
    """Whether the document has changed since, so that positions and problems may differ by now."""
    is_whole: bool
    """Whether the editor reported everything that it shows for the file, not only part of it."""


class View(Struct, frozen=True, kw_only=True):
    """The user's position in the editor."""

    active: Path | None = None
    selected: tuple[Path, LineRange] | None = None
    visible: tuple[Path, ...] = ()


class EditorState(Protocol):
    """State that the editor last reported."""

    @property
    def view(self) -> View:
        """The user's position, as far as it is known."""
        ...

    @property
    def unsaved_notebooks(self) -> Collection[Path]:
        """Notebooks that the editor shows as cells and that have unsaved changes, which no document contains."""
        ...

    @property
    def is_live(self) -> bool:
        """Whether the editor reports every change of the view by itself, so that the view is always current."""
        ...

    @property
    def recent(self) -> Sequence[Path]:
        """Files that the user works with, the best guess first: those that were active, then those that are open."""
        ...

    @property
    def why_silent(self) -> str:
        """What the model should know if the editor has never reported diagnostics."""
        ...

    def counts(self) -> Sequence[tuple[Path, int, int]]:
        """Return the files with diagnostics that are not stale, with their numbers of errors and warnings."""
        ...

    async def problems(self) -> Sequence[FileProblems] | None:
        """Return all reported diagnostics, the newest file first; None if the editor has never reported any."""
        ...


class NoEditor(Struct, frozen=True):
    """Editor state without an editor."""

    view: View = View()
    is_live: bool = False
    recent: Sequence[Path] = ()
    unsaved_notebooks: Collection[Path] = ()
    why_silent: str = "No editor is connected that reports problems."

    def counts(self) -> Sequence[tuple[Path, int, int]]:
        """Return nothing."""
        return ()

    async def problems(self) -> Sequence[FileProblems] | None:
        """Return None."""
        return None


class EditorStateIn(Struct, frozen=True):
    """Editor state limited to some files, for a workspace that the editor has not open."""

    state: EditorState
    holds: Callable[[Path], bool]
    """Whether a file is one of them."""

    @property
    def view(self) -> View:
        """Implement `EditorState`."""
        view = self.state.view
        active, selected = view.active, view.selected
        return View(
            active=active if active is not None and self.holds(active) else None,
            selected=selected if selected is not None and self.holds(selected[0]) else None,
            visible=tuple(filter(self.holds, view.visible)),
        )

    @property
    def unsaved_notebooks(self) -> Collection[Path]:
        """Implement `EditorState`."""
        return [*filter(self.holds, self.state.unsaved_notebooks)]

    @property
    def is_live(self) -> bool:
        """Implement `EditorState`."""
        return self.state.is_live

    @property
    def recent(self) -> Sequence[Path]:
        """Implement `EditorState`."""
        return [*filter(self.holds, self.state.recent)]

    @property
    def why_silent(self) -> str:
        """Implement `EditorState`."""
        return self.state.why_silent

    def counts(self) -> Sequence[tuple[Path, int, int]]:
        """Implement `EditorState`."""
        return [each for each in self.state.counts() if self.holds(each[0])]

    async def problems(self) -> Sequence[FileProblems] | None:
        """Implement `EditorState`."""
        found = await self.state.problems()
        return found and [each for each in found if self.holds(each.path)]


class LineRange(Struct, frozen=True, kw_only=True):
    """Lines from 1, both ends included."""

    first: int
    last: int
