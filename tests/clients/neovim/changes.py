"""Changes of a conversation, as the daemon makes them of events, and a plugin that takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pygent_ls.editors.lsp.conversation.reducer import ConversationReducer
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.rpc import Nvim
from tests.clients.neovim.stories import Event, numbered
from tests.editors.lsp.conversation.wire_events import session_event

TAKE = """
local session = require("pygent.sessions").current()
session:_take(..., session.conversation.last_seq)
"""
"""As if the daemon had told these, behind what is known."""


class Changes:
    """Makes changes of events."""

    def __init__(self) -> None:
        self._reducer = ConversationReducer(Path.as_uri)

    def of(self, events: Sequence[Event]) -> Any:
        """The changes that a client gets for these events, as Neovim decodes them."""
        return without_nulls(self._reducer.after([session_event(each) for each in events]))


def without_nulls(value: Any) -> Any:
    """The value as Neovim decodes it: without the fields of objects that are null."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}  # pyright: ignore[reportUnknownVariableType]
    return [without_nulls(each) for each in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


_told: WeakKeyDictionary[Nvim, Changes] = WeakKeyDictionary()


def take(editor: Editor, *told: Event) -> None:
    """Let the session of the editor have these events, behind those that it knows."""
    known = editor.lua("return require('pygent.sessions').current().conversation.last_seq")
    events = [{**each, "seq": known + each["seq"]} for each in numbered(*told)]
    editor.lua(TAKE, _told.setdefault(editor.nvim, Changes()).of(events))
