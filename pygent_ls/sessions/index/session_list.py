"""Lists of all sessions, in memory and on the disk, page by page, and search in their conversations."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

from pygent_ls.errors import SessionError
from pygent_ls.sessions.index.entries import Listable, SessionEntry
from pygent_ls.sessions.journal.files import Journal, MemoryJournal
from pygent_ls.sessions.journal.folder import JournalFolder

if TYPE_CHECKING:  # the index is imported with the first list, so that a turn does not wait for it
    from pygent_ls.sessions.index.index import Index
    from pygent_ls.sessions.index.search import FoundTurn
    from pygent_ls.sessions.index.sources import FolderSource
    from pygent_ls.sessions.index.tables import Tables

T = TypeVar("T")

INDEX = "index.sqlite3"
"""File name of the index, beside the journals."""

_CURSOR = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z [A-Za-z0-9_-]+")
"""A cursor is the sort key of the last session on a page."""


class SessionFilter(Struct, frozen=True, kw_only=True):
    """Filter of a session list."""

    query: str | None = None
    """Text searched in the name, and as words in the conversation."""
    folder: Path | None = None
    """Working directory of the sessions."""
    worktrees: Path | None = None
    """Folder of worktrees; the sessions in those are listed, too."""
    cursor: str | None = None
    """Cursor of the previous page."""
    limit: int = 100
    used: bool = False
    """Whether to list only used sessions, as `SessionEntry.is_used` defines them, among those not in memory."""

    def is_in_place(self, folder: Path) -> bool:
        """Whether the filter accepts that working directory."""
        is_in_worktree = self.worktrees is not None and folder.is_relative_to(self.worktrees)
        return self.folder is None or folder == self.folder or is_in_worktree


class Page(Struct, frozen=True, kw_only=True):
    """A part of a list. `cursor` requests the next page; None on the last page."""

    sessions: Sequence[SessionEntry]
    cursor: str | None


class LiveSession(Listable, Protocol):
    """Session in memory, with its journal."""

    @property
    def journal(self) -> Journal: ...


class SessionList:
    """Lists and searches the sessions in a folder of journals and those in memory, which may or may not be stored
    there.

    Entries of sessions in memory are current. A session that is used while a client pages through the list moves to the
    front. Those further back keep their places, so none of them occurs twice or is left out.
    """

    def __init__(self, live: Mapping[str, LiveSession]) -> None:
        """`live` is the mapping of sessions in memory by id, which may change."""
        self._live = live
        self._journals: JournalFolder | None = None
        self._kept: tuple[FolderSource, Index] | None = None
        self._unkept: Index | None = None
        self._read_to: dict[str, int] = {}
        """How far the journals of sessions that are only in memory were read."""

    def keep_in(self, journals: JournalFolder) -> None:
        """Also list the sessions stored there."""
        if self._journals is None:
            self._journals = journals

    async def page(self, wanted: SessionFilter) -> Page:
        """Return the matching sessions, the most recently used first. Raises `SessionError` (`invalid_cursor`)."""
        if wanted.cursor is not None and _CURSOR.fullmatch(wanted.cursor) is None:
            raise SessionError("cursor: not a `nextCursor` returned by a list.", kind="invalid_cursor")
        from pygent_ls.sessions.index.query import folded, squeezed

        query = (wanted.query or "").strip()
        live = {session_id: SessionEntry.of(session) for session_id, session in self._live.items()}
        kept, with_query = await self._kept_entries(wanted, query, set(live))
        if query:
            with_query |= await self._unkept_with(query)
        named = squeezed(folded(query))
        fits = [
            each
            for each in live.values()
            if wanted.is_in_place(each.working_directory)
            and (wanted.cursor is None or each.place < wanted.cursor)
            and (not query or each.id in with_query or named in folded(each.name))
        ]
        entries = sorted([*kept, *fits], key=lambda each: each.place, reverse=True)
        shown = entries[: wanted.limit]
        return Page(sessions=shown, cursor=shown[-1].place if len(entries) > wanted.limit else None)

    async def search(self, query: str, limit: int) -> list[FoundTurn]:
        """Return the turns that contain every word, with their sessions, the best match first."""
        from pygent_ls.sessions.index.query import query_of
        from pygent_ls.sessions.index.search import search

        def question(tables: Tables) -> list[FoundTurn]:
            return search(tables, query_of(query), limit)

        found = list(await self._ask_unkept(question, []))
        if kept := self._kept_index():
            source, index = kept
            found += await index.ask(source, question)
        found.sort(key=lambda each: -each.score)
        return found[:limit]

    async def close(self) -> None:
        """Stop answering. Pending requests get no answer."""
        indexes = (self._kept[1] if self._kept else None, self._unkept)
        self._journals = None
        await asyncio.gather(*(index.close() for index in indexes if index))

    def _kept_index(self) -> tuple[FolderSource, Index] | None:
        """Return the index of stored sessions; None if sessions are not stored."""
        from pygent_ls.sessions.index.index import Index
        from pygent_ls.sessions.index.sources import FolderSource

        if self._kept is None and self._journals is not None:
            self._kept = FolderSource(self._journals), Index(self._journals.root / INDEX)
        return self._kept

    async def _kept_entries(
        self, wanted: SessionFilter, query: str, live: set[str]
    ) -> tuple[list[SessionEntry], set[str]]:
        """Return the stored entries that are not in memory, up to one more than requested, and the ids of those in
        memory that match the query."""
        from pygent_ls.sessions.index.query import query_of
        from pygent_ls.sessions.index.search import sessions_with
        from pygent_ls.sessions.index.tables import EntryFilter

        kept = self._kept_index()
        if kept is None:
            return [], set()

        def question(tables: Tables) -> tuple[list[SessionEntry], set[str]]:
            among = sessions_with(tables, query_of(query), query) if query else None
            entries = tables.entries(
                EntryFilter(
                    limit=wanted.limit + 1,
                    folder=wanted.folder,
                    also_below=wanted.worktrees,
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
        """Return the ids of sessions only in memory that match the query."""
        from pygent_ls.sessions.index.query import query_of
        from pygent_ls.sessions.index.search import sessions_with

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
            self._read_to = {}  # it is unknown what was read
            raise
        self._read_to = sizes
        return answer
