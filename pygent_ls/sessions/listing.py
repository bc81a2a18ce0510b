"""All sessions, those in memory and those that are kept: lists of them, page by page, and what was said in them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pygent_ls.errors import SessionError
from pygent_ls.sessions.index.entries import Entry
from pygent_ls.sessions.journal.files import MemoryJournal
from pygent_ls.sessions.journal.folder import JournalFolder

if TYPE_CHECKING:  # the index comes with the first list: a turn does not wait for it
    from pygent_ls.sessions.index.asking import Found
    from pygent_ls.sessions.index.index import Index
    from pygent_ls.sessions.index.sources import FolderSource
    from pygent_ls.sessions.index.tables import Tables
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
    used: bool = False
    """Whether those that are not in memory shall be used (see `Entry`)."""


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
        self._journals: JournalFolder | None = None
        self._kept: tuple[FolderSource, Index] | None = None
        self._unkept: Index | None = None
        self._read_to: dict[str, int] = {}
        """How far the journals were read of the sessions in memory alone."""

    def keep_in(self, journals: JournalFolder) -> None:
        """Find those that are kept there, too."""
        if self._journals is None:
            self._journals = journals

    async def page(self, wanted: SessionFilter) -> Page:
        """The sessions that are wanted, the last one used first. Raises `SessionError` (`invalid_cursor`)."""
        if wanted.cursor is not None and _CURSOR.fullmatch(wanted.cursor) is None:
            raise SessionError("cursor: not a `nextCursor` returned by a list.", kind="invalid_cursor")
        from pygent_ls.sessions.index.words import folded, squeezed

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
        from pygent_ls.sessions.index.asking import search
        from pygent_ls.sessions.index.words import query_of

        def question(tables: Tables) -> list[Found]:
            return search(tables, query_of(query), limit)

        found = list(await self._ask_unkept(question, []))
        if kept := self._kept_index():
            source, index = kept
            found += await index.ask(source, question)
        found.sort(key=lambda each: -each.score)
        return found[:limit]

    async def close(self) -> None:
        """Nothing is asked any more; whoever waits for an answer gets none."""
        indexes = (self._kept[1] if self._kept else None, self._unkept)
        self._journals = None
        await asyncio.gather(*(index.close() for index in indexes if index))

    def _kept_index(self) -> tuple[FolderSource, Index] | None:
        """Of those that are kept; None where none are."""
        from pygent_ls.sessions.index.index import Index
        from pygent_ls.sessions.index.sources import FolderSource

        if self._kept is None and self._journals is not None:
            self._kept = FolderSource(self._journals), Index(self._journals.root / INDEX)
        return self._kept

    async def _kept_entries(self, wanted: SessionFilter, query: str, live: set[str]) -> tuple[list[Entry], set[str]]:
        """Those that are kept and not in memory, one more than are wanted; and which in memory hold the query."""
        from pygent_ls.sessions.index.asking import sessions_with
        from pygent_ls.sessions.index.tables import Wanted
        from pygent_ls.sessions.index.words import query_of

        kept = self._kept_index()
        if kept is None:
            return [], set()

        def question(tables: Tables) -> tuple[list[Entry], set[str]]:
            among = sessions_with(tables, query_of(query), query) if query else None
            entries = tables.entries(
                Wanted(
                    limit=wanted.limit + 1,
                    folder=wanted.folder,
                    before=wanted.cursor,
                    without=live,
                    among=among,
                    used=wanted.used,
                )
            )
            return entries, live & tables.ids(among or ())

        source, index = kept
        return await index.ask(source, question)

    async def _unkept_with(self, query: str) -> set[str]:
        """The sessions in memory alone that hold the query."""
        from pygent_ls.sessions.index.asking import sessions_with
        from pygent_ls.sessions.index.words import query_of

        return await self._ask_unkept(lambda tables: tables.ids(sessions_with(tables, query_of(query), query)), set())

    async def _ask_unkept(self, question: Callable[[Tables], T], nothing: T) -> T:
        journals = {
            session_id: session.journal
            for session_id, session in self._live.items()
            if isinstance(session.journal, MemoryJournal)
        }
        if not journals:
            return nothing
        from pygent_ls.sessions.index.index import Index
        from pygent_ls.sessions.index.sources import MemorySource

        if self._unkept is None:
            self._unkept = Index(None)
        source = MemorySource(journals, self._read_to)
        sizes = {session_id: stamp.size for session_id, stamp in source.stamps().items()}
        try:
            answer = await self._unkept.ask(source, question)
        except BaseException:
            self._read_to = {}  # it is not known what was taken in
            raise
        self._read_to = sizes
        return answer
