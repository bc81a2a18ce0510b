"""Saving of open documents that the agent changed, before a program reads the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from pygent_ls.agent.ports.workspace import MISSING, EditPlan, WriteText
from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.documents.buffers import Buffer, Buffers, read_text_now
from pygent_ls.editors.lsp.ports.dialogs import chosen_title
from pygent_ls.editors.lsp.rpc.client_requests import ClientError
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.standard import MessageType
from pygent_ls.errors import ToolError
from pygent_ls.workspace.files.reader import disk_stamp, read_document
from pygent_ls.workspace.files.transaction import apply_plan

TITLES = ("Save and continue", "Continue without saving", "Cancel")


class DocumentSaves(Struct, frozen=True, kw_only=True):
    """Saves buffers through the client if it supports this; otherwise asks the user and writes the files."""

    endpoint: RpcEndpoint
    features: ClientFeatures
    buffers: Buffers

    async def save(self, paths: Sequence[Path], reader: str) -> None:
        """Save the open documents of these paths that have unsaved changes; `reader` is the tool that reads the disk.

        Raises `ToolError` if the user cancels.
        """
        dirty = [each for path in paths if (each := self.buffers.get(path)) is not None and each.is_dirty]
        if dirty and self.features.save_documents:
            dirty = await self._saved_by_client(dirty)
        if not dirty:
            return
        match await self._ask(dirty, reader):
            case "save":
                for buffer in dirty:
                    await self._write(buffer)
            case "leave":
                return
            case "cancel":
                names = ", ".join(buffer.path.name for buffer in dirty)
                raise ToolError(f"The user cancelled {reader}: {names} has unsaved changes.")

    async def _saved_by_client(self, dirty: Sequence[Buffer]) -> list[Buffer]:
        """Ask the client to save the documents; returns those that it did not save. Files that another program has
        changed are not sent."""
        uris = [buffer.uri for buffer in dirty if buffer.text_on_disk() == buffer.base_text]
        if not uris:
            return list(dirty)
        try:
            result = await self.endpoint.ask("pygent/client/save", {"uris": uris})
        except ClientError:
            return list(dirty)
        saved = cast("Mapping[str, Any]", result).get("saved") if isinstance(result, Mapping) else None
        done = set(cast("list[Any]", saved)) if isinstance(saved, list) else set[Any]()
        left: list[Buffer] = []
        for buffer in dirty:
            if buffer.uri in done and buffer.notebook is not None:  # the editor writes it in a form of its own
                self.buffers.saved(buffer.uri, is_notebook=True)
            if buffer.uri in done and await asyncio.to_thread(read_text_now, buffer.path) == buffer.text:
                self.buffers.saved(buffer.uri, is_notebook=buffer.notebook is not None)
            else:
                left.append(buffer)
        return left

    async def _ask(self, dirty: Sequence[Buffer], reader: str) -> Literal["save", "leave", "cancel"]:
        names = ", ".join(buffer.path.name for buffer in dirty)
        has = "has" if len(dirty) == 1 else "have"
        prompt = {
            "type": int(MessageType.WARNING),
            "message": f"{names} {has} unsaved changes, and {reader} reads files from disk.",
            "actions": [{"title": title} for title in TITLES],
        }
        match await chosen_title(self.endpoint, prompt):
            case "Save and continue":
                return "save"
            case "Continue without saving":
                return "leave"
            case _:  # an invalid answer must not run anything
                return "cancel"

    async def _write(self, buffer: Buffer) -> None:
        """Write the buffer to its file, in the file's encoding.

        Raises `ToolError` if the file no longer holds the text that the buffer was made from, or cannot be written.
        """
        name = buffer.path.name
        if buffer.notebook is not None:
            raise ToolError(f"{name} is open as a notebook, which only the editor can save. Ask the user to save it.")
        if buffer.out_of_step:
            raise ToolError(f"{name} cannot be saved because its current text is unknown. Ask the user to save it.")
        is_there = await asyncio.to_thread(disk_stamp, buffer.path) != MISSING
        before = await read_document(buffer.path, name) if is_there else None
        if (before.text if before else None) != buffer.base_text:
            raise ToolError(
                f"{name} cannot be saved: another program changed or deleted the file after the editor loaded it. "
                "Nothing was written. Ask the user to compare both versions and save it in the editor."
            )
        text = buffer.text
        write = WriteText(path=buffer.path, before=before, text=text)
        await apply_plan(EditPlan(label="", operations=(write,), result=""), lambda path: path.name)
        buffer.note_written(text)
        buffer.saved_by_daemon = True


async def changed_on_disk(buffers: Iterable[Buffer]) -> list[Path]:
    """Return the open documents without unsaved changes whose files have changed; each change is returned once."""
    changed: list[Path] = []
    for buffer in buffers:
        stamp = await asyncio.to_thread(disk_stamp, buffer.path)
        if buffer.is_behind and stamp != buffer.reported_stamp:
            buffer.reported_stamp = stamp
            changed.append(buffer.path)
    return changed
