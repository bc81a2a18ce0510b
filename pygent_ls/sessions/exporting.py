"""A session as a text for others: to read, or to load again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from pygent_ls.agent.conversation_text import conversation_text
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.extensions.session_files import SavedSession, saved_text, settled
from pygent_ls.sessions.html_page import html_page

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


def exported(session: Exportable, form: ExportFormat) -> str:
    """The session in that form: `json` is the file that `/load` takes, `html` a page for a browser, the others are
    the conversation alone.

    A call of a turn that runs, which has no result yet, is left out of what can be loaded.
    """
    if form == "html":
        return html_page(session.name, session.messages)
    if form != "json":
        return conversation_text(session.messages, form)
    saved = SavedSession(
        id=session.id,
        name=session.name,
        created=session.created_at,
        updated=session.updated_at,
        working_directory=str(session.working_directory),
        agent=session.agent,
        model=session.model,
        messages=settled(session.messages),
        usage=session.usage,
    )
    return saved_text(saved)
