"""An index over a folder of journals, for tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pygent_ls.sessions.index.database import Connect, connect
from pygent_ls.sessions.index.entries import SessionEntry
from pygent_ls.sessions.index.index import Index
from pygent_ls.sessions.index.query import query_of
from pygent_ls.sessions.index.search import search, sessions_with
from pygent_ls.sessions.index.sources import FolderSource, Source
from pygent_ls.sessions.index.tables import EntryFilter
from pygent_ls.sessions.journal.folder import JournalFolder
from tests.fakes import bounded


class Indexed:
    """A folder of journals and the index of a daemon."""

    def __init__(self, folder: Path, connect: Connect = connect) -> None:
        self.journals = JournalFolder(folder)
        self.source: Source = FolderSource(self.journals)
        self.index = Index(folder / "index.sqlite3", connect=connect)

    async def listed(self) -> dict[str, SessionEntry]:
        """All sessions by their ids, the last one used first."""
        entries = await bounded(self.index.ask(self.source, lambda tables: tables.entries(EntryFilter(limit=100))))
        return {each.id: each for each in entries}

    async def found(self, query: str, limit: int = 20) -> list[tuple[str, str]]:
        """Session and turn of what is found, the best first."""
        hits = await bounded(self.index.ask(self.source, lambda tables: search(tables, query_of(query), limit)))
        return [(each.session_id, each.turn_id) for each in hits]

    async def sessions_with(self, query: str) -> set[str]:
        """The sessions that a list with that query has."""
        entries = await bounded(
            self.index.ask(
                self.source,
                lambda tables: tables.entries(
                    EntryFilter(limit=100, among=sessions_with(tables, query_of(query), query))
                ),
            )
        )
        return {each.id for each in entries}


@asynccontextmanager
async def indexed(folder: Path, connect: Connect = connect) -> AsyncGenerator[Indexed]:
    """Such a daemon, to its end."""
    made = Indexed(folder, connect)
    try:
        yield made
    finally:
        await bounded(made.index.close())
