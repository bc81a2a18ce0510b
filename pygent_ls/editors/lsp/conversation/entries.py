"""What the reducer keeps of items that may still change, and the changes that are not sent yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct, field

from pygent_ls.editors.lsp.protocol import conversation as wire

MAX_OUTPUT_CHARS = 20_000
"""Maximum number of characters of live output in an item, about two screenfuls; the result contains the rest."""


OtherItem = (
    wire.PromptItemOut
    | wire.ReviewItemOut
    | wire.FailureItemOut
    | wire.LimitItemOut
    | wire.CompactedItemOut
    | wire.HookItemOut
    | wire.NoticeItemOut
    | wire.EndItemOut
)
"""Items that have no text in pieces."""


class WordsEntry(Struct, kw_only=True, eq=False):
    """Text or thinking. Its `text` is in pieces, so that a delta costs the same however long the text is."""

    item: wire.TextItemOut | wire.ThinkingItemOut
    parent: str | None
    pieces: list[str] = field(default_factory=list[str])

    def out(self) -> wire.AnyItem:
        """Return the item as it is now."""
        item = self.item.copy()
        item["text"] = "".join(self.pieces)
        return item


class CallEntry(Struct, kw_only=True, eq=False):
    """A tool call, or the draft of one. Its `output` is in pieces."""

    item: wire.ToolItemOut
    parent: str | None
    children: Level
    """Items of its subagent."""
    argument: str = ""
    """Argument of a draft whose text arrived last."""
    _pieces: list[str] = field(default_factory=list[str])
    _n_chars: int = 0

    @property
    def has_output(self) -> bool:
        """Whether it has live output."""
        return self._n_chars > 0

    def add_output(self, text: str) -> None:
        """Append live output; what is beyond the maximum is dropped from time to time."""
        piece = text[-MAX_OUTPUT_CHARS:]
        self._pieces.append(piece)
        self._n_chars += len(piece)
        if self._n_chars > 2 * MAX_OUTPUT_CHARS:
            self._pieces = ["".join(self._pieces)[-MAX_OUTPUT_CHARS:]]
            self._n_chars = MAX_OUTPUT_CHARS

    def clear_output(self) -> None:
        """Drop the live output."""
        self._pieces, self._n_chars = [], 0

    def out(self) -> wire.AnyItem:
        """Return the item as it is now."""
        return {**self.item, "output": "".join(self._pieces)[-MAX_OUTPUT_CHARS:]}


class OtherEntry(Struct, kw_only=True, eq=False):
    """An item without text in pieces."""

    item: OtherItem
    parent: str | None

    def out(self) -> wire.AnyItem:
        """Return the item as it is now."""
        return self.item.copy()


Entry = WordsEntry | CallEntry | OtherEntry


class Level(Struct, kw_only=True, eq=False):
    """Items of one agent in one turn: those of the turn itself, or those of a subagent below its call."""

    parent: str | None = None
    """Key of the call; None for the turn itself."""
    depth: int = 0
    entries: list[Entry] = field(default_factory=list[Entry])
    words: dict[str, WordsEntry] = field(default_factory=dict[str, WordsEntry])
    """Texts and thinking by the id that their events have."""
    calls: dict[str, CallEntry] = field(default_factory=dict[str, CallEntry])
    """The last call of each id."""
    drafts: dict[str, CallEntry] = field(default_factory=dict[str, CallEntry])
    """Calls that the model writes or wrote, by the id that their events have, until the call itself is made."""


class TurnScope(Struct, kw_only=True, eq=False):
    """What is looked up while a turn runs, so that an event costs the same however long the conversation is."""

    top: Level = field(default_factory=Level)
    calls: dict[str, CallEntry] = field(default_factory=dict[str, CallEntry])
    """Calls of all levels; of two with one id, the outer one, or else the later one."""
    changed: set[str] = field(default_factory=set[str])
    """Decoded URIs of the files that its calls changed."""
    rejected: Counter[str] = field(default_factory=Counter[str])
    """Number of changes that the user rejected while it ran, by decoded URI."""

    def add_call(self, level: Level, call: CallEntry) -> None:
        """Make a call known by its id."""
        tool_id = call.item["toolId"]
        level.calls[tool_id] = call
        known = self.calls.get(tool_id)
        if known is None or known.children.depth >= call.children.depth:
            self.calls[tool_id] = call

    @property
    def has_background_agent(self) -> bool:
        """Whether events of a subagent may follow the end of the turn."""
        return any(
            each.item["toolName"] == "task" and each.item["input"].get("background") is True
            for each in self.calls.values()
        )


class PendingOperations:
    """Operations that are not sent yet, at most one for each item."""

    def __init__(self) -> None:
        self._pending: dict[str, tuple[Entry, list[str] | None]] = {}
        """Items by key, with the text to append; None if the whole item is sent."""

    def put(self, entry: Entry) -> None:
        """Send the whole item."""
        self._pending[entry.item["key"]] = (entry, None)

    def append(self, entry: WordsEntry | CallEntry, text: str) -> None:
        """Send a text that was appended to the item."""
        _, pieces = self._pending.setdefault(entry.item["key"], (entry, []))
        if pieces is not None:
            pieces.append(text)

    def clear(self) -> None:
        """Drop all operations."""
        self._pending.clear()

    def take(self) -> list[wire.PutOut | wire.AppendOut]:
        """Return the operations in order, and drop them."""
        taken = [_operation(entry, pieces) for entry, pieces in self._pending.values()]
        self._pending.clear()
        return taken


def _operation(entry: Entry, pieces: Iterable[str] | None) -> wire.PutOut | wire.AppendOut:
    if pieces is None:
        return put_of(entry.out(), entry.parent)
    text = "".join(pieces)
    if isinstance(entry, CallEntry):
        return {"op": "append", "key": entry.item["key"], "field": "output", "text": text[-MAX_OUTPUT_CHARS:]}
    return {"op": "append", "key": entry.item["key"], "field": "text", "text": text}


def put_of(item: wire.AnyItem, parent: str | None = None) -> wire.PutOut:
    """Return the operation that adds or replaces an item."""
    return {"op": "put", "item": item} if parent is None else {"op": "put", "item": item, "parent": parent}
