"""A client of `as: "items"` in full: it can put and append, and knows nothing of events."""

from __future__ import annotations

import copy
from typing import Any

MAX_OUTPUT_CHARS = 20_000


class ItemsClient:
    """Applies the changes of a conversation."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.children: dict[str | None, list[str]] = {None: []}
        self.turns: dict[str, Any] = {}
        self.queue: list[Any] = []
        self.running: str | None = None
        self.seq = 0

    def take(self, changes: Any) -> None:
        """Apply one `value`."""
        for each in copy.deepcopy(changes["items"]):
            if each["op"] == "put":
                key = each["item"]["key"]
                if key not in self.items:
                    self.children[each.get("parent")].append(key)
                    self.children[key] = []
                self.items[key] = each["item"]
            else:
                item, field = self.items[each["key"]], each["field"]
                item[field] = item[field] + each["text"]
                if field == "output":
                    item[field] = item[field][-MAX_OUTPUT_CHARS:]
        self.turns |= {each["turnId"]: each for each in changes.get("turns", ())}
        self.queue = changes.get("queue", self.queue)
        self.running, self.seq = changes["runningTurnId"], changes["seq"]

    def below(self, key: str | None = None) -> list[dict[str, Any]]:
        """The items below a call, or at the top."""
        return [self.items[each] for each in self.children[key]]

    @property
    def shown(self) -> object:
        """All that a view would show."""
        return self.items, self.children, self.turns, self.queue, self.running, self.seq
