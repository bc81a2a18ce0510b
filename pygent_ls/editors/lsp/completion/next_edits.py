"""`pygent/edit/suggest`: the change that the user is likely to make next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from pygent_ls.agent.display_text import visible
from pygent_ls.agent.ports.completer import CompletionRequest, InlineCompletions, RecentEdit
from pygent_ls.editors.lsp.completion.answers import read_answer
from pygent_ls.editors.lsp.completion.context import CompletionWindow, window_at
from pygent_ls.editors.lsp.completion.context_files import ContextFiles
from pygent_ls.editors.lsp.completion.failures import CompletionFailures
from pygent_ls.editors.lsp.completion.inline_completion import NewestOnly, with_breaks_of
from pygent_ls.editors.lsp.completion.recent_edits import RecentEdits
from pygent_ls.editors.lsp.documents.buffers import Buffer, Buffers
from pygent_ls.editors.lsp.documents.positions import PositionEncoding, offset_at, position_at
from pygent_ls.editors.lsp.protocol.next_edits import EditSuggestionsOut, EditSuggestParams, SuggestedEditOut
from pygent_ls.editors.lsp.protocol.shapes import PositionOut
from pygent_ls.editors.lsp.standard import Position
from pygent_ls.editors.lsp.uris import path_of

SIZES = (6_000, 6_000)
"""Length of the text before and after the cursor in which the next edit may be."""

MAX_LINES = 30
"""Maximum number of lines of a change, before and after."""

MAX_TOKENS = 512
"""Maximum length of an answer: the lines of a change twice."""

MAX_CHARS = 8_000
"""Maximum length of an answer that is read."""

END_OF_LINE = 1_000_000_000


class LineChange(Struct, frozen=True, kw_only=True):
    """Lines that become others. Lines are counted from the start of the text in which they were found."""

    first: int
    old: tuple[str, ...]
    new: tuple[str, ...]


class NextEdits:
    """Answers the requests of one client, of which only the newest is worked on."""

    def __init__(
        self,
        buffers: Buffers,
        files: ContextFiles,
        completions: InlineCompletions,
        edits: RecentEdits,
        failures: CompletionFailures,
    ) -> None:
        self._buffers = buffers
        self._files = files
        self._completions = completions
        self._edits = edits
        self._failures = failures
        self._work = NewestOnly()

    async def suggest(self, params: EditSuggestParams) -> EditSuggestionsOut:
        """Handle the request. Without a change since the file was followed, nothing is suggested."""
        path = path_of(params.text_document.uri)
        buffer = self._buffers.get(path) if path is not None else None
        if path is None or buffer is None or buffer.out_of_step or not self._completions.suggests_edits:
            return {"edits": []}
        self._work.cancel()
        self._edits.follow(buffer)
        generation, text = buffer.generation, buffer.text
        if params.text_document.version not in (None, buffer.version) or self._failures.are_recent:
            return {"edits": []}
        position = Position(params.position.line, params.position.character)
        offset = buffer.offset(position, self._buffers.encoding)
        change = await self._work.run(self._asked(buffer, text, offset))
        if change is None or self._buffers.get(path) is not buffer or buffer.generation != generation:
            return {"edits": []}
        return {"edits": [self._edit(buffer, change)]}

    async def close(self) -> None:
        """End what is worked on."""
        await self._work.close()

    async def _asked(self, buffer: Buffer, text: str, offset: int) -> LineChange | None:
        """Ask the model after a pause, unless the document is not this text any more, and return the change in its
        lines."""
        await asyncio.sleep(self._completions.debounce_s)
        await self._completions.refresh()
        recent = self._edits.last(self._files.shown, self._files.may_go_with(buffer.path))
        if not recent or buffer.text is not text:
            return None
        window = window_at(text, offset, offset, sizes=SIZES)
        request = CompletionRequest(
            path=buffer.path,
            name=self._files.shown(buffer.path),
            before=window.before,
            after=window.after,
            lead=window.lead,
            trail=window.trail,
            imports=window.imports,
            edits=tuple(recent),
            max_tokens=MAX_TOKENS,
            task="next_edit",
        )
        answer = await read_answer(self._completions, self._failures, request, _is_enough)
        change = change_in(answer, window, recent)
        if change is None:
            return None
        line = position_at(text, offset, "utf-32").line - window.before.count("\n")
        return LineChange(first=line + change.first, old=change.old, new=change.new)

    def _edit(self, buffer: Buffer, change: LineChange) -> SuggestedEditOut:
        text, encoding = buffer.text, self._buffers.encoding
        first, end = change.first, change.first + len(change.old)
        new = "\n".join(change.new)
        if change.old and change.new:
            start, stop = _at(text, first, 0, encoding), _at(text, end - 1, END_OF_LINE, encoding)
        elif change.old:
            start, stop = _at(text, first, 0, encoding), _at(text, end, 0, encoding)
        elif first:
            start = stop = _at(text, first - 1, END_OF_LINE, encoding)
            new = f"\n{new}"
        else:
            start = stop = _at(text, 0, 0, encoding)
            new = f"{new}\n"
        return {
            "text": with_breaks_of(text, new),
            "range": {"start": start, "end": stop},
            "textDocument": {"uri": buffer.uri, "version": buffer.version},
        }


def change_in(answer: str, window: CompletionWindow, recent: Sequence[RecentEdit]) -> LineChange | None:
    """Return the change that an answer describes; None if it describes none, if its lines are not found exactly once,
    or if it takes back what the user has done."""
    answer = answer[:MAX_CHARS].replace("\r\n", "\n")
    old_text, new_text = _texts_in(answer)
    both = old_text + new_text
    if not old_text.strip() or visible(both) != both or "{{SECRET_" in both:
        return None
    text = window.before + window.after
    old, new = old_text.split("\n"), new_text.split("\n") if new_text else []
    place = f"\n{text}\n".find(f"\n{old_text}\n")
    again = f"\n{text}\n".find(f"\n{old_text}\n", place + 1)
    if place < 0 or again >= 0 or max(len(old), len(new)) > MAX_LINES:
        return None
    if (window.begins_within_line and place == 0) or (window.ends_within_line and place + len(old_text) == len(text)):
        return None  # the whole line would be replaced
    n_head = _n_common(old, new)
    n_tail = _n_common(old[n_head:][::-1], new[n_head:][::-1])
    was, becomes = old[n_head : len(old) - n_tail], new[n_head : len(new) - n_tail]
    if not was and not becomes:
        return None
    if any(_takes_back(edit, old_text, new_text) for edit in recent):
        return None
    return LineChange(first=text.count("\n", 0, place) + n_head, old=tuple(was), new=tuple(becomes))


def _takes_back(edit: RecentEdit, old: str, new: str) -> bool:
    return edit.new in old and old.replace(edit.new, edit.old, 1) == new


def _is_enough(answer: str) -> bool:
    return "</new>" in answer or len(answer) > MAX_CHARS or answer.lstrip().startswith("NONE")


def _texts_in(answer: str) -> tuple[str, str]:
    """Return the old and the new lines of an answer; empty texts if it has none."""
    _, _, rest = answer.partition("<old>\n")
    old, is_closed, rest = rest.partition("</old>")
    new, is_complete, _ = rest.lstrip().partition("</new>")
    if not is_closed or not is_complete or not new.startswith("<new>"):
        return "", ""
    return old.removesuffix("\n"), new.removeprefix("<new>").removeprefix("\n").removesuffix("\n")


def _n_common(one: Sequence[str], other: Sequence[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _at(text: str, line: int, character: int, encoding: PositionEncoding) -> PositionOut:
    found = position_at(text, offset_at(text, Position(line, character), encoding), encoding)
    return {"line": found.line, "character": found.character}
