"""Parser of a journal's lines. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args, get_type_hints

import msgspec
from msgspec.structs import replace

from pygent_ls.agent.events import AgentEvent
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.journal.records import (
    ATTACHMENTS,
    VERSION,
    Agents,
    Begun,
    Cut,
    Opened,
    Queued,
    Record,
    Said,
    Shortened,
    Spent,
    State,
    Told,
)
from pygent_ls.sessions.saved_format.reader import block_from, message_from

Why = Literal["damaged", "later", "unknown"]

T = TypeVar("T")

ParsedLine = Mapping[str, Any]
"""JSON object of a line, of a known version."""


_OF_A_MOMENT: Mapping[str, type[Opened | State | Spent]] = {"opened": Opened, "state": State, "usage": Spent}


class UnreadableError(ValueError):
    """A line that cannot be read: damaged, of a later version, or of an unknown type."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why: Why = why


def parsed(line: bytes) -> ParsedLine:
    """Return the line's object. Raises `UnreadableError`."""
    given = _json(line)
    if not isinstance(given, dict):
        raise UnreadableError("damaged")
    found = cast("dict[str, Any]", given)
    version = found.get("v")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise UnreadableError("damaged")
    if not isinstance(found.get("type"), str):
        raise UnreadableError("later" if version > VERSION else "damaged")
    if version > VERSION:
        raise UnreadableError("later")
    return found


def _json(line: bytes) -> object:
    """Parse JSON with msgspec, which takes less than half the time. What it rejects, such as half of a surrogate pair,
    is parsed with `json`."""
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise UnreadableError("damaged") from None


def record_of(line: ParsedLine) -> Record:
    """Return the record of a line's object. Raises `UnreadableError`."""
    try:
        return _record_of(line)
    except UnreadableError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UnreadableError("damaged") from None


def _record_of(line: ParsedLine) -> Record:
    match line["type"]:
        case "session":
            begun = _read(Begun, line)
            return replace(begun, created=_utc(begun.created))
        case "opened" | "state" | "usage" as kind:
            found = _read(_OF_A_MOMENT[kind], line)
            return replace(found, at=_utc(found.at))
        case "agents":
            return _read(Agents, line)
        case "cut":
            return Cut(length=_place(line["length"]))
        case "message":
            return Said(index=_place(line["index"]), message=message_from(line["message"]))
        case "queued":
            attachments = tuple(_read(ATTACHMENTS[each["type"]], each) for each in line["attachments"])
            plain = {name: _read(kind, line[name]) for name, kind in _plain_hints_of_queued().items() if name in line}
            return Queued(**plain, attachments=attachments)
        case "compaction":
            return Shortened(
                start=_place(line["start"]),
                end=_place(line["end"]),
                stands=tuple(message_from(each) for each in line["stands"]),
                task=tuple(block_from(each) for each in line["task"]),
                words=tuple(str(each) for each in line["words"]),
                summary=str(line["summary"]),
            )
        case "event":
            return Told(event=event_of(line))
        case _:
            raise UnreadableError("unknown")


@cache
def _plain_hints_of_queued() -> Mapping[str, Any]:
    """Return the types of the fields without `attachments`: msgspec cannot tell one class from another."""
    hints = get_type_hints(Queued, include_extras=True)
    return {name: kind for name, kind in hints.items() if name != "attachments"}


def _read(kind: type[T], given: Any) -> T:
    """Return the value with its type; unknown keys of an object are ignored. Raises ValueError."""
    try:
        return msgspec.convert(given, kind, strict=False, dec_hook=_path)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def _path(kind: type, given: Any) -> Path:
    """Convert what msgspec has no conversion for. Raises TypeError if that is not a path."""
    if kind is not Path:
        raise TypeError(f"{kind.__name__} has no place in a journal")
    return Path(given)


_EVENTS: Mapping[str, type[AgentEvent]] = {
    dict(zip(reversed(each.__struct_fields__), reversed(each.__struct_defaults__), strict=False))["type"]: each
    for each in get_args(AgentEvent)
}


def event_of(line: ParsedLine) -> SessionEvent:
    """Return the event of a line's object. Raises ValueError, KeyError or TypeError for any other object."""
    return SessionEvent(
        event=_read(_EVENTS[line["event"]["type"]], line["event"]),
        seq=_place(line["seq"]),
        turn_id=str(line["turn"]),
        iteration=_place(line["iteration"]),
        total_tokens=_place(line["total_tokens"]),
        timestamp=_utc(datetime.fromisoformat(line["at"])),
        parent_tool_id=None if line.get("parent") is None else str(line["parent"]),
    )


def _utc(moment: datetime) -> datetime:
    """Convert to UTC. Raises ValueError for a time that cannot be compared with others."""
    if moment.tzinfo is None:
        raise ValueError("a moment without a zone")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:  # in the first or last hours of the datetime range
        raise ValueError(str(error)) from None


def _place(given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise UnreadableError("damaged")
    return given
