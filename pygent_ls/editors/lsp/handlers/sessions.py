"""Handlers of the requests about sessions, and of completion."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pygent_ls.editors.lsp.protocol.conversion import session_out
from pygent_ls.editors.lsp.rpc.errors import InvalidParamsError
from pygent_ls.sessions.completion import Completions, Item
from pygent_ls.sessions.configuration import Configured, configure
from pygent_ls.sessions.index.session_list import SessionFilter
from pygent_ls.sessions.saved_format.writer import message_out
from pygent_ls.sessions.session import Session
from pygent_ls.workspace.git.session_worktrees import folder_of_worktrees

if TYPE_CHECKING:
    from pygent_ls.editors.lsp.capabilities import Encoding
    from pygent_ls.editors.lsp.protocol.content import MessageOut
    from pygent_ls.editors.lsp.protocol.sessions import (
        ClosedOut,
        CompactionOut,
        CompleteParams,
        CompletionItemOut,
        CompletionOut,
        DeletedOut,
        ExportOut,
        LoadedSessionOut,
        MatchesOut,
        SessionCompactParams,
        SessionConfigureParams,
        SessionExportParams,
        SessionForkParams,
        SessionListParams,
        SessionLoadParams,
        SessionOut,
        SessionParams,
        SessionRenameParams,
        SessionSearchParams,
        SessionsOut,
    )
    from pygent_ls.sessions.store import Sessions

CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}
"""Units of an offset: a codec, and the bytes per unit."""


class SessionRequests:
    """Lists, shows and changes sessions. Errors are `SessionError` and `ModelError`."""

    def __init__(self, encoding: Encoding, sessions: Sessions) -> None:
        self._encoding: Encoding = encoding
        self._sessions = sessions
        self._completions = Completions()

    async def list_some(self, params: SessionListParams) -> SessionsOut:
        """Handle `pygent/session/list`."""
        page = await self._sessions.page(await asyncio.to_thread(_filter, params))
        out: SessionsOut = {"sessions": [session_out(each) for each in page.sessions]}
        if page.cursor is not None:
            out["nextCursor"] = page.cursor
        return out

    async def search(self, params: SessionSearchParams) -> MatchesOut:
        """Handle `pygent/session/search`."""
        return {
            "matches": [
                {
                    "sessionId": found.session_id,
                    "name": found.name,
                    "turnId": found.turn_id,
                    "snippet": found.snippet,
                    "score": found.score,
                }
                for found in await self._sessions.search(params.query, params.limit)
            ]
        }

    async def load(self, params: SessionLoadParams) -> LoadedSessionOut:
        """Handle `pygent/session/load`."""
        session = await self._sessions.look_at(params.session_id)
        wanted = session.messages if params.messages else ()
        messages = [cast("MessageOut", message_out(each)) for each in wanted]
        turn_ids = list(dict.fromkeys(each.turn_id for each in session.messages))
        notices = [] if isinstance(session, Session) else [*session.notices]
        return {**session_out(session), "messages": messages, "turnIds": turn_ids, "notices": notices}

    async def rename(self, params: SessionRenameParams) -> SessionOut:
        """Handle `pygent/session/rename`."""
        session = await self._sessions.hold(params.session_id)
        session.rename(params.name)
        return session_out(session)

    async def delete(self, params: SessionParams) -> DeletedOut:
        """Handle `pygent/session/delete`."""
        await self._sessions.delete(params.session_id)
        return {"deleted": True}

    async def fork(self, params: SessionForkParams) -> SessionOut:
        """Handle `pygent/session/fork`."""
        return session_out(await self._sessions.fork(params.session_id, params.at_turn_id))

    async def export(self, params: SessionExportParams) -> ExportOut:
        """Handle `pygent/session/export`."""
        return {"content": await self._sessions.export(params.session_id, params.format)}

    async def configure(self, params: SessionConfigureParams) -> SessionOut:
        """Handle `pygent/session/configure`."""
        session = await self._sessions.hold(params.session_id)
        wanted = Configured(
            agent=params.agent,
            model=params.model,
            mode=params.mode,
            max_thinking_tokens=params.max_thinking_tokens,
            effort=params.effort,
            context_mode=params.context_mode,
        )
        configure(session, wanted)
        return session_out(session)

    async def compact(self, params: SessionCompactParams) -> CompactionOut:
        """Handle `pygent/session/compact`."""
        done = await (await self._sessions.hold(params.session_id)).compact(params.instruction)
        return {
            "tokensBefore": done.tokens_before,
            "tokensAfter": done.tokens_after,
            "messagesSummarised": done.messages_summarised,
        }

    async def clear(self, params: SessionParams) -> SessionOut:
        """Handle `pygent/session/clear`."""
        session = await self._sessions.hold(params.session_id)
        session.clear()
        return session_out(session)

    async def close(self, params: SessionParams) -> ClosedOut:
        """Handle `pygent/session/close`."""
        await self._sessions.close_one(params.session_id)
        return {"closed": True}

    async def complete(self, params: CompleteParams) -> CompletionOut:
        """Handle `pygent/complete`."""
        sessions = self._sessions
        session = sessions.draft() if params.session_id is None else await sessions.hold(params.session_id)
        codec, n_bytes = CODECS[self._encoding]
        text = params.text.encode(codec)[: params.offset * n_bytes].decode(codec, "ignore")
        found = await self._completions.complete(text, sessions.commands, session)
        start = len(text[: found.start].encode(codec)) // n_bytes
        return {"items": [_item(each) for each in found.items], "start": start}


def _item(item: Item) -> CompletionItemOut:
    out: CompletionItemOut = {"label": item.label, "insertText": item.insert_text, "kind": item.kind}
    if item.detail:
        out["detail"] = item.detail
    return out


def _filter(params: SessionListParams) -> SessionFilter:
    folder = None if params.cwd is None else _folder(params.cwd)
    worktrees = None if folder is None else folder_of_worktrees(folder)
    return SessionFilter(
        query=params.query, folder=folder, worktrees=worktrees, cursor=params.cursor, limit=params.limit
    )


def _folder(cwd: str) -> Path:
    """Return the absolute folder, which need not exist. Raises `InvalidParamsError`."""
    problem = InvalidParamsError(f"cwd: {cwd!r} is not the absolute path of a folder")
    try:
        if Path(cwd).is_absolute():
            return Path(cwd).resolve()
    except (ValueError, RuntimeError):  # an invalid path, or a cycle of links
        raise problem from None
    raise problem
