"""Export of a session as text, to read or to load again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from msgspec.structs import replace

from pygent_ls.agent.context.conversation_text import conversation_text
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.sessions.journal.changes import Changes, changes_told
from pygent_ls.sessions.journal.files import Piece, lines_of
from pygent_ls.sessions.saved_format.writer import SavedSession, saved_text, settled

ExportFormat = Literal["markdown", "json", "xml", "plain", "html"]


class Exportable(Protocol):
    """Parts of a session that are exported."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def working_directory(self) -> Path: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def updated_at(self) -> datetime: ...
    @property
    def messages(self) -> Sequence[Message]:
        """Messages of the conversation."""
        ...

    @property
    def usage(self) -> Usage:
        """Usage of all turns."""
        ...


async def export(session: Exportable, form: ExportFormat, read: Callable[[int], Piece] | None) -> str:
    """Return the session in that format, like `exported`, computed in a thread.

    `read` reads its journal like `Journal.read`, only if the format needs it. Without it, or if it fails, changes of
    files are not shown.
    """
    return await asyncio.to_thread(_exported, saved(session), form, read)


def _exported(session: SavedSession, form: ExportFormat, read: Callable[[int], Piece] | None) -> str:
    changes: Changes = {}
    if form == "html" and read is not None:
        with contextlib.suppress(OSError):
            changes = changes_told(lines_of(read))
    return exported(session, form, changes)


def saved(session: Exportable) -> SavedSession:
    """Return the session's current content."""
    return SavedSession(
        id=session.id,
        name=session.name,
        created=session.created_at,
        updated=session.updated_at,
        working_directory=str(session.working_directory),
        agent=session.agent,
        model=session.model,
        messages=tuple(session.messages),
        usage=session.usage,
    )


def exported(session: SavedSession, form: ExportFormat, changes: Changes | None = None) -> str:
    """Return the session in that format: `json` is the file that `/load` takes, `html` a page for a browser with the
    changes made by its calls; the others contain only the conversation. Pure.

    Calls without a result, from a running turn, are left out of `json`.
    """
    match form:
        case "html":
            from pygent_ls.sessions.export.html_page import html_page

            return html_page(session, changes or {})
        case "json":
            return saved_text(replace(session, messages=settled(session.messages)))
        case "markdown" | "plain" | "xml":
            return conversation_text(session.messages, form)
