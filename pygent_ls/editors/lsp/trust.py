"""The question whether a workspace's own settings are trusted, as `window/showMessageRequest`.

Nothing that is asked about is cut. A dialog may cut a long message itself, so a long question is put into a document
that the client shows beside it; the user of a client that shows none is told how to answer in a terminal.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from lsprotocol import types

from pygent_ls.editors.lsp.asking import ClientError
from pygent_ls.editors.lsp.endpoint import Endpoint
from pygent_ls.editors.lsp.features import ClientFeatures
from pygent_ls.editors.lsp.prompting import chosen_title
from pygent_ls.editors.ports import TrustQuestion
from pygent_ls.errors import ToolError
from pygent_ls.workspace.writing import write_atomically

ANSWERS: Mapping[str, bool] = {"Do not trust": False, "Trust this folder's settings": True}
"""The actions in their order: some clients can choose only the first."""

MAX_MESSAGE_CHARS = 900
"""Of a question that stands in the dialog: VS Code cuts a message at 1,000."""

DOCUMENT_COLUMNS = 100
"""Of the document's lines: an editor may not wrap what is longer."""


async def ask_trust(
    endpoint: Endpoint, features: ClientFeatures, state_folder: Callable[[], Path], question: TrustQuestion
) -> bool | None:
    """See `AskTrust`: anything but one of the titles is no answer."""
    text = question.text
    if len(text) <= MAX_MESSAGE_CHARS:
        return await _answer(endpoint, text)
    if features.show_document:
        async with _document(text, state_folder() / "trust") as document:
            if document is not None and await _is_shown(endpoint, document):
                return await _answer(endpoint, question.beside_a_document)
    endpoint.show_message(
        f"pygent-ls: the settings in {question.sources} would do more than this editor can show, so they are not "
        "trusted. Run `pygent-ls trust --show` in the folder to read all of it, and `pygent-ls trust` to trust it."
    )
    return None


async def _answer(endpoint: Endpoint, text: str) -> bool | None:
    params = {
        "type": int(types.MessageType.Warning),
        "message": f"pygent-ls: {text}",
        "actions": [{"title": title} for title in ANSWERS],
    }
    title = await chosen_title(endpoint, params)
    return None if title is None else ANSWERS[title]


@asynccontextmanager
async def _document(text: str, folder: Path) -> AsyncGenerator[Path | None]:
    """A file with the text in lines that can be read, removed in the end; None if it cannot be written."""
    path = folder / f"question-{uuid4().hex}.txt"
    content = "".join(f"{line}\n" for line in _in_lines(text))
    try:
        await asyncio.to_thread(_write, path, content.encode("utf-8", "replace"))
    except (OSError, ToolError):
        yield None
        return
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(path, content, 0o600)


def _in_lines(text: str) -> Iterator[str]:
    """Lines that an editor shows without scrolling aside; what goes on is indented."""
    for line in text.split("\n"):
        yield line[:DOCUMENT_COLUMNS]
        for start in range(DOCUMENT_COLUMNS, len(line), DOCUMENT_COLUMNS - 4):
            yield f"    {line[start : start + DOCUMENT_COLUMNS - 4]}"


async def _is_shown(endpoint: Endpoint, document: Path) -> bool:
    try:
        answer = await endpoint.ask(types.WINDOW_SHOW_DOCUMENT, {"uri": document.as_uri(), "takeFocus": True})
    except ClientError:
        return False
    return isinstance(answer, Mapping) and answer.get("success") is True  # pyright: ignore[reportUnknownMemberType]
