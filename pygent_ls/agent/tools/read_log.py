"""Record of which text of each file the model has read last, and whether that is still in its context."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from pygent_ls.agent.ports.workspace import Document

FADED = "faded:"


class ReadLog:
    """Session's record of what the model has read of each file, as digests of whole documents."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}
        """Digests by path; those of faded files begin with `FADED`."""
        self._new: set[Path] = set()

    def record(self, document: Document) -> None:
        """Record that the model was shown this document, or wrote it."""
        self._digests[document.path] = document.digest
        self._new.add(document.path)

    def known(self, path: Path) -> str | None:
        """Return what is recorded of the file, to be given back to `take_back`; None if the model never read it."""
        return self._digests.get(path)

    def take_back(self, path: Path, known: str | None) -> None:
        """Restore the earlier record: the model was not shown the file after all."""
        if known is None:
            self.forget(path)
        else:
            self._digests[path] = known

    def outdate(self, path: Path) -> None:
        """Record that the model knows the file, but not as it is now: any document of it is stale."""
        self._digests[path] = ""

    def forget(self, path: Path) -> None:
        """Remove the record of a file that was deleted or moved."""
        self._digests.pop(path, None)

    def forget_all(self) -> None:
        """Remove all records: what the model was shown is no longer part of the conversation."""
        self._digests.clear()

    def fade(self, seen: Container[Path]) -> None:
        """Mark files as faded, except those in `seen` and those recorded since `settle`: the context no longer contains
        what showed them. They count as not read; if they changed since, they are still stale."""
        for path, known in self._digests.items():
            if path not in seen and path not in self._new:
                self._digests[path] = FADED + known.removeprefix(FADED)

    def settle(self) -> None:
        """Mark everything recorded so far as sent to the model."""
        self._new.clear()

    def knows(self, path: Path) -> bool:
        """Whether the model has read the file, and its context still contains it."""
        return not self._digests.get(path, FADED).startswith(FADED)

    def is_stale(self, document: Document) -> bool:
        """Whether the document differs from the one that the model read; False if it never read it."""
        known = self._digests.get(document.path)
        return known is not None and known.removeprefix(FADED) != document.digest
