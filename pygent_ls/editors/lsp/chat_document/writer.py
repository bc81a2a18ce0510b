"""Streaming of an answer into a chat document: into the editor's buffer, or into the file if it is not open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pygent_ls.editors.lsp.chat_document.files import ChatFileError, read_chat, replace_chat
from pygent_ls.editors.lsp.chat_document.offsets import OffsetEdit
from pygent_ls.editors.lsp.chat_document.pending_edit import PendingEdit
from pygent_ls.editors.lsp.chat_document.region import Region
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.documents.buffers import Buffer, Buffers
from pygent_ls.editors.lsp.documents.minimal_edits import Replacement
from pygent_ls.editors.lsp.documents.text_edits import text_edits

EDIT_INTERVAL_S = 0.1
"""Interval between edits of a buffer: fast enough to read along without burdening the editor."""

FILE_INTERVAL_S = 0.5
"""Interval between writes of a file, each of which waits for the disk."""

LOOK_S = 0.1
"""Interval between checks whether the document is still open, because closing it sends no event."""

AT_LAST_S = 30.0
"""Time limit for writing the rest of a finished answer; after that, it is saved elsewhere."""

MAX_REFUSED = 4
"""Number of consecutive refusals without a reason after which a finished answer is given up: the document is
read-only."""


class ChatWriter:
    """Writes one answer. Only one edit is in flight at a time, because some editors drop a second one."""

    def __init__(
        self, *, client: Client, buffers: Buffers, path: Path, region: Region, answer: Callable[[], str]
    ) -> None:
        """`answer` returns the answer so far, with line feeds."""
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
        """The buffer that is written to; None for the file."""
        self._flight: PendingEdit | None = None
        self._dropped: PendingEdit | None = None
        """The last edit that was not proven in time."""
        self._n_refused = 0
        """Number of consecutive edits that the editor did not apply for another reason than a change of the user."""
        self._problem = ""

    def tell(self) -> None:
        """Note that the answer has grown."""
        self._news.set()

    def end(self) -> None:
        """Note that the answer is finished."""
        self._over_at = self._now()
        self._news.set()
        self._stirred.set()

    async def write(self) -> None:
        """Return when the whole answer is in the document. Raises `ChatFileError` if that fails."""
        with self._buffers.listening(self._path, self._look):
            while not self._is_written:
                self._news.clear()
                if await self._step():
                    await self._pause(FILE_INTERVAL_S if self._surface is None else EDIT_INTERVAL_S)
                elif not self._news.is_set() and not self._is_written:
                    await self._news.wait()

    def write_now(self) -> None:
        """Write what is there when the daemon ends, unless the document is open in the editor. Blocking. Raises
        `ChatFileError`."""
        if self._is_written or self._buffers.get(self._path) is not None:
            return
        text = read_chat(self._path)
        self.region.take_up(text)
        edit = self.region.edit_to(self.region.wanted_at_last(self._answer()))
        if edit is not None:
            replace_chat(self._path, text, edit.applied_to(text))

    # Steps

    async def _step(self) -> bool:
        """Bring the document closer to the wanted text; False if there is nothing to do."""
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
                return True  # another program wrote it at the same moment
            self.region.made(held, edit.start + len(edit.text), wanted)
        is_open = self._buffers.get(self._path) is not None  # opened meanwhile, with the earlier text of the file
        self._is_written = is_last and not is_open
        return edit is not None or is_open

    async def _write_behind(self, buffer: Buffer) -> bool:
        """Write the file once, at the end, because the editor has it open but cannot apply edits."""
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
        """Wait for more of the answer, unless it is finished. After refusals, wait longer, until the user changes
        something."""
        if self._n_refused:
            self._stirred.clear()
            await self._until_stirred(min(2.0, seconds * 2**self._n_refused))
            return
        until = self._now() + seconds
        while self._over_at is None and (left := until - self._now()) > 0:
            self._stirred.clear()  # the answer to the previous edit sets it, too
            await self._until_stirred(left)

    # Edits of a buffer

    async def _send(self, buffer: Buffer, edit: OffsetEdit, wanted: str, *, is_last: bool) -> None:
        """Send an edit and wait until it is applied or counts as dropped."""
        flight = PendingEdit(
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
            "workspace/applyEdit", self._params(buffer, edit), flight.answered, on_failure=flight.failed
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
            self._buffers.doubt(self._path)  # a repeated edit may duplicate text: Vim sends no changes in a prompt
        self._n_refused = 0 if flight.has_changed else self._n_refused + 1
        self._problem = flight.reason or "the editor did not apply the edit"

    def _look(self, text: str) -> None:
        """Handle each change of the document."""
        if self._buffers.get(self._path) is not self._surface:
            self._news.set()  # it was opened
        elif not any(self._take(flight, text) for flight in (self._flight, self._dropped) if flight is not None):
            self.region.follow(text)
        self._stirred.set()

    def _take(self, flight: PendingEdit, text: str) -> bool:
        """Whether the text contains that edit; if so, note that it was applied."""
        end = flight.end_in(text)
        if end is None:
            return False
        self.region.made(text, end, flight.wanted)
        self._is_written = flight.is_last
        flight.is_made = True
        self._flight = self._dropped = None
        return True

    def _params(self, buffer: Buffer, edit: OffsetEdit) -> dict[str, Any]:
        """Return the parameters, without a label: Neovim shows each label, and several at once need a key press."""
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
