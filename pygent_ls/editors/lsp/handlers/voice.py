"""Handlers of the requests about voice input, and its notifications."""

from __future__ import annotations

from pygent_ls.editors.lsp.protocol.shapes import NoParams
from pygent_ls.editors.lsp.protocol.voice import VoiceStartParams, VoiceStatusOut, VoiceUpdateOut
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.ports import Core
from pygent_ls.extensions.voice import Heard, VoiceStatus


class VoiceNotifications:
    """Tells a client what is heard: one with a chat panel, or one that has started voice input by request."""

    def __init__(self, endpoint: RpcEndpoint, *, is_wanted: bool) -> None:
        self._endpoint = endpoint
        self.are_wanted = is_wanted
        """Whether the client shows voice input itself, and so follows the session."""

    def heard(self, heard: Heard) -> None:
        """Send `pygent/voice/update`."""
        if self.are_wanted:
            update: VoiceUpdateOut = {"sessionId": heard.session_id, "text": heard.text, "final": heard.is_final}
            self._endpoint.tell("pygent/voice/update", update)

    def changed(self, status: VoiceStatus) -> None:
        """Send `pygent/voice/changed`."""
        if self.are_wanted:
            self._endpoint.tell("pygent/voice/changed", _status_out(status))


class VoiceRequests:
    """Answers the `pygent/voice/*` requests of one client."""

    def __init__(self, core: Core, notifications: VoiceNotifications) -> None:
        self._core = core
        self._notifications = notifications

    async def start(self, params: VoiceStartParams) -> VoiceStatusOut:
        """Handle `pygent/voice/start`. Raises `SessionError`, `ToolError`."""
        session = await self._core.sessions.hold(params.session_id)
        self._notifications.are_wanted = True
        return _status_out(await self._core.voice.start(session.id, params.source))

    def status(self, _: NoParams) -> VoiceStatusOut:
        """Handle `pygent/voice/status`."""
        return _status_out(self._core.voice.status)

    async def stop(self, _: NoParams) -> VoiceStatusOut:
        """Handle `pygent/voice/stop`."""
        return _status_out(await self._core.voice.stop())


def _status_out(status: VoiceStatus) -> VoiceStatusOut:
    told: VoiceStatusOut = {
        "state": status.state,
        "sessionId": status.session_id or None,
        "source": status.source,
        "server": status.server or None,
        "text": status.text,
    }
    if status.problem:
        told["error"] = status.problem
    return told
