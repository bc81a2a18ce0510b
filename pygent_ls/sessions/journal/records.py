"""The records of a journal, one a line: what they say, and how they are written. `reading.py` reads them. Pure.

A line is a JSON object with the version of its form (`v`) and its `type`. Nothing that was written is ever changed:
what a later record says counts from there on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, cast

from pygent_ls.agent.attachments import (
    Attachment,
    DiagnosticsPart,
    EditorPart,
    FilePart,
    ImagePart,
    NotePart,
    ReviewPart,
    SelectionPart,
    TerminalPart,
)
from pygent_ls.agent.context import ContextMode
from pygent_ls.agent.events import PlanEntry, TurnQueued
from pygent_ls.agent.messages import Block, ImageBlock, Message, Usage
from pygent_ls.agent.model import Effort
from pygent_ls.agent.permissions import Mode
from pygent_ls.extensions.session_files import block_out, message_out, timestamp
from pygent_ls.sessions.stream import SessionEvent

VERSION = 1
"""Of a line's form; lines of a later one are left alone."""

NOWHERE = Path()
"""Where a session works of which the beginning is lost: nobody knows."""

NOT_KEPT = frozenset({"old_text", "new_text"})
"""Fields of a changed file that no event tells: the whole texts. Its patch is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The first record of a journal."""

    id: str
    created: datetime
    working_directory: Path
    forked_from: str = ""
    """The session that it was forked from; empty where it was not."""
    forked_at: str = ""
    """The last turn that both have in common; empty where that is all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A daemon took the session's lock."""

    at: datetime
    pid: int
    host: str
    version: str
    """Of pygent-ls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the session is by now but for its conversation; the last one counts."""

    at: datetime
    name: str
    agent: str
    own_agent: str | None
    """Chosen for this session; None where the settings choose. So with those below."""
    model: str
    own_model: str | None
    mode: Mode
    own_mode: Mode | None
    max_thinking_tokens: int | None
    context_mode: ContextMode | None
    effort: Effort | None = None
    plan: tuple[PlanEntry, ...] | None = None
    """None: what was told last."""

    def is_as(self, other: State | None) -> bool:
        """Whether both say the same, whenever they did."""
        return other is not None and self == replace(other, at=self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An event that the front ends were told, or would have been."""

    event: SessionEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message of the conversation; `index` is its place."""

    index: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """From here on the conversation is its first `length` messages."""

    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A prompt that waits for the turn before it, without secrets: all that it takes to run the turn after a crash. It
    counts until the turn begins. What is None the session chooses."""

    turn: str
    told: TurnQueued
    """The event that tells of it; its prompt is the user's words."""
    attachments: tuple[Attachment, ...] = ()
    agent: str | None = None
    model: str | None = None
    mode: Mode | None = None
    max_iterations: int | None = None
    max_tokens: int | None = None
    max_budget_usd: float | None = None
    effort: Effort | None = None
    output_schema: Mapping[str, Any] | None = None
    own_words: str | None = None
    steers: str | None = None
    """The turn that the prompt joins; it then counts until that turn tells of one more that joined it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """Messages that stand for a part of the conversation in requests; see `context_memory.Compaction`."""

    start: int
    end: int
    stands: tuple[Message, ...]
    task: tuple[Block, ...]
    words: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What the session took by now, and its last turn."""

    at: datetime
    usage: Usage
    last_turn: Usage


Record = Begun | Opened | State | Told | Said | Cut | Queued | Shortened | Spent

ATTACHMENTS: Mapping[str, type[Attachment]] = {
    "file": FilePart,
    "selection": SelectionPart,
    "diagnostics": DiagnosticsPart,
    "editor": EditorPart,
    "image": ImageBlock,
    "image_file": ImagePart,
    "terminal": TerminalPart,
    "note": NotePart,
    "review": ReviewPart,
}
"""The kinds of attachments, by the names that stand in a journal."""

_KINDS = {kind: name for name, kind in ATTACHMENTS.items()}


_PLAIN = {Begun: "session", Opened: "opened", State: "state", Spent: "usage"}
"""The types of records that are written as their fields are."""


def line_of(record: Record) -> bytes:
    """The record's line, with the line break at its end. Half a surrogate pair becomes its JSON escape."""
    text = json.dumps({"v": VERSION, **_content(record)}, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _content(record: Record) -> Mapping[str, Any]:
    match record:
        case Begun() | Opened() | State() | Spent():
            return {"type": _PLAIN[type(record)], **_plain_fields(record)}
        case Cut(length=length):
            return {"type": "cut", "length": length}
        case Said(index=index, message=message):
            return {"type": "message", "index": index, "message": message_record(message)}
        case Queued(attachments=attachments):
            kept = [{"type": _KINDS[type(each)], **plain(each)} for each in attachments]
            return {"type": "queued", **_plain_fields(record), "attachments": kept}
        case Shortened():
            return {
                "type": "compaction",
                "start": record.start,
                "end": record.end,
                "stands": [message_record(each) for each in record.stands],
                "task": [block_out(each) for each in record.task],
                "words": list(record.words),
                "summary": record.summary,
            }
        case Told(event=told):
            return {
                "type": "event",
                "seq": told.seq,
                "turn": told.turn_id,
                "iteration": told.iteration,
                "total_tokens": told.total_tokens,
                "at": timestamp(told.timestamp),
                **({"parent": told.parent_tool_id} if told.parent_tool_id is not None else {}),
                "event": plain(told.event),
            }


def message_record(message: Message) -> dict[str, Any]:
    """As `message_out`, but plain text stays so."""
    plain = {"content": message.content} if isinstance(message.content, str) else {}
    return message_out(message) | plain


def plain(value: object) -> Any:
    """The value as JSON has it: a dataclass as an object of its fields."""
    match value:
        case str() | bool() | int() | float() | None:
            return value
        case datetime():
            return timestamp(value)
        case Path():
            return str(value)
        case tuple() | list():
            return [plain(each) for each in cast("tuple[object, ...]", value)]
        case Mapping():
            return {str(key): plain(each) for key, each in cast("Mapping[object, object]", value).items()}
        case _ if is_dataclass(value):
            return dict(_plain_items(value))
        case _:
            raise TypeError(f"{type(value).__name__} has no place in a journal")


def _plain_fields(record: Record) -> dict[str, Any]:
    return dict(_plain_items(record))


def _plain_items(value: object) -> Iterator[tuple[str, Any]]:
    for name in _names(type(value)):
        if name not in NOT_KEPT:
            yield name, plain(getattr(value, name))


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))
