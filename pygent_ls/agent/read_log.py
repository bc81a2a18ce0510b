"""Which text of each file the model has read last."""

from __future__ import annotations

from pathlib import Path

from pygent_ls.agent.workspace import Document


class ReadLog:
    """A session's memory of what the model knows of each file, as digests of whole documents."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}

    def record(self, document: Document) -> None:
        """The model has been shown this document, or has written it."""
        self._digests[document.path] = document.digest

    def known(self, path: Path) -> str | None:
        """The digest of what the model knows of the file; None where it never read it."""
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

    def knows(self, path: Path) -> bool:
        """Whether the model has read the file at all."""
        return path in self._digests

    def is_stale(self, document: Document) -> bool:
        """Whether the document is another one than the model read; False where it never read it."""
        known = self._digests.get(document.path)
        return known is not None and known != document.digest
