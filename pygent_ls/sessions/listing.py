"""All sessions, those in memory and those that are kept: lists of them, page by page, and what was said in them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pygent_ls.errors import SessionError
from pygent_ls.sessions.index.asking import Found, search, sessions_with
from pygent_ls.sessions.index.entries import Entry
from pygent_ls.sessions.index.index import Index
from pygent_ls.sessions.index.sources import FolderSource, MemorySource
from pygent_ls.sessions.index.tables import Tables, Wanted
from pygent_ls.sessions.index.words import folded, query_of, squeezed
from pygent_ls.sessions.journal.files import MemoryJournal
from pygent_ls.sessions.journal.folder import JournalFolder

if TYPE_CHECKING:
    from pygent_ls.sessions.session import Session

T = TypeVar("T")

INDEX = "index.sqlite3"
"""The index's file, beside the journals."""

_CURSOR = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z [A-Za-z0-9_-]+")
"""The place of the last session of a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions a list shall have."""

    query: str | None = None
    """Looked for in the name, and in the conversation as words."""
    folder: Path | None = None
    """The working directory."""
    cursor: str | None = None
    """What the page before this one came with."""
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of a list; with `cursor` one asks for what follows, None where nothing does."""

    sessions: Sequence[Entry]
    cursor: str | None


class Listing:
    """Lists and searches all sessions of a folder of journals, and those in memory, which may be kept there or not.

    What is told of a session in memory is what it is now. A session that is used while somebody goes through the pages
    goes to the front: those behind keep their places, so none of them comes twice or is left out.
    """

    def __init__(self, live: Mapping[str, Session]) -> None:
        """`live` are those in memory by their ids, which may change."""
        self._live = live
        self._kept: tuple[FolderSource, Index] | None = None
        self._unkept = Index(None)
        self._read_to: dict[str, int] = {}
        """How far the journals were read of the sessions in memory alone."""

    def keep_in(self, journals: JournalFolder) -> None:
        """Find those that are kept there, too."""
        if self._kept is None:
            self._kept = FolderSource(journals), Index(journals.root / INDEX)

    async def page(self, wanted: SessionFilter) -> Page:
        """The sessions that are wanted, the last one used first. Raises `SessionError` (`invalid_cursor`)."""
        if wanted.cursor is not None and _CURSOR.fullmatch(wanted.cursor) is None:
            raise SessionError("cursor: it is none that a list came with (`nextCursor`).", kind="invalid_cursor")
        query = (wanted.query or "").strip()
        live = {session_id: Entry.of(session) for session_id, session in self._live.items()}
        kept, with_query = await self._kept_entries(wanted, query, set(live))
        if query:
            with_query |= await self._unkept_with(query)
        named = squeezed(folded(query))
        fits = [
            each
            for each in live.values()
            if (wanted.folder is None or each.working_directory == wanted.folder)
            and (wanted.cursor is None or each.place < wanted.cursor)
            and (not query or each.id in with_query or named in folded(each.name))
        ]
        entries = sorted([*kept, *fits], key=lambda each: each.place, reverse=True)
        shown = entries[: wanted.limit]
        return Page(sessions=shown, cursor=shown[-1].place if len(entries) > wanted.limit else None)

    async def search(self, query: str, limit: int) -> list[Found]:
        """The turns that hold each word, with their sessions; the best first."""

        def question(tables: Tables) -> list[Found]:
            return search(tables, query_of(query), limit)

        found = list(await self._ask_unkept(question, []))
        if self._kept is not None:
            source, index = self._kept
            found += await index.ask(source, question)
        found.sort(key=lambda each: -each.score)
        return found[:limit]

    async def close(self) -> None:
        """Nothing is asked any more; whoever waits for an answer gets none."""
        kept = () if self._kept is None else (self._kept[1],)
        await asyncio.gather(*(index.close() for index in (*kept, self._unkept)))

    async def _kept_entries(self, wanted: SessionFilter, query: str, live: set[str]) -> tuple[list[Entry], set[str]]:
        """Those that are kept and not in memory, one more than are wanted; and which in memory hold the query."""
        if self._kept is None:
            return [], set()

        def question(tables: Tables) -> tuple[list[Entry], set[str]]:
            among = sessions_with(tables, query_of(query), query) if query else None
            entries = tables.entries(
                Wanted(limit=wanted.limit + 1, folder=wanted.folder, before=wanted.cursor, without=live, among=among)
            )
            return entries, live & tables.ids(among or ())

        source, index = self._kept
        return await index.ask(source, question)

    async def _unkept_with(self, query: str) -> set[str]:
        """The sessions in memory alone that hold the query."""
        return await self._ask_unkept(lambda tables: tables.ids(sessions_with(tables, query_of(query), query)), set())

    async def _ask_unkept(self, question: Callable[[Tables], T], nothing: T) -> T:
        journals = {
            session_id: session.journal
            for session_id, session in self._live.items()
            if isinstance(session.journal, MemoryJournal)
        }
        if not journals:
            return nothing
        source = MemorySource(journals, self._read_to)
        sizes = {session_id: stamp.size for session_id, stamp in source.stamps().items()}
        try:
            answer = await self._unkept.ask(source, question)
        except BaseException:
            self._read_to = {}  # it is not known what was taken in
            raise
        self._read_to = sizes
        return answer
