"""Tables of the index: a row for each session, and the words of its turns."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from pygent_ls.agent.context.conversation_text import utf8
from pygent_ls.sessions.index.entries import Change, CutAt, Facts, Put, SessionEntry
from pygent_ls.sessions.index.query import folded, indexed
from pygent_ls.sessions.index.rows import entry_in, entry_out, facts_in, facts_out, folder_out
from pygent_ls.sessions.index.sources import Stamp

if TYPE_CHECKING:  # imported with the first use of the index
    import sqlite3

VERSION = f"1 {unicodedata.unidata_version}"
"""Version of the tables and their contents. It includes that of Unicode, whose rules determine the words."""

TABLES = (
    "CREATE TABLE version(version TEXT)",
    """CREATE TABLE sessions(
        number INTEGER PRIMARY KEY, id TEXT UNIQUE,
        size INTEGER, mtime_ns INTEGER, inode TEXT, read_to INTEGER, tail BLOB,
        facts TEXT, is_open INTEGER, closed_at INTEGER,
        place TEXT, folder TEXT, name TEXT, entry TEXT)""",
    "CREATE INDEX by_place ON sessions(place)",
    "CREATE TABLE turns(number INTEGER PRIMARY KEY, session INTEGER, id TEXT)",
    "CREATE UNIQUE INDEX turns_of ON turns(session, id)",
    "CREATE TABLE messages(turn INTEGER, place INTEGER, text TEXT)",
    "CREATE UNIQUE INDEX messages_of ON messages(turn, place)",
)
"""`is_open` is 1 if a session's entry needs the whole journal, once no daemon owns the session; `closed_at` is the
journal size for which `entry` was computed that way. `place`, `folder`, `name` (folded) and `entry` are NULL if a
session is unreadable."""

WORDS = "CREATE VIRTUAL TABLE words USING fts5(text, whole, content='', tokenize='ascii')"
"""`rowid` is the turn's number. The text itself is in `messages`."""

NO_PLACE = 2**62
"""Last position in a conversation. A damaged journal may contain higher ones."""


class EntryFilter(Struct, frozen=True, kw_only=True):
    """Filter and maximum number of listed entries."""

    limit: int
    folder: Path | None = None
    also_below: Path | None = None
    """Folder below which all are listed, too."""
    before: str | None = None
    """Only entries after this place in the list."""
    without: Collection[str] = ()
    """Session ids to leave out."""
    among: Collection[int] | None = None
    """Only entries with these numbers; None for all."""
    used: bool = False
    """Whether to list only sessions with `SessionEntry.is_used`."""


class Mark(NamedTuple):
    """How far a journal was read."""

    number: int
    stamp: Stamp
    read_to: int
    tail: bytes
    is_open: bool
    closed_at: int


