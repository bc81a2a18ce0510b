"""`textDocument/inlineCompletion`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from pygent_ls.agent.ports.completer import CompletionRequest, InlineCompletions
from pygent_ls.editors.lsp.client import Client
from pygent_ls.editors.lsp.completion.context import around, snippets_of
from pygent_ls.editors.lsp.completion.shaping import is_enough, shaped
from pygent_ls.editors.lsp.documents.buffers import Buffer, Buffers
from pygent_ls.editors.lsp.documents.positions import Position, offset_at
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.errors import ModelError

log = logging.getLogger(__name__)

MAX_KEPT = 50
"""Number of completions that are kept: they are offered again while the user types them, or returns to the place."""

MAX_OTHERS = 10
"""Number of open documents whose text is searched, the most recent first."""

MAX_OTHER_CHARS = 200_000

PAUSE_S = 30.0
"""Time after a failure of the model in which it is not asked."""

NONE = types.InlineCompletionList(items=[])


@dataclass(frozen=True, slots=True)
class _Kept:
    """A completion, and the text around the cursor when it was made."""

    before: str
    after: str
    text: str

    def rest(self, before: str, after: str) -> str | None:
        """Return what is left of the completion once the user has typed its beginning; None if they typed something
        else."""
        typed = before[len(self.before) :] if before.startswith(self.before) else None
        is_here = typed is not None and self.after == after and self.text.startswith(typed)
        return self.text[len(typed) :] if is_here and typed is not None else None


class InlineCompletion:
    """Answers the requests of one client, of which only the newest is worked on."""

    def __init__(
        self,
        client: Client,
        buffers: Buffers,
        shown: Callable[[Path], str],
        completions: Callable[[], InlineCompletions | None],
    ) -> None:
        """`shown` returns a path as the user knows it; `completions` the current settings, None without a model."""
        self._client = client
        self._buffers = buffers
        self._shown = shown
        self._completions = completions
        self._kept: dict[Path, list[_Kept]] = {}
        self._newest: asyncio.Task[str] | None = None
        self._paused_until_s = 0.0
        self._told: set[str] = set()

    async def complete(self, params: types.InlineCompletionParams) -> types.InlineCompletionList:
        """Handle `textDocument/inlineCompletion`. The answer is empty if the document has changed meanwhile."""
        path = path_of(params.text_document.uri)
        buffer = self._buffers.get(path) if path is not None else None
        completions = self._completions()
        if path is None or buffer is None or buffer.out_of_step or completions is None:
            return NONE
        self._end_newest()
        version, text = buffer.version, buffer.text
        offset = self._offset(text, params.position)
        selected = params.context.selected_completion_info
        start = offset if selected is None else self._offset(text, selected.range.start)
        chosen = "" if selected is None else selected.text
        before, after = around(f"{text[:start]}{chosen}{text[offset:]}", start + len(chosen))
        found = self._known(path, before, after)
        if found is None:
            is_automatic = params.context.trigger_kind == types.InlineCompletionTriggerKind.Automatic
            found = await self._new(buffer, before, after, completions, is_automatic=is_automatic)
        if not found or (buffer.version, self._buffers.get(path)) != (version, buffer):
            return NONE
        place = types.Range(start=params.position, end=params.position) if selected is None else selected.range
        return types.InlineCompletionList(items=[types.InlineCompletionItem(insert_text=chosen + found, range=place)])

    async def close(self) -> None:
        """End what is worked on."""
        task = self._newest
        self._end_newest()
        if task is not None:
            await asyncio.wait([task])

    def _offset(self, text: str, position: types.Position) -> int:
        return offset_at(text, Position(position.line, position.character), self._buffers.encoding)

    def _known(self, path: Path, before: str, after: str) -> str | None:
        rests = (each.rest(before, after) for each in reversed(self._kept.get(path, [])))
        return next((rest for rest in rests if rest), None)

    async def _new(
        self, buffer: Buffer, before: str, after: str, completions: InlineCompletions, *, is_automatic: bool
    ) -> str:
        """Ask the model, after a pause unless the user asked for it. Returns nothing if a newer request came."""
        if is_automatic and asyncio.get_running_loop().time() < self._paused_until_s:
            return ""
        wait_s = completions.debounce_s if is_automatic else 0.0
        task = self._newest = asyncio.create_task(self._asked(buffer, before, after, completions, wait_s))
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            raise
        if task.cancelled():
            return ""
        found = task.result()
        if found:
            kept = self._kept.setdefault(buffer.path, [])
            kept.append(_Kept(before, after, found))
            del kept[:-MAX_KEPT]
        return found

    async def _asked(
        self, buffer: Buffer, before: str, after: str, completions: InlineCompletions, wait_s: float
    ) -> str:
        await asyncio.sleep(wait_s)
        request = CompletionRequest(
            path=buffer.path,
            name=self._shown(buffer.path),
            before=before,
            after=after,
            snippets=snippets_of(before, self._others(buffer)),
            max_tokens=completions.max_tokens,
        )
        text = ""
        try:
            async with aclosing(completions.complete(request)) as pieces:
                async for piece in pieces:
                    text += piece
                    if is_enough(text, after):
                        break
        except ModelError as error:
            self._fail(error)
            return ""
        return shaped(text, before, after)

    def _others(self, buffer: Buffer) -> list[tuple[Path, str, str]]:
        """Return the text of other documents of the same kind that the user works with."""
        recent = [
            path for path in self._client.told.recent if path != buffer.path and path.suffix == buffer.path.suffix
        ]
        found = [(path, self._buffers.get(path)) for path in recent[:MAX_OTHERS]]
        return [
            (path, self._shown(path), other.text[:MAX_OTHER_CHARS])
            for path, other in found
            if other is not None and not other.out_of_step
        ]

    def _fail(self, error: ModelError) -> None:
        """Tell the user once of each failure, and leave the model alone for a while."""
        self._paused_until_s = asyncio.get_running_loop().time() + PAUSE_S
        log.warning("inline completion failed: %s", error)
        if error.message not in self._told:
            self._told.add(error.message)
            self._client.endpoint.show_message(f"pygent: inline completion: {error.message}", types.MessageType.Warning)

    def _end_newest(self) -> None:
        if self._newest is not None and not self._newest.done():
            self._newest.cancel()
