"""Windows that come back: the server of a client that was lost goes on with its turns, and waits a while for it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pygent_ls.editors.lsp.server import PygentServer
from pygent_ls.editors.lsp.stdio import BrokenFrame, Message

log = logging.getLogger(__name__)

MAX_WAITING = 64
"""Servers that wait for their windows: as many as there may be clients."""

MAX_ID_CHARS = 200
"""Of a window's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Who comes back."""

    id: str
    """The client's own name for it, the same before and after."""
    says: str
    """What it is and can do, and where: a window that comes back as something else begins anew."""


def window_of(given: Message) -> Window | None:
    """The window that an `initialize` request names; None for any other message, and where none is named."""
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
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):  # the endpoint says what is wrong
        return None
    if not isinstance(window_id, str) or not 0 < len(window_id) <= MAX_ID_CHARS:
        return None
    return Window(id=window_id, says=says)


def _first_folder(params: Mapping[str, Any]) -> object:
    """Where relative paths lead and commands begin: a turn does not go on in another folder than it began in."""
    folders = params.get("workspaceFolders")
    return str(folders[0]["uri"]) if folders else params.get("rootUri") or params.get("rootPath")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    window: Window
    server: PygentServer
    timer: asyncio.TimerHandle


class WaitingServers:
    """Those whose windows are away. It owns the tasks in which they end."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def keep(self, window: Window, server: PygentServer, linger_s: float) -> None:
        """Wait so long for the window; when it is late its turns are cancelled."""
        self._give_up(window.id)
        if len(self._waiting) >= MAX_WAITING:
            self._give_up(next(iter(self._waiting)))
        timer = asyncio.get_running_loop().call_later(linger_s, self._give_up, window.id)
        self._waiting[window.id] = _Waiting(window=window, server=server, timer=timer)
        log.info("a client disconnected; its turns continue for %g s", linger_s)

    def take(self, window: Window) -> PygentServer | None:
        """The server that waits for it."""
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
        """End all of them, and wait for it."""
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
