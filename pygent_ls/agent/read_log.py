"""Which text of each file the model has read last, and whether it still sees it."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from pygent_ls.agent.workspace import Document

FADED = "faded:"


class ReadLog:
    """A session's memory of what the model knows of each file, as digests of whole documents."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}
        """Those that faded begin with `FADED`."""
        self._new: set[Path] = set()

    def record(self, document: Document) -> None:
        """The model has been shown this document, or has written it."""
        self._digests[document.path] = document.digest
        self._new.add(document.path)

    def known(self, path: Path) -> str | None:
        """What the model knows of the file, to be given back to `take_back`; None where it never read it."""
        return self._digests.get(path)

    def take_back(self, path: Path, known: str | None) -> None:
        """The model was not shown the file after all: it knows what it knew before."""
        if known is None:
            self.forget(path)
        else:
            self._digests[path] = known

    def outdate(self, path: Path) -> None:
        """The model knows the file, but not as it is now: any document of it is stale."""
        self._digests[path] = ""

    def forget(self, path: Path) -> None:
        """The file is gone, or moved."""
        self._digests.pop(path, None)

    def forget_all(self) -> None:
        """What the model was shown is no longer part of the conversation."""
        self._digests.clear()

    def fade(self, seen: Container[Path]) -> None:
        """The conversation that the model is sent has lost what showed it its files, but for those in `seen` and those
        recorded since `settle`. They count as not read; where they changed since, they are stale all the same."""
        for path, known in self._digests.items():
            if path not in seen and path not in self._new:
                self._digests[path] = FADED + known.removeprefix(FADED)

    def settle(self) -> None:
        """The model is sent what was recorded up to here."""
        self._new.clear()

    def knows(self, path: Path) -> bool:
        """Whether the model has read the file, and still sees what it read."""
        return not self._digests.get(path, FADED).startswith(FADED)

    def is_stale(self, document: Document) -> bool:
        """Whether the document is another one than the model read; False where it never read it."""
        known = self._digests.get(document.path)
        return known is not None and known.removeprefix(FADED) != document.digest
