"""One question and its answer, from the first event of the turn until both are in the document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from pygent_ls.agent.events import Finished, TurnStarted
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.lsp.chat_document.answer import AnswerSection, cleaned
from pygent_ls.editors.lsp.chat_document.display import DocumentDisplay, tell_answer
from pygent_ls.editors.lsp.chat_document.document import (
    ChatMessage,
    lead_in,
    said_in_answer,
    trimmed,
    without_asides,
)
from pygent_ls.editors.lsp.chat_document.files import ChatFileError, make_chat, read_chat, write_chat
from pygent_ls.editors.lsp.chat_document.region import Region
from pygent_ls.editors.lsp.chat_document.writer import ChatWriter
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.sessions.event_stream import SessionEvent, Subscriber
from pygent_ls.sessions.turns.turn import RunningTurn


class ChatPlace(Struct, frozen=True, kw_only=True):
    """A chat document of one client."""

    client: Client
    buffers: Buffers
    path: Path
    one_at_a_time: asyncio.Lock
    """Held while an answer is written."""
    spare: Callable[[str], Path]
    """Returns the path, for a turn id, at which an answer is saved that cannot be written to the document."""

    @property
    def is_open(self) -> bool:
        """Whether the document is open in the editor."""
        return self.buffers.get(self.path) is not None

    async def text(self) -> str:
        """Return the text that the user sees. Raises `ChatFileError`."""
        buffer = self.buffers.get(self.path)
        return buffer.text if buffer else await asyncio.to_thread(read_chat, self.path)


class ChatExchange:
    """A turn's `Subscriber` that delays the end of its progress until the answer is in the document."""

    def __init__(self, place: ChatPlace, region: Region | None = None) -> None:
        """`region` is below the question, if that is in the document. Otherwise, the question is written as well, and
        the document is shown to the user."""
        self._place = place
        self._region = region
        self._answer = AnswerSection()
        self._writer: ChatWriter | None = None
        self._begun = asyncio.Event()
        self._over = asyncio.Event()
        self._prompt = ""
        self._turn_id = ""
        self._held: list[SessionEvent] = []
        self._is_done = False
        self._progress: Subscriber | None = None
        self._showing = DocumentDisplay(place.client, place.buffers, place.path)

    # Subscriber

    def before(self, progress: Subscriber) -> Subscriber:
        """Pass events on to `progress`, and return this subscriber."""
        self._progress = progress
        return self

    @property
    def congested(self) -> bool:
        return self._progress is not None and self._progress.congested

    async def drained(self) -> None:
        if self._progress is not None:
            await self._progress.drained()

    def deliver(self, events: Sequence[SessionEvent]) -> None:
        for each in events:
            self._answer.take(each)
            if isinstance(each.event, TurnStarted):
                self._prompt = each.event.prompt
                self._begun.set()
        last = [each for each in events if isinstance(each.event, Finished) and not self._is_done]
        self._held += last
        if self._progress is not None:
            self._progress.deliver([each for each in events if each not in last])
        if self._writer is not None:
            self._writer.tell()

    # Writing task

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended."""
        return self._over.is_set()

    def follow(self, turn: RunningTurn) -> None:
        """Set the turn that this exchange writes."""
        assert turn.task is not None
        self._turn_id = turn.turn_id
        turn.task.add_done_callback(self._end)

    @property
    def said(self) -> list[ChatMessage]:
        """The conversation up to the end of the answer, as this daemon wrote it."""
        assert self._region is not None
        said = [
            ChatMessage("user", trimmed(cleaned(self._region.prompt))),
            ChatMessage("assistant", said_in_answer(self._answer.text)),
        ]
        return [*self._region.history, *without_asides([each for each in said if each.text])]

    async def run(self) -> bool:
        """Write the question and answer. Returns whether they are in the document."""
        try:
            await self._begun.wait()
            async with self._place.one_at_a_time:
                return await self._write_or_tell()
        except asyncio.CancelledError:
            if self._writer is not None and self._over.is_set():
                with suppress(ChatFileError):
                    self._writer.write_now()
            raise

    def finish(self) -> None:
        """End the turn's progress."""
        self._is_done = True
        if self._progress is not None:
            self._progress.deliver(self._held)

    def _end(self, task: asyncio.Task[TurnResult]) -> None:
        """Finish the answer at the end of the turn."""
        failure = None if task.cancelled() else task.exception()
        if task.cancelled():
            self._answer.end("cancelled")
        elif failure is not None:
            self._answer.end("error", type(failure).__name__)
        else:
            result = task.result()
            self._answer.end(result.stop_reason, result.error.message if result.error else "")
        self._over.set()
        self._begun.set()
        if self._writer is not None:
            self._writer.end()

    async def _write_or_tell(self) -> bool:
        try:
            await self._write()
        except ChatFileError as error:
            await self._over.wait()
            await self._keep_elsewhere(str(error))
            return False
        place = self._place
        if self._showing.is_wanted:
            self._showing.end(self._answer.text)
        elif not place.is_open or not place.client.features.apply_edit:
            tell_answer(place.client, self._answer.text, f"Full answer: {place.path}")
        return True

    async def _write(self) -> None:
        place = self._place
        if self._region is None:
            if not place.is_open:
                await asyncio.to_thread(make_chat, place.path)
            await self._showing.begin()
            self._region = Region(cleaned(self._prompt), await place.text(), stands_there=False)
        self._writer = ChatWriter(
            client=place.client,
            buffers=place.buffers,
            path=place.path,
            region=self._region,
            answer=lambda: self._answer.text,
        )
        if self._over.is_set():
            self._writer.end()
        await self._writer.write()

    async def _keep_elsewhere(self, problem: str) -> None:
        place, answer = self._place, self._answer.text
        where = f"The answer could not be written to {place.path}: {problem}."
        prompt = self._region.prompt if self._region else self._prompt
        spare = place.spare(self._turn_id)
        with suppress(ChatFileError):
            await asyncio.to_thread(make_chat, spare)
            text = lead_in("", cleaned(prompt), stands_there=False) + answer
            await asyncio.to_thread(write_chat, spare, text + "\n")
            where += f" It was saved to {spare}."
        tell_answer(place.client, answer, where)
