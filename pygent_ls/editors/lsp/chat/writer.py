"""Writes an answer into a chat document as it comes: into the editor's buffer, or into the file while it has none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from lsprotocol import types

from pygent_ls.editors.lsp.buffers import Buffer, Buffers
from pygent_ls.editors.lsp.chat.files import ChatFileError, read_chat, replace_chat
from pygent_ls.editors.lsp.chat.flight import Flight
from pygent_ls.editors.lsp.chat.region import Region
from pygent_ls.editors.lsp.chat.tracking import Edit
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.text_edits import text_edits
from pygent_ls.workspace.changes import Replacement

EDIT_INTERVAL_S = 0.1
"""Between two edits of a buffer: faster than anyone reads, and an editor has work with each."""

FILE_INTERVAL_S = 0.5
"""Between two writes of a file, each of which waits for the disk."""

LOOK_S = 0.1
"""Between two looks whether the document is still open: nothing tells of its end."""

AT_LAST_S = 30.0
"""For the rest of an answer to come into its document, once it is over; then it is kept elsewhere."""

MAX_REFUSED = 4
"""Edits that an editor may refuse in a row without a reason, once the answer is over: its user cannot write there."""


class ChatWriter:
    """Of one answer. There is one edit on its way at a time: some editors drop a second one."""

    def __init__(
        self, *, client: Client, buffers: Buffers, path: Path, region: Region, answer: Callable[[], str]
    ) -> None:
        """`answer` tells the answer so far, with line feeds."""
        self.region = region
        self._client = client
        self._buffers = buffers
        self._path = path
        self._answer = answer
        self._news = asyncio.Event()
        self._stirred = asyncio.Event()
        self._over_at: float | None = None
        self._is_written = False
        self._surface: Buffer | None = None
        """The buffer that is written to; None where it is the file."""
        self._flight: Flight | None = None
        self._dropped: Flight | None = None
        """The last one that was not proven in time."""
        self._n_refused = 0
        """Edits in a row that the editor did not make, and for no change of its user's."""
        self._problem = ""

    def tell(self) -> None:
        """There is more of the answer."""
        self._news.set()

    def end(self) -> None:
        """The answer is over."""
        self._over_at = self._now()
        self._news.set()
        self._stirred.set()

    async def write(self) -> None:
        """Return when all of the answer stands in the document. Raises `ChatFileError` where it cannot."""
        with self._buffers.listening(self._path, self._look):
            while not self._is_written:
                self._news.clear()
                if await self._step():
                    await self._pause(FILE_INTERVAL_S if self._surface is None else EDIT_INTERVAL_S)
                elif not self._news.is_set() and not self._is_written:
                    await self._news.wait()

    def write_now(self) -> None:
        """The daemon ends: write what there is where no editor has to help. Blocking. Raises `ChatFileError`."""
        if self._is_written or self._buffers.get(self._path) is not None:
            return
        text = read_chat(self._path)
        self.region.take_up(text)
        edit = self.region.edit_to(self.region.wanted_at_last(self._answer()))
        if edit is not None:
            replace_chat(self._path, text, edit.applied_to(text))

    # Steps

    async def _step(self) -> bool:
        """Bring the document nearer to what it is to hold; False where nothing is to be done."""
        await self._client.endpoint.present()
        buffer = self._buffers.get(self._path)
        try:
            if buffer is None:
                return await self._write_file()
            if not self._client.features.apply_edit:
                return await self._write_behind(buffer)
            return await self._edit_buffer(buffer)
        except ChatFileError as error:
            self._problem = str(error)
            if self._over_at is not None:
                raise
            return False

    async def _write_file(self) -> bool:
        text = await asyncio.to_thread(read_chat, self._path)
        if self._surface is not None or text != self.region.text:
            self._surface = None
            self.region.take_up(text)
        wanted, is_last = self._wanted()
        edit = self.region.edit_to(wanted)
        if edit is not None:
            held = edit.applied_to(self.region.text)
            if not await asyncio.to_thread(replace_chat, self._path, text, held):
                return True  # somebody else wrote it at the same moment
            self.region.made(held, edit.start + len(edit.text), wanted)
        is_open = self._buffers.get(self._path) is not None  # by now, with what the file held before
        self._is_written = is_last and not is_open
        return edit is not None or is_open

    async def _write_behind(self, buffer: Buffer) -> bool:
        """The editor has it open and cannot be asked to change it: the file is written, once."""
        if self._over_at is None:
            return False
        self.region.take_up(buffer.text)
        edit = self.region.edit_to(self._wanted()[0])
        if edit is not None:
            held = edit.applied_to(buffer.text)
            if not await asyncio.to_thread(replace_chat, self._path, buffer.base_text or "", held):
                raise ChatFileError("another program has changed the file")
        self._is_written = True
        return True

    async def _edit_buffer(self, buffer: Buffer) -> bool:
        if buffer is not self._surface:
            self._surface = buffer
            self._dropped = None
            self.region.take_up(buffer.text)
        self.region.follow(buffer.text)
        wanted, is_last = self._wanted()
        edit = self.region.edit_to(wanted)
        if edit is None:
            self._is_written = is_last
            return False
        if not buffer.out_of_step and not buffer.untold:
            await self._send(buffer, edit, wanted, is_last=is_last)
        if self._over_at is not None and (self._n_refused >= MAX_REFUSED or self._now() > self._over_at + AT_LAST_S):
            raise ChatFileError(self._problem or "the editor does not apply the edit")
        return True

    def _wanted(self) -> tuple[str, bool]:
        if self._over_at is None:
            return self.region.wanted(self._answer()), False
        return self.region.wanted_at_last(self._answer()), True

    async def _pause(self, seconds: float) -> None:
        """Let some of the answer gather; not when it is over. An editor that refuses edits is left alone for longer,
        until its user changes something."""
        if self._n_refused:
            self._stirred.clear()
            await self._until_stirred(min(2.0, seconds * 2**self._n_refused))
            return
        until = self._now() + seconds
        while self._over_at is None and (left := until - self._now()) > 0:
            self._stirred.clear()  # it is set by the answer to the edit before, too
            await self._until_stirred(left)

    # Edits of a buffer

    async def _send(self, buffer: Buffer, edit: Edit, wanted: str, *, is_last: bool) -> None:
        """Send it and wait until it is made, or is taken for dropped."""
        flight = Flight(
            before=buffer.text,
            edit=edit,
            wanted=wanted,
            is_last=is_last,
            sent_at=self._now(),
            now=self._now,
            stirred=self._stirred.set,
        )
        self._flight = flight
        endpoint = self._client.endpoint
        endpoint.ask_without_waiting(
            types.WORKSPACE_APPLY_EDIT, self._params(buffer, edit), flight.answered, on_failure=flight.failed
        )
        while not flight.is_made and self._buffers.get(self._path) is buffer:
            self._stirred.clear()
            left = flight.deadline(endpoint.patience) - self._now()
            if left <= 0:
                break
            await self._until_stirred(min(left, LOOK_S))
        if flight.is_made:
            self._n_refused = 0
            return
        self._flight, self._dropped = None, flight
        if flight.answer == "made" and not self._client.features.document_changes:
            self._buffers.doubt(self._path)  # again would be twice: Vim tells of nothing while it asks its user
        self._n_refused = 0 if flight.has_changed else self._n_refused + 1
        self._problem = flight.reason or "the editor did not apply the edit"

    def _look(self, text: str) -> None:
        """The document is this now; called with each change."""
        if self._buffers.get(self._path) is not self._surface:
            self._news.set()  # it was opened
        elif not any(self._take(flight, text) for flight in (self._flight, self._dropped) if flight is not None):
            self.region.follow(text)
        self._stirred.set()

    def _take(self, flight: Flight, text: str) -> bool:
        """Whether the text holds that edit."""
        end = flight.end_in(text)
        if end is None:
            return False
        self.region.made(text, end, flight.wanted)
        self._is_written = flight.is_last
        flight.is_made = True
        self._flight = self._dropped = None
        return True

    def _params(self, buffer: Buffer, edit: Edit) -> dict[str, Any]:
        """Without a label: Neovim says each, and asks for a key where several come at once."""
        features = self._client.features
        edits = text_edits(buffer.text, [Replacement(edit.start, edit.end, edit.text)], features.encoding)
        if not features.document_changes:
            return {"edit": {"changes": {buffer.uri: edits}}}
        document = {"uri": buffer.uri, "version": buffer.version}
        return {"edit": {"documentChanges": [{"textDocument": document, "edits": edits}]}}

    async def _until_stirred(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stirred.wait()

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