class Tables:
    """Tables in a database that has no other user at the same time. All methods block and raise `sqlite3.Error`."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        self.ask = database.execute
        self.has_words = False

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def are_current(self) -> bool:
        """Whether the tables exist in the current version."""
        if self.ask("SELECT 1 FROM sqlite_master WHERE name = 'version'").fetchone() is None:
            return False
        row = self.ask("SELECT version FROM version").fetchone()
        self.has_words = self.ask("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone() is not None
        return self.has_words and row is not None and row[0] == VERSION

    def make(self, *, with_words: bool = True) -> None:
        """Create the tables in an empty database. Without FTS5, `words` cannot be created."""
        self.begin()
        for each in TABLES:
            self.ask(each)
        if with_words:
            self.ask(WORDS)
        self.ask("INSERT INTO version VALUES (?)", (VERSION,))
        self.commit()
        self.has_words = with_words

    def begin(self) -> None:
        """Begin a transaction, unless one is open."""
        if not self.database.in_transaction:
            self.ask("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit the transaction, if one is open."""
        if self.database.in_transaction:
            self.ask("COMMIT")

    # Reading state

    def marks(self) -> dict[str, Mark]:
        """Return how far each journal was read, by session id."""
        rows = self.ask("SELECT id, number, size, mtime_ns, inode, read_to, tail, is_open, closed_at FROM sessions")
        return {
            row[0]: Mark(row[1], Stamp(row[2], row[3], int(row[4])), row[5], row[6], bool(row[7]), row[8])
            for row in rows
        }

    def facts(self, number: int) -> Facts:
        """Return what is known of a session."""
        ((text,),) = self.ask("SELECT facts FROM sessions WHERE number = ?", (number,))
        return facts_in(text)

    def add(self, session_id: str, stamp: Stamp) -> Mark:
        """Insert a row for a session of which nothing was read yet."""
        number = self.ask("INSERT INTO sessions(id, facts) VALUES (?, ?)", (session_id, facts_out(Facts()))).lastrowid
        assert number is not None
        return Mark(number, stamp, 0, b"", is_open=False, closed_at=-1)

    def forget(self, number: int) -> None:
        """Delete a session that is gone or must be read again."""
        self.change(number, [CutAt(0)])
        self.ask("DELETE FROM sessions WHERE number = ?", (number,))

    def learn(self, number: int, facts: Facts) -> None:
        """Store what is known of a session."""
        self.ask("UPDATE sessions SET facts = ? WHERE number = ?", (facts_out(facts), number))

    def keep(self, mark: Mark) -> None:
        """Store how far a journal was read."""
        self.ask(
            "UPDATE sessions SET size = ?, mtime_ns = ?, inode = ?, read_to = ?, tail = ?, is_open = ?, closed_at = ? "
            "WHERE number = ?",
            (
                *(mark.stamp.size, mark.stamp.mtime_ns, str(mark.stamp.inode), mark.read_to, mark.tail),
                *(mark.is_open, mark.closed_at, mark.number),
            ),
        )

    def list_as(self, number: int, entry: SessionEntry | None) -> None:
        """Store a session's entry; None if it cannot be read."""
        told = (None, None, None, None)
        if entry is not None:
            told = (entry.place, folder_out(entry.working_directory), folded(utf8(entry.name)), entry_out(entry))
        self.ask("UPDATE sessions SET place = ?, folder = ?, name = ?, entry = ? WHERE number = ?", (*told, number))

    # Words

    def change(self, number: int, changes: Iterable[Change]) -> None:
        """Apply changes to a session's searchable text."""
        before: dict[int, str] = {}
        for each in changes:
            match each:
                case Put():
                    self._put(number, each, before)
                case CutAt(place=place):
                    self._cut(number, min(place, NO_PLACE), before)
        for turn, text in before.items():
            self._say_anew(turn, text)

    def _put(self, number: int, put: Put, before: dict[int, str]) -> None:
        if put.text:
            turn = self._turn(number, utf8(put.turn_id))
            before.setdefault(turn, self.text(turn))
            self.ask("INSERT OR REPLACE INTO messages VALUES (?, ?, ?)", (turn, min(put.place, NO_PLACE), put.text))

    def _turn(self, number: int, turn_id: str) -> int:
        found = self.ask("SELECT number FROM turns WHERE session = ? AND id = ?", (number, turn_id)).fetchone()
        if found is not None:
            return found[0]
        made = self.ask("INSERT INTO turns(session, id) VALUES (?, ?)", (number, turn_id)).lastrowid
        assert made is not None
        return made

    def _cut(self, number: int, place: int, before: dict[int, str]) -> None:
        rows = self.ask(
            "SELECT DISTINCT turn FROM turns JOIN messages ON turn = number WHERE session = ? AND place >= ?",
            (number, place),
        )
        for (turn,) in rows.fetchall():
            before.setdefault(turn, self.text(turn))
            self.ask("DELETE FROM messages WHERE turn = ? AND place >= ?", (turn, place))

    def _say_anew(self, turn: int, before: str) -> None:
        """Update `words` to the current text of a turn. FTS5 needs the previous text for that."""
        now = self.text(turn)
        if self.has_words and before != now:
            if before:
                self.ask(
                    "INSERT INTO words(words, rowid, text, whole) VALUES ('delete', ?, ?, ?)", (turn, *indexed(before))
                )
            if now:
                self.ask("INSERT INTO words(rowid, text, whole) VALUES (?, ?, ?)", (turn, *indexed(now)))
        if not now:
            self.ask("DELETE FROM turns WHERE number = ?", (turn,))

    def text(self, turn: int) -> str:
        """Return the text of a turn."""
        return "\n".join(
            text for (text,) in self.ask("SELECT text FROM messages WHERE turn = ? ORDER BY place", (turn,))
        )

    # Lists

    def entries(self, wanted: EntryFilter) -> list[SessionEntry]:
        """Return the matching sessions, the most recently used first."""
        conditions: dict[str, tuple[Any, ...]] = {"entry IS NOT NULL": ()}
        if wanted.folder is not None:
            below = folder_out(wanted.also_below)[:-1] + "/" if wanted.also_below is not None else ""
            conditions["(folder = ? OR (? <> '' AND substr(folder, 1, ?) = ?))"] = (
                *(folder_out(wanted.folder), below),
                *(len(below), below),
            )
        if wanted.before is not None:
            conditions["place < ?"] = (wanted.before,)
        if wanted.among is not None:
            self.choose(wanted.among)
            conditions["number IN (SELECT number FROM chosen)"] = ()
        query = f"SELECT id, entry FROM sessions WHERE {' AND '.join(conditions)} ORDER BY place DESC"  # noqa: S608
        rows = self.ask(query, [each for values in conditions.values() for each in values])
        entries = (entry_in(text) for session_id, text in rows if session_id not in wanted.without)
        return list(islice((each for each in entries if each.is_used or not wanted.used), wanted.limit))

    def entry(self, number: int) -> SessionEntry | None:
        """Return the session of that number; None if it cannot be read."""
        row = self.ask("SELECT entry FROM sessions WHERE number = ?", (number,)).fetchone()
        return None if row is None or row[0] is None else entry_in(row[0])

    def ids(self, numbers: Collection[int]) -> set[str]:
        """Return the sessions' ids."""
        self.choose(numbers)
        rows = self.ask("SELECT id FROM sessions WHERE number IN (SELECT number FROM chosen)")
        return {session_id for (session_id,) in rows}

    def turn_id(self, turn: int) -> str:
        """Return the turn's id."""
        ((found,),) = self.ask("SELECT id FROM turns WHERE number = ?", (turn,))
        return found

    def choose(self, numbers: Iterable[int]) -> None:
        """Fill the table `chosen` with these sessions."""
        self.ask("CREATE TEMP TABLE IF NOT EXISTS chosen(number INTEGER PRIMARY KEY)")
        self.ask("DELETE FROM chosen")
        self.database.executemany("INSERT OR IGNORE INTO chosen VALUES (?)", ((each,) for each in numbers))
