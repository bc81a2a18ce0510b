"""Parser of a journal's lines. Pure. Pydantic, which is slow to import, is imported with the first line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

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

Why = Literal["damaged", "later", "unknown"]

if TYPE_CHECKING:
    from pydantic import TypeAdapter

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
    """Parse JSON with pydantic, which takes less than half the time. What it rejects, such as half of a surrogate pair,
    is parsed with `json`."""
    try:
        return _json_adapter().validate_json(line)
    except ValueError:
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
    from pygent_ls.sessions.saved_format.reader import block_from, message_from

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
            return replace(_read(Queued, {**line, "attachments": ()}), attachments=attachments)
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


def _read(kind: type[T], line: ParsedLine) -> T:
    return cast("T", _adapter(kind).validate_python(line))


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


@cache
def _json_adapter() -> TypeAdapter[object]:
    from pydantic import TypeAdapter

    return TypeAdapter(object)


@cache
def _event_adapter() -> TypeAdapter[AgentEvent]:
    from pydantic import Field, TypeAdapter

    return TypeAdapter(Annotated[AgentEvent, Field(discriminator="type")])


def event_of(line: ParsedLine) -> SessionEvent:
    """Return the event of a line's object. Raises ValueError, KeyError or TypeError for any other object."""
    return SessionEvent(
        event=_event_adapter().validate_python(line["event"]),
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
