"""Failures of the model that completes: told rarely, and never for each key."""

from __future__ import annotations

import asyncio
import logging

from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.standard import MessageType
from pygent_ls.errors import ModelError

log = logging.getLogger(__name__)

PAUSE_S = 30.0
"""Time after a failure in which the model is not asked, unless the user asks for it."""

QUIET_S = 600.0
"""Time after a message in which no other one is shown."""


class CompletionFailures:
    """Tells the user once of each failure, and at most once in a while, and leaves the model alone for a while."""

    def __init__(self, endpoint: RpcEndpoint) -> None:
        self._endpoint = endpoint
        self._paused_until_s = self._quiet_until_s = float("-inf")
        self._told: set[str] = set()

    @property
    def are_recent(self) -> bool:
        """Whether the model is left alone now."""
        return asyncio.get_running_loop().time() < self._paused_until_s

    def add(self, error: ModelError) -> None:
        """Note a failure."""
        now = asyncio.get_running_loop().time()
        self._paused_until_s = now + max(PAUSE_S, min(error.retry_after_s or 0.0, QUIET_S))
        log.warning("inline completion failed: %s", error)
        if error.message not in self._told and now >= self._quiet_until_s:
            self._told.add(error.message)
            self._quiet_until_s = now + QUIET_S
            self._endpoint.show_message(f"pygent: inline completion: {error.message}", MessageType.WARNING)
