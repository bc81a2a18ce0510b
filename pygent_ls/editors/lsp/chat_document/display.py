"""Display of a chat document, or of a message with its path."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.documents.buffers import Buffers

SHOWN_LINES = 8
"""Number of lines of an answer in a message box: fits without scrolling."""

OPENED_S = 1.0
"""Time limit for the editor to open a document that it was asked to show; after that, the file is written."""


class DocumentDisplay:
    """Shows the document of one answer."""

    def __init__(self, client: Client, buffers: Buffers, path: Path) -> None:
        self.is_wanted = False
        """Whether `begin` was called."""
        self._client = client
        self._buffers = buffers
        self._path = path
        self._is_refused = False
        self._stirred = asyncio.Event()
        self._answer: str | None = None

    async def begin(self) -> None:
        """Ask the editor to show the document, and wait a short time for it to be open."""
        self.is_wanted = True
        if not self._client.features.show_document:
            self._is_refused = True
            return
        show(self._client, self._buffers, self._path, not_shown=self._refused, takes_focus=False)
        with suppress(TimeoutError), self._buffers.listening(self._path, lambda _: self._stirred.set()):
            async with asyncio.timeout(OPENED_S):
                while self._buffers.get(self._path) is None and not self._is_refused:
                    self._stirred.clear()
                    await self._stirred.wait()

    def end(self, answer: str) -> None:
        """Finish with the whole answer: show it as a message if the editor does not show the document."""
        self._answer = answer
        self._tell()

    def _refused(self) -> None:
        self._is_refused = True
        self._stirred.set()
        self._tell()

    def _tell(self) -> None:
        features = self._client.features
        is_open = self._buffers.get(self._path) is not None
        is_shown = not self._is_refused or (features.show_document and is_open)
        if self._answer is not None and not (is_shown and (features.apply_edit or not is_open)):
            tell_answer(self._client, self._answer, f"Full answer: {self._path}")


def show(client: Client, buffers: Buffers, path: Path, *, not_shown: Callable[[], None], takes_focus: bool) -> None:
    """Ask the editor to show a document; `not_shown` is called unless it reports success."""

    def answered(result: Any) -> None:
        if not (isinstance(result, Mapping) and cast("Mapping[str, Any]", result).get("success") is True):
            not_shown()

    client.endpoint.ask_without_waiting(
        "window/showDocument",
        {"uri": buffers.uri_of(path) or path.as_uri(), "takeFocus": takes_focus},
        answered,
        on_failure=not_shown,
    )


def tell_answer(client: Client, answer: str, where: str) -> None:
    """Show the first lines of an answer, and where to find all of it."""
    lines = answer.strip().splitlines()
    said = "\n".join(lines[:SHOWN_LINES]) + ("\n…" if len(lines) > SHOWN_LINES else "")
    client.endpoint.show_message(f"{said}\n\n{where}")
