"""What the index is asked: which turns hold all of some words, and how well. All functions block."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from pygent_ls.sessions.index.tables import Tables
from pygent_ls.sessions.index.words import Query, Word, folded, holds, snippet, squeezed

NAMED = 10.0
"""What a word scores that stands in a session's name. One in the text has at most about 20 where it is rare among
100,000 turns, and mostly below 8 (bm25: 2.2 times the logarithm of the turns for each one that holds it)."""

MAX_GROUPS = 8
"""Groups of sessions whose names hold some of the words, and for which the others are looked up: one query each."""

MOST_RANKED = 10_000
"""Turns of which it is found out how well they hold words that more of them hold: the last ones. 100,000 messages are
some 50,000 turns; to rank 10,000 takes some 20 ms of CPU, and a word that more of them hold says little of any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A turn in which all the words stand, with those that stand in its session's name."""

    session_id: str
    name: str
    turn_id: str
    """Empty for a session without turns that is found by its name."""
    snippet: str
    score: float
    """Higher is better."""
    place: str
    """The session's, in a list."""


@dataclass(frozen=True, slots=True)
class _Hit:
    session: int
    turn: int | None
    score: float


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of what is found: turns of these sessions (None is all) that hold all of the query's words, those left
    out that the sessions' names hold."""

    query: Query
    sessions: Collection[int] | None
    score: float
    """For the words in the names."""


def search(tables: Tables, query: Query, limit: int, *, most_ranked: int = MOST_RANKED) -> list[Found]:
    """The turns that hold all the words, the best first; a session whose name holds them all is found once by that."""
    best: dict[tuple[int, int | None], _Hit] = {}
    for part in _parts(tables, query):
        if part.query.words and len(best) >= limit:
            break  # the text alone, or the name alone, says enough
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
    """The sessions with a turn that holds all the words, or whose name holds that text."""
    rows = tables.ask("SELECT number FROM sessions WHERE instr(name, ?)", (squeezed(folded(name)),))
    found = {number for (number,) in rows}
    for part in _parts(tables, query):
        found.update(_sessions_in(tables, part))
    return found


def _parts(tables: Tables, query: Query) -> Iterator[_Part]:
    """What is found by the text alone, by the names alone, and by both."""
    if not query.words:
        return
    yield _Part(query, None, 0.0)
    most_named_first = sorted(_named(tables, query).items(), key=lambda each: (-len(each[0]), len(each[1])))
    for words, sessions in most_named_first[:MAX_GROUPS]:
        others = Query(tuple(each for each in query.words if each not in words))
        yield _Part(others, sessions, NAMED * len(words))


def _named(tables: Tables, query: Query) -> dict[tuple[Word, ...], list[int]]:
    """Sessions by the words that their names hold, which are some at least."""
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
    """The condition for a turn that it is in one of these sessions."""
    if part.sessions is None:
        return ""
    tables.choose(part.sessions)
    return "AND session IN (SELECT number FROM chosen)"


def _match(query: Query) -> str:
    return " AND ".join(word.match for word in query.in_index)


def _by_name(tables: Tables, part: _Part) -> Iterator[_Hit]:
    """The beginning of each of these sessions, the last one used first."""
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
    """The turns whose text holds all the words, the best first; of all sessions only the last so many."""
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
    """The last of the turns that are left out."""
    if most_ranked is None or part.sessions is not None:
        return 0
    row = tables.ask(
        "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
        (_match(part.query), most_ranked),
    ).fetchone()
    return row[0] if row else 0


def _by_signs(tables: Tables, part: _Part) -> Iterator[_Hit]:
    """The same for what is no word of the index, like `->`; what was said last comes first."""
    rows = tables.ask(
        "SELECT DISTINCT session, turn FROM messages JOIN turns ON number = turn "  # noqa: S608
        f"WHERE instr(text, ?) {_among(tables, part)} ORDER BY turn DESC",
        (part.query.words[0].core,),
    )
    for session, turn in rows:
        if holds(tables.text(turn), part.query.words):
            yield _Hit(session, turn, part.score)


def _by_looking(tables: Tables, part: _Part) -> Iterator[_Hit]:
    """The same where there is no FTS5: every text is looked at, and what holds the words often is better."""
    hits: list[_Hit] = []
    turns = tables.ask(f"SELECT session, number FROM turns WHERE 1 {_among(tables, part)}")  # noqa: S608
    for session, turn in turns.fetchall():
        text = squeezed(folded(tables.text(turn)))
        counts = [text.count(word.core) for word in part.query.words]
        if all(counts):
            hits.append(_Hit(session, turn, part.score + sum(counts) / (1 + len(text) / 1000)))
    yield from sorted(hits, key=lambda each: -each.score)


def _found(tables: Tables, query: Query, hit: _Hit) -> Found | None:
    entry = tables.entry(hit.session)
    if entry is None:
        return None
    text, turn_id = ("", "") if hit.turn is None else (tables.text(hit.turn), tables.turn_id(hit.turn))
    return Found(
        session_id=entry.id,
        name=entry.name,
        turn_id=turn_id,
        snippet=snippet(text or entry.name, query.words),
        score=float(f"{hit.score:.4g}"),
        place=entry.place,
    )
