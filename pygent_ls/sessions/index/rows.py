"""Facts and entries of sessions as JSON in a column. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from pygent_ls.agent.messages import Usage
from pygent_ls.sessions.index.entries import Facts, SessionEntry
from pygent_ls.sessions.journal.decoder import parsed, record_of
from pygent_ls.sessions.journal.records import Begun, Record, Spent, State, line_of
from pygent_ls.sessions.saved_format.writer import timestamp


def facts_out(facts: Facts) -> str:
    """Return the facts as text."""
    content = {
        "begun": _line(facts.begun),
        "state": _line(facts.state),
        "spent": _line(facts.spent),
        "updated_at": None if facts.updated_at is None else timestamp(facts.updated_at),
        "n_messages": facts.n_messages,
        "last_seq": facts.last_seq,
        "open_turns": sorted(facts.open_turns),
        "is_unpaid": facts.is_unpaid,
        "is_damaged": facts.is_damaged,
    }
    return json.dumps(content)


def facts_in(text: str) -> Facts:
    """Return the facts in a text. Raises ValueError, KeyError or TypeError for any other text."""
    given: dict[str, Any] = json.loads(text)
    begun, state, spent = (_record(given[each]) for each in ("begun", "state", "spent"))
    updated_at = given["updated_at"]
    return Facts(
        begun=begun if isinstance(begun, Begun) else None,
        state=state if isinstance(state, State) else None,
        spent=spent if isinstance(spent, Spent) else None,
        updated_at=None if updated_at is None else datetime.fromisoformat(updated_at),
        n_messages=given["n_messages"],
        last_seq=given["last_seq"],
        open_turns=set(given["open_turns"]),
        is_unpaid=given["is_unpaid"],
        is_damaged=given["is_damaged"],
    )


def _line(record: Record | None) -> str | None:
    return None if record is None else line_of(record).decode()


def _record(line: str | None) -> Record | None:
    return None if line is None else record_of(parsed(line.encode()))


def entry_out(entry: SessionEntry) -> str:
    """Return the entry as ASCII text, because a folder's name need not be UTF-8."""
    content: Mapping[str, Any] = asdict(entry) | {
        "working_directory": str(entry.working_directory),
        "created_at": timestamp(entry.created_at),
        "updated_at": timestamp(entry.updated_at),
        "usage": asdict(entry.usage),
    }
    return json.dumps(content)


def entry_in(text: str) -> SessionEntry:
    """Return the entry in a text. Raises ValueError, KeyError or TypeError for any other text."""
    given: dict[str, Any] = json.loads(text)
    folder, usage = Path(given.pop("working_directory")), Usage(**given.pop("usage"))
    created_at, updated_at = (datetime.fromisoformat(given.pop(each)) for each in ("created_at", "updated_at"))
    return SessionEntry(working_directory=folder, usage=usage, created_at=created_at, updated_at=updated_at, **given)


def folder_out(folder: Path) -> str:
    """Return a folder as text for comparison."""
    return json.dumps(str(folder))
