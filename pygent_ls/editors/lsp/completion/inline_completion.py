"""`textDocument/inlineCompletion`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from pygent_ls.agent.ports.completer import CompletionRequest, InlineCompletions, Snippet
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.completion.answers import read_answer
from pygent_ls.editors.lsp.completion.context import snippets_of, window_at
from pygent_ls.editors.lsp.completion.context_files import ContextFiles
from pygent_ls.editors.lsp.completion.definitions import Definitions, OpenText
from pygent_ls.editors.lsp.completion.failures import CompletionFailures
from pygent_ls.editors.lsp.completion.kept_completions import CompletionPlace, KeptCompletions
from pygent_ls.editors.lsp.completion.recent_edits import RecentEdits
from pygent_ls.editors.lsp.completion.shaping import is_enough, shaped
from pygent_ls.editors.lsp.documents.buffers import Buffer, Buffers
from pygent_ls.editors.lsp.standard import InlineCompletionParams, InlineCompletionTriggerKind, Range
from pygent_ls.editors.lsp.uris import path_of

MAX_OTHERS = 10
"""Number of open documents whose text is searched, the most recent first."""

MAX_OTHER_CHARS = 200_000

T = TypeVar("T")

NONE: InlineCompletionListOut = {"items": []}


class InlineCompletionItemOut(TypedDict):
    """Text that is offered in place of a range."""

    insertText: str
    range: Range


class InlineCompletionListOut(TypedDict):
    """Answer to `textDocument/inlineCompletion`."""

    items: list[InlineCompletionItemOut]


class InlineCompletion:
    """Answers the requests of one client, of which only the newest is worked on."""

    def __init__(
        self,
        client: Client,
        buffers: Buffers,
        files: ContextFiles,
        completions: InlineCompletions,
        edits: RecentEdits,
        failures: CompletionFailures,
    ) -> None:
        self._client = client
        self._buffers = buffers
        self._files = files
        self._completions = completions
        self._edits = edits
        self._failures = failures
        self._kept = KeptCompletions()
        self._work = NewestOnly()
        self._definitions = Definitions()
        self._parsing: asyncio.Task[None] | None = None

    def begin(self, params: InlineCompletionParams) -> Coroutine[Any, Any, InlineCompletionListOut]:
        """Handle `textDocument/inlineCompletion` for the document as it is now. The answer is empty if the document
        changes before it is there."""
        path = path_of(params.text_document.uri)
        buffer = self._buffers.get(path) if path is not None else None
        if buffer is None or buffer.out_of_step or not self._completions.completes:
            return _nothing()
        self._work.cancel()
        return self._complete(buffer, buffer.generation, buffer.text, params)

    async def _complete(
        self, buffer: Buffer, generation: int, text: str, params: InlineCompletionParams
    ) -> InlineCompletionListOut:
        path, completions = buffer.path, self._completions
        if buffer.generation != generation:
            return NONE
        self._edits.follow(buffer)
        encoding = self._buffers.encoding
        offset = buffer.offset(params.position, encoding)
        selected = params.context.selected_completion_info
        start = offset if selected is None else buffer.offset(selected.range.start, encoding)
        chosen = "" if selected is None else selected.text
        at = CompletionPlace(start, offset, chosen)
        found = self._kept.rest(path, text, at)
        if found is None:
            is_automatic = params.context.trigger_kind == InlineCompletionTriggerKind.AUTOMATIC
            if is_automatic and self._failures.are_recent:
                return NONE
            wait_s = completions.debounce_s if is_automatic else 0.0
            found = await self._work.run(self._asked(buffer, text, at, wait_s)) or ""
            if found:
                self._kept.add(path, text, at, found)
        if not found or self._buffers.get(path) is not buffer or buffer.generation != generation:
            return NONE
        place = Range(start=params.position, end=params.position) if selected is None else selected.range
        offered = with_breaks_of(text, chosen + found)
        return {"items": [{"insertText": offered, "range": place}]}

    def file_changed(self, path: Path) -> None:
        """Note that a document was opened or changed."""
        if self._completions.completes:
            self._edits.notice(path)

    async def close(self) -> None:
        """End what is worked on."""
        await self._work.close()
        if self._parsing is not None:
            await self._parsing
        self._edits.close()

    async def _asked(self, buffer: Buffer, text: str, at: CompletionPlace, wait_s: float) -> str:
        """Ask the model after a pause, unless the document is not this text any more. Secrets are masked, and the
        settings read, once the user has paused."""
        await asyncio.sleep(wait_s)
        await self._completions.refresh()
        if buffer.text is not text:
            return ""
        window, others = window_at(text, at.start, at.end, at.chosen), self._others(buffer)
        request = CompletionRequest(
            path=buffer.path,
            name=self._files.shown(buffer.path),
            before=window.before,
            after=window.after,
            lead=window.lead,
            trail=window.trail,
            imports=window.imports,
            snippets=await asyncio.to_thread(self._snippets, window.before, others),
            edits=tuple(self._edits.last(self._files.shown, self._files.may_go_with(buffer.path))),
            max_tokens=self._completions.max_tokens,
        )
        before, after = window.before, window.after
        try:
            answer = await read_answer(
                self._completions, self._failures, request, lambda text: is_enough(text, before, after)
            )
        finally:
            self._parse(others)
        return shaped(answer, before, after)

    def _snippets(self, before: str, others: Sequence[OpenText]) -> tuple[Snippet, ...]:
        """Return parts of other documents, the best ones last; for a thread."""
        alike = snippets_of(before, others)
        defined = self._definitions.used_in(before, others)
        return (*alike, *(each for each in defined if not any(each.text in other.text for other in alike)))

    def _parse(self, others: Sequence[OpenText]) -> None:
        """Parse documents for the next completion, after this one was answered."""
        self._definitions.keep(others)
        unknown = self._definitions.unknown(others)
        if unknown and (self._parsing is None or self._parsing.done()):
            parsing = asyncio.to_thread(self._definitions.parse, unknown)
            self._parsing = asyncio.get_running_loop().create_task(parsing)

    def _others(self, buffer: Buffer) -> list[OpenText]:
        """Return the text of other documents of the same kind that the user works with."""
        recent = [
            path for path in self._client.told.recent if path != buffer.path and path.suffix == buffer.path.suffix
        ]
        may_go = self._files.may_go_with(buffer.path)
        found = [(path, self._buffers.get(path)) for path in recent[:MAX_OTHERS] if may_go(path)]
        return [
            OpenText(path, self._files.shown(path), other.text[:MAX_OTHER_CHARS])
            for path, other in found
            if other is not None and not other.out_of_step
        ]


async def _nothing() -> InlineCompletionListOut:
    return NONE


class NewestOnly:
    """Runs one piece of work at a time: the next one ends it."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None

    async def run(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of the work; None if other work came. It ends with its caller."""
        self.cancel()
        task = self._task = asyncio.create_task(work)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            raise
        return None if task.cancelled() else task.result()

    def cancel(self) -> None:
        """End what runs, and close its connection."""
        if self._task is not None and not self._task.done():
            self._task.cancel()

    async def close(self) -> None:
        """End what runs, and wait for it."""
        self.cancel()
        if self._task is not None:
            await asyncio.wait([self._task])


def with_breaks_of(text: str, offered: str) -> str:
    """Return the offered text with the line breaks of the document."""
    return offered.replace("\n", "\r\n") if "\r\n" in text[:MAX_OTHER_CHARS] else offered
