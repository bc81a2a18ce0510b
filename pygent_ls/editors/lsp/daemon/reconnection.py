"""Reconnecting windows: the server of a lost client continues its turns and waits a while for its window."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from pygent_ls.editors.lsp.server import PygentServer
from pygent_ls.editors.lsp.transport.stdio import BrokenFrame, Message

log = logging.getLogger(__name__)

MAX_WAITING = 64
"""Maximum number of waiting servers, equal to the maximum number of clients."""

MAX_ID_CHARS = 200
"""Maximum length of a window id."""


class Window(Struct, frozen=True, kw_only=True):
    """Identity of a client's window."""

    id: str
    """The client's own id of the window, unchanged by a reconnection."""
    says: str
    """Capabilities, client, options and first folder, as JSON. A window that differs in them gets a new server."""


def window_of(given: Message) -> Window | None:
    """Return the window that an `initialize` request names; None for any other message, and without a window id."""
    if isinstance(given, BrokenFrame) or '"windowId"' not in given:
        return None
    try:
        message: Any = json.loads(given)
        if message["method"] != "initialize":
            return None
        params = cast("Mapping[str, Any]", message["params"])
        window_id: Any = params["capabilities"]["experimental"]["pygent"]["windowId"]
        parts = [params.get(name) for name in ("capabilities", "clientInfo", "initializationOptions")]
        says = json.dumps([*parts, _first_folder(params)], sort_keys=True)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):  # the endpoint reports the error
        return None
    if not isinstance(window_id, str) or not 0 < len(window_id) <= MAX_ID_CHARS:
        return None
    return Window(id=window_id, says=says)


def _first_folder(params: Mapping[str, Any]) -> object:
    """Return the folder for relative paths and commands: a turn must not continue in another folder."""
    folders = params.get("workspaceFolders")
    return str(folders[0]["uri"]) if folders else params.get("rootUri") or params.get("rootPath")


class _Waiting(Struct, frozen=True, kw_only=True):
    window: Window
    server: PygentServer
    timer: asyncio.TimerHandle


class WaitingServers:
    """Servers whose windows are disconnected. Owns the tasks that close them."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def keep(self, window: Window, server: PygentServer, linger_s: float) -> None:
        """Keep the server for `linger_s` seconds; after that, its turns are cancelled."""
        self._give_up(window.id)
        if len(self._waiting) >= MAX_WAITING:
            self._give_up(next(iter(self._waiting)))
        timer = asyncio.get_running_loop().call_later(linger_s, self._give_up, window.id)
        self._waiting[window.id] = _Waiting(window=window, server=server, timer=timer)
        log.info("a client disconnected; its turns continue for %g s", linger_s)

    def take(self, window: Window) -> PygentServer | None:
        """Remove and return the server that waits for the window."""
        waiting = self._waiting.get(window.id)
        if waiting is None:
            return None
        if waiting.window != window:
            self._give_up(window.id)
            return None
        waiting.timer.cancel()
        del self._waiting[window.id]
        log.info("a client reconnected")
        return waiting.server

    async def close(self) -> None:
        """Close all waiting servers."""
        for window_id in list(self._waiting):
            self._give_up(window_id)
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _give_up(self, window_id: str) -> None:
        waiting = self._waiting.pop(window_id, None)
        if waiting is not None:
            waiting.timer.cancel()
            task = asyncio.create_task(waiting.server.close())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
