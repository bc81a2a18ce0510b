"""Tool calls that the model is still writing, as events."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from pygent_ls.agent.events import ToolCallDelta
from pygent_ls.agent.model.argument_stream import ArgumentStream
from pygent_ls.agent.ports.model import ToolCallChunk

MIN_CHARS = 200
"""Number of characters from which on the text of a call is shown while it arrives. Shorter calls are complete at once,
and events of them would only cost time."""


class _Draft(Struct):
    item_id: str
    name: str = ""
    stream: ArgumentStream = field(default_factory=ArgumentStream)
    held: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Pieces that are not shown yet."""
    n_chars: int = 0
    n_pieces: int = 0
    is_shown: bool = False


class CallDrafts:
    """Calls of one answer, by their index in the stream. A call that arrives in one piece has no events here."""

    def __init__(self, item_prefix: str) -> None:
        self._prefix = item_prefix
        self._drafts: dict[int, _Draft] = {}

    def add(self, chunk: ToolCallChunk) -> Sequence[ToolCallDelta]:
        """Add the next piece of a call, and return the events to emit now."""
        draft = self._drafts.get(chunk.index)
        if draft is None:
            draft = self._drafts[chunk.index] = _Draft(f"{self._prefix}-call-{chunk.index}")
        draft.name = draft.name or chunk.name or ""
        if not chunk.arguments:
            return ()
        found = draft.stream.feed(chunk.arguments)
        draft.n_pieces += 1
        draft.n_chars += sum(len(piece) for _, piece in found)
        draft.held += found
        if not draft.is_shown and (draft.n_pieces < 2 or draft.n_chars < MIN_CHARS):
            return ()
        draft.is_shown = True
        held, draft.held = draft.held, []
        return [
            ToolCallDelta(item_id=draft.item_id, tool_name=draft.name, argument=argument, content=piece)
            for argument, piece in _joined(held)
        ]

    @property
    def shown(self) -> Sequence[str]:
        """Items of the calls that were shown."""
        return [each.item_id for each in self._drafts.values() if each.is_shown]

    def item_of(self, index: int) -> str:
        """Return the item of a call that was shown; empty if it was not."""
        draft = self._drafts.get(index)
        return draft.item_id if draft and draft.is_shown else ""


def _joined(pieces: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Join adjacent pieces of one argument."""
    texts: list[tuple[str, list[str]]] = []
    for argument, piece in pieces:
        if texts and texts[-1][0] == argument:
            texts[-1][1].append(piece)
        else:
            texts.append((argument, [piece]))
    return [(argument, "".join(parts)) for argument, parts in texts]
