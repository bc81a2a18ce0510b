"""A document that shows the details of a question with too little room for them, and is removed after the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from uuid import uuid4

from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.rpc.client_requests import ClientError
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.errors import ToolError
from pygent_ls.workspace.files.writer import write_atomically


@asynccontextmanager
async def document_beside(
    endpoint: RpcEndpoint, features: ClientFeatures, folder: Path, text: str, *, suffix: str = ".txt"
) -> AsyncGenerator[bool]:
    """Show a text in a temporary file of the folder, readable only by its owner. Yields whether the client shows it."""
    path = folder / f"question-{uuid4().hex}{suffix}"
    try:
        if features.show_document:
            await asyncio.to_thread(_write, path, text.encode("utf-8", "replace"))
        is_shown = features.show_document and await _is_shown(endpoint, path)
    except (OSError, ToolError):
        is_shown = False
    try:
        yield is_shown
    finally:
        path.unlink(missing_ok=True)


async def open_url(endpoint: RpcEndpoint, features: ClientFeatures, address: str) -> None:
    """Open an address in the user's browser, or show it if the client cannot."""
    is_open = False
    if features.show_document:
        with suppress(ClientError):
            answer = await endpoint.ask("window/showDocument", {"uri": address, "external": True})
            is_open = isinstance(answer, Mapping) and answer.get("success") is True  # pyright: ignore[reportUnknownMemberType]
    if not is_open:
        endpoint.show_message(f"pygent: open this address in your browser: {address}")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(path, content, 0o600)


async def _is_shown(endpoint: RpcEndpoint, document: Path) -> bool:
    try:
        answer = await endpoint.ask("window/showDocument", {"uri": document.as_uri(), "takeFocus": True})
    except ClientError:
        return False
    return isinstance(answer, Mapping) and answer.get("success") is True  # pyright: ignore[reportUnknownMemberType]
