"""Queries to the index: the turns that contain all of some words, ranked. All functions block."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from msgspec import Struct

from pygent_ls.sessions.index.query import Query, Word, folded, holds, snippet, squeezed
from pygent_ls.sessions.index.tables import Tables

NAMED = 10.0
"""Score of a word in a session's name. A word in the text scores at most about 20 if it is rare among 100,000 turns,
and mostly below 8 (bm25: 2.2 times the logarithm of the turns for each one that contains it)."""

MAX_GROUPS = 8
"""Maximum number of groups of sessions whose names contain some of the words. The other words take one query per
group."""

MOST_RANKED = 10_000
"""Maximum number of turns that are ranked by words which more turns contain: the newest. 100,000 messages are some
50,000 turns. Ranking 10,000 takes some 20 ms of CPU time, and a word in more turns than that distinguishes few."""


class FoundTurn(Struct, frozen=True, kw_only=True):
    """A turn that contains all the words, some of them possibly in its session's name."""

    session_id: str
    name: str
    turn_id: str
    """Empty for a session without turns that was found by its name."""
    snippet: str
    score: float
    """Higher is better."""
    place: str
    """Sort key of the session in a list."""


class _Hit(Struct, frozen=True):
    session: int
    turn: int | None
    score: float


class _Part(Struct, frozen=True):
    """A part of a search: turns of these sessions (None for all) that contain the query's words, without the words that
    the sessions' names contain."""

    query: Query
    sessions: Collection[int] | None
    score: float
    """Score for the words in the names."""


def search(tables: Tables, query: Query, limit: int, *, most_ranked: int = MOST_RANKED) -> list[FoundTurn]:
    """Return the turns that contain all the words, the best first. A session whose name contains them all is found once
    by its name."""
    best: dict[tuple[int, int | None], _Hit] = {}
    for part in _parts(tables, query):
        if part.query.words and len(best) >= limit:
            break  # enough was found by the text or by the names alone
        hits = _in_text(tables, part, most_ranked) if part.query.words else _by_name(tables, part)
        for hit in islice(hits, limit):
            known = best.get((hit.session, hit.turn))
            if known is None or known.score < hit.score:
                best[hit.session, hit.turn] = hit
    found = [each for hit in best.values() if (each := _found(tables, query, hit))]
    found.sort(key=lambda each: each.place, reverse=True)
    found.sort(key=lambda each: -each.score)
    return found[:limit]


def sessions_with(tables: Tables, query: Query, name: str) -> set[int]:
    """Return the sessions with a turn that contains all the words, or with that text in their name."""
    rows = tables.ask("SELECT number FROM sessions WHERE instr(name, ?)", (squeezed(folded(name)),))
    found = {number for (number,) in rows}
    for part in _parts(tables, query):
        found.update(_sessions_in(tables, part))
    return found


def _parts(tables: Tables, query: Query) -> Iterator[_Part]:
    """Yield the parts of a search: by the text alone, then by names, with the other words in the text."""
    if not query.words:
        return
    yield _Part(query, None, 0.0)
    most_named_first = sorted(_named(tables, query).items(), key=lambda each: (-len(each[0]), len(each[1])))
    for words, sessions in most_named_first[:MAX_GROUPS]:
        others = Query(tuple(each for each in query.words if each not in words))
        yield _Part(others, sessions, NAMED * len(words))


def _named(tables: Tables, query: Query) -> dict[tuple[Word, ...], list[int]]:
    """Group sessions by the words that their names contain, at least one."""
    words_of: dict[int, list[Word]] = {}
    for word in query.words:
        for (number,) in tables.ask("SELECT number FROM sessions WHERE instr(name, ?)", (word.core,)).fetchall():
            words_of.setdefault(number, []).append(word)
    sessions: dict[tuple[Word, ...], list[int]] = {}
    for number, words in words_of.items():
        sessions.setdefault(tuple(words), []).append(number)
    return sessions


def _sessions_in(tables: Tables, part: _Part) -> Collection[int]:
    query = part.query
    if not query.words:
        return part.sessions or ()
    if not tables.has_words or query.in_text:
        return {hit.session for hit in _in_text(tables, part)}
    rows = tables.ask(
        "SELECT DISTINCT session FROM turns WHERE number IN (SELECT rowid FROM words WHERE words MATCH ?) "  # noqa: S608
        f"{_among(tables, part)}",
        (_match(query),),
    )
    return [number for (number,) in rows]


