"""The files that a model may be sent along with a document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pygent_ls.agent.ports.completer import InlineCompletions


class ContextFiles:
    """Files of the workspace that no rule withholds. A document outside of the workspace goes alone."""

    def __init__(
        self,
        shown: Callable[[Path], str],
        folders: Callable[[], Sequence[Path]],
        completions: InlineCompletions,
    ) -> None:
        """`shown` returns a path as the user knows it, `folders` the workspace folders."""
        self.shown = shown
        self._folders = folders
        self._completions = completions

    def may_go_with(self, document: Path) -> Callable[[Path], bool]:
        """Return whether a file may be sent with a document, as a function of the file's path."""

        def may_go(path: Path) -> bool:
            if path != document and not (self._is_inside(path) and self._is_inside(document)):
                return False
            return not self._completions.is_withheld(path, self.shown(path))

        return may_go

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self._folders())
