"""A session as a text for others: to read, or to load again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from pygent_ls.agent.conversation_text import conversation_text
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.extensions.session_files import SavedSession, saved_text, settled
from pygent_ls.sessions.journal.changes import Changes, changes_told
from pygent_ls.sessions.journal.files import Piece, lines_of

ExportFormat = Literal["markdown", "json", "xml", "plain", "html"]


class Exportable(Protocol):
    """What is written of a session."""

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
        """The conversation."""
        ...

    @property
    def usage(self) -> Usage:
        """Of all turns."""
        ...


async def export(session: Exportable, form: ExportFormat, read: Callable[[int], Piece] | None) -> str:
    """The session in that form, as `exported` has it, made beside the event loop.

    `read` reads its journal (see `Journal.read`), which is done only where it is needed; without it, and where it
    cannot be read, changes of files are not shown.
    """
    return await asyncio.to_thread(_exported, saved(session), form, read)


def _exported(session: SavedSession, form: ExportFormat, read: Callable[[int], Piece] | None) -> str:
    changes: Changes = {}
    if form == "html" and read is not None:
        with contextlib.suppress(OSError):
            changes = changes_told(lines_of(read))
    return exported(session, form, changes)


def saved(session: Exportable) -> SavedSession:
    """The session as it is this moment."""
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
    """The session in that form: `json` is the file that `/load` takes, `html` a page for a browser with the changes
    that its calls made, the others are the conversation alone. Pure.

    A call of a turn that runs, which has no result yet, is left out of what can be loaded.
    """
    match form:
        case "html":
            from pygent_ls.sessions.html_page import html_page

            return html_page(session, changes or {})
        case "json":
            return saved_text(replace(session, messages=settled(session.messages)))
        case "markdown" | "plain" | "xml":
            return conversation_text(session.messages, form)
