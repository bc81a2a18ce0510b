"""Conversion of a growing conversation: a request repeats the messages of the one before, which are converted once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from pygent_ls.agent.messages import Message

Row = TypeVar("Row")

KEY = "conversion"


class Conversion(Generic[Row], Struct):
    """Rows that messages were converted to, and the ids under which their tool calls are sent."""

    messages: list[Message] = field(default_factory=list[Message])
    rows: list[Row] = field(default_factory=list[Any])
    ids: dict[str, str] = field(default_factory=dict[str, str])

    def copy(self) -> Conversion[Row]:
        """Return a copy that can be continued. Rows are shared, so they must not be changed."""
        return Conversion(list(self.messages), list(self.rows), dict(self.ids))


def converted(
    messages: Sequence[Message],
    add: Callable[[Message, Conversion[Row]], None],
    reuse: dict[str, Any] | None,
    key: Hashable,
) -> list[Row]:
    """Return the rows of a conversation; `add` appends those of one message.

    `reuse` is `ModelRequest.reuse`; None converts all messages. The rows of all messages but the last are kept there
    and used again for a conversation that begins with them, if `key` is equal. `key` is all that the conversion depends
    on besides the messages.
    """
    done = _beginning(messages, reuse or {}, key)
    for message in messages[len(done.messages) : -1]:
        add(message, done)
        done.messages.append(message)
    if reuse is not None:
        reuse[KEY] = (key, done.copy())
    for message in messages[len(done.messages) :]:
        add(message, done)
    return done.rows


def _beginning(messages: Sequence[Message], reuse: Mapping[str, Any], key: Hashable) -> Conversion[Any]:
    """Return a copy of what was kept, if the conversation begins with it; else an empty conversion."""
    kept: tuple[Hashable, Conversion[Any]] | None = reuse.get(KEY)
    if kept is None or kept[0] != key:
        return Conversion()
    n_kept = len(kept[1].messages)
    return kept[1].copy() if kept[1].messages == list(messages[:n_kept]) else Conversion()
