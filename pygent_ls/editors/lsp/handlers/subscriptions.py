"""`pygent/session/attach`: streams the events of a session to one more view."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pygent_ls.editors.lsp.conversation.earlier_messages import earlier_items
from pygent_ls.editors.lsp.conversation.reducer import ConversationReducer
from pygent_ls.editors.lsp.handlers.turns import REQUEST_CANCELLED
from pygent_ls.editors.lsp.ports.progress import TurnProgress
from pygent_ls.editors.lsp.rpc.errors import JsonRpcError

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.client import Client
    from pygent_ls.editors.lsp.protocol.sessions import AttachedOut, DetachedOut, SessionAttachParams
    from pygent_ls.sessions.store import Sessions


class Attachments:
    """The event streams that one client has attached to; they end with the client."""

    def __init__(self, client: Client, sessions: Sessions) -> None:
        self._client = client
        self._sessions = sessions
        self._running: set[asyncio.Task[Any]] = set()

    async def attach(self, params: SessionAttachParams) -> AttachedOut:
        """Stream events until the session ends. Raises `SessionError`, and `JsonRpcError` when the request is
        cancelled."""
        from pygent_ls.sessions.subscriptions import Attachment  # imports the journal reader

        view = TurnProgress(
            endpoint=self._client.endpoint,
            line=self._client.line,
            uri_of=self._client.uri_of,
            events_token=params.partial_result_token,
            work_token=None,
        )
        recap = None
        if params.as_ == "items":
            reducer = ConversationReducer(self._client.uri_of)
            view.value_of, recap = reducer.after, reducer.skip
        attachment = Attachment(self._sessions, params.session_id, params.since_seq, view, recap)
        self._client.endpoint.come_back()  # a client that attaches can show prompts
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            if params.as_ == "items" and params.since_seq == 0:
                await self._tell_earlier(params, view)
            done = await attachment.follow()
        except asyncio.CancelledError:
            data: DetachedOut = {
                "sessionId": params.session_id,
                "lastSeq": attachment.last_seq,
            }
            raise JsonRpcError("no longer attached", REQUEST_CANCELLED, data) from None
        finally:
            self._running.discard(task)
        return {"sessionId": params.session_id, "lastSeq": done.last_seq, "ended": done.ended}

    async def _tell_earlier(self, params: SessionAttachParams, view: TurnProgress) -> None:
        """Send what was said before the session's first event."""
        session = await self._sessions.look_at(params.session_id)
        for changes in earlier_items(session.messages, session.turn_ids):
            self._client.endpoint.tell("$/progress", {"token": params.partial_result_token, "value": changes})
            await view.drained()

    def end(self) -> None:
        """Start to end all attachments."""
        for task in self._running:
            task.cancel()

    async def close(self) -> None:
        """End all attachments and wait for them."""
        running = list(self._running)
        self.end()
        await asyncio.gather(*running, return_exceptions=True)
