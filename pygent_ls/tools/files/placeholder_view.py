"""Edits of text in which the model sees placeholders in place of secrets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from pygent_ls.agent.ports.workspace import Document
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ToolError

Made = TypeVar("Made")


async def made_as_shown(
    context: ToolContext, document: Document, texts: Sequence[str], make: Callable[[str, Sequence[str]], Made]
) -> Made:
    """Apply `make` to the document's text and the model's texts. It must also succeed on the text that the model sees:
    so errors quote no secret, and no part of one can be guessed.

    Raises `ToolError` as `make` does.
    """
    shown = await context.masks.document(document)
    if shown is document:
        return await asyncio.to_thread(make, document.text, texts)
    lines = await asyncio.to_thread(lambda: dict(zip(_lines(document.text), _lines(shown.text), strict=True)))
    seen = [_as_seen(each, await context.masks.text(each, str(document.path)), lines) for each in texts]
    await asyncio.to_thread(make, shown.text, seen)
    try:
        return await asyncio.to_thread(make, document.text, texts)
    except ToolError as error:
        name = context.workspace.shown(document.path)
        raise type(error)(
            f"The edit of {name} matches the text that you were shown, but not the secrets in it. Nothing was "
            "changed. Leave out the lines with secrets from the text to replace."
        ) from None


def _as_seen(text: str, masked: str, shown: Mapping[str, str]) -> str:
    """Replace whole lines with the document's lines as shown, since a secret may span lines; other text is masked."""
    pairs = zip(text.split("\n"), masked.split("\n"), strict=True)
    return "\n".join(shown.get(line.rstrip("\r"), alone) for line, alone in pairs)


def _lines(text: str) -> list[str]:
    return [line.rstrip("\r") for line in text.split("\n")]