def _among(tables: Tables, part: _Part) -> str:
    """Return the condition that a turn is in one of these sessions."""
    if part.sessions is None:
        return ""
    tables.choose(part.sessions)
    return "AND session IN (SELECT number FROM chosen)"


def _match(query: Query) -> str:
    return " AND ".join(word.match for word in query.in_index)


def _by_name(tables: Tables, part: _Part) -> Iterator[_Hit]:
    """Yield the first turn of each of these sessions, the most recently used first."""
    tables.choose(part.sessions or ())
    rows = tables.ask("SELECT number FROM sessions WHERE number IN (SELECT number FROM chosen) ORDER BY place DESC")
    for (number,) in rows.fetchall():
        first = tables.ask(
            "SELECT turn FROM turns JOIN messages ON messages.turn = turns.number WHERE session = ? "
            "ORDER BY place LIMIT 1",
            (number,),
        ).fetchone()
        yield _Hit(number, first[0] if first else None, part.score)


def _in_text(tables: Tables, part: _Part, most_ranked: int | None = None) -> Iterator[_Hit]:
    """Yield the turns whose text contains all the words, the best first. If all sessions are searched, only the last
    `most_ranked` turns count."""
    query = part.query
    if not tables.has_words:
        yield from _by_looking(tables, part)
    elif not query.in_index:
        yield from _by_signs(tables, part)
    else:
        rows = tables.ask(
            "SELECT session, number, bm25(words) AS badness FROM words JOIN turns ON number = words.rowid "  # noqa: S608
            f"WHERE words MATCH ? AND words.rowid > ? {_among(tables, part)} ORDER BY badness",
            (_match(query), _too_old(tables, part, most_ranked)),
        )
        for session, turn, badness in rows:
            if not query.in_text or holds(tables.text(turn), query.in_text):
                yield _Hit(session, turn, part.score - badness)


def _too_old(tables: Tables, part: _Part, most_ranked: int | None) -> int:
    """Return the number of the last turn that is too old to be ranked."""
    if most_ranked is None or part.sessions is not None:
        return 0
    row = tables.ask(
        "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
        (_match(part.query), most_ranked),
    ).fetchone()
    return row[0] if row else 0


def _by_signs(tables: Tables, part: _Part) -> Iterator[_Hit]:
    """Search for text that has no words in the index, such as `->`; the newest turn comes first."""
    rows = tables.ask(
        "SELECT DISTINCT session, turn FROM messages JOIN turns ON number = turn "  # noqa: S608
        f"WHERE instr(text, ?) {_among(tables, part)} ORDER BY turn DESC",
        (part.query.words[0].core,),
    )
    for session, turn in rows:
        if holds(tables.text(turn), part.query.words):
            yield _Hit(session, turn, part.score)


def _by_looking(tables: Tables, part: _Part) -> Iterator[_Hit]:
    """Search without FTS5: read every text. The more often a text contains the words, the better."""
    hits: list[_Hit] = []
    turns = tables.ask(f"SELECT session, number FROM turns WHERE 1 {_among(tables, part)}")  # noqa: S608
    for session, turn in turns.fetchall():
        text = squeezed(folded(tables.text(turn)))
        counts = [text.count(word.core) for word in part.query.words]
        if all(counts):
            hits.append(_Hit(session, turn, part.score + sum(counts) / (1 + len(text) / 1000)))
    yield from sorted(hits, key=lambda each: -each.score)


def _found(tables: Tables, query: Query, hit: _Hit) -> FoundTurn | None:
    entry = tables.entry(hit.session)
    if entry is None:
        return None
    text, turn_id = ("", "") if hit.turn is None else (tables.text(hit.turn), tables.turn_id(hit.turn))
    return FoundTurn(
        session_id=entry.id,
        name=entry.name,
        turn_id=turn_id,
        snippet=snippet(text or entry.name, query.words),
        score=float(f"{hit.score:.4g}"),
        place=entry.place,
    )
