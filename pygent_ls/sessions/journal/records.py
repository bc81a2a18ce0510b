"""Records of a journal, one per line, and how they are written; `decoder.py` reads them. Pure.

A line is a JSON object with its format version (`v`) and its `type`. Lines are never changed: a later record applies
from its position on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.context.attachments import (
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
from pygent_ls.agent.context.window import ContextMode
from pygent_ls.agent.events import PlanEntry, TurnQueued
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.messages import Block, ImageBlock, Message, Usage
from pygent_ls.agent.ports.model import Effort
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.saved_format.writer import block_out, message_out, timestamp

VERSION = 1
"""Version of the line format. Lines of a later version are ignored."""

NOWHERE = Path()
"""Working directory of a session whose first record is lost."""

NOT_KEPT = frozenset({"old_text", "new_text"})
"""Fields of a changed file that events omit: the full texts. The patch is stored."""


class Begun(Struct, frozen=True, kw_only=True):
    """First record of a journal."""

    id: str
    created: datetime
    working_directory: Path
    forked_from: str = ""
    """Session that it was forked from; empty if it was not."""
    forked_at: str = ""
    """Last turn that both have in common; empty if all turns are."""


class Opened(Struct, frozen=True, kw_only=True):
    """A daemon took the session's lock."""

    at: datetime
    pid: int
    host: str
    version: str
    """Version of pygent-ls."""


class State(Struct, frozen=True, kw_only=True):
    """Current state of the session without its conversation. The last record applies."""

    at: datetime
    name: str
    agent: str
    own_agent: str | None
    """Chosen for this session; None if the settings choose. The same holds for the fields below."""
    model: str
    own_model: str | None
    mode: Mode
    own_mode: Mode | None
    max_thinking_tokens: int | None
    context_mode: ContextMode | None
    effort: Effort | None = None
    plan: tuple[PlanEntry, ...] | None = None
    """None if the plan is the one last reported in an event."""

    def is_as(self, other: State | None) -> bool:
        """Whether both are equal except for their time."""
        return other is not None and self == replace(other, at=self.at)


class Told(Struct, frozen=True, kw_only=True):
    """An event as delivered to the front ends."""

    event: SessionEvent


class Said(Struct, frozen=True, kw_only=True):
    """A message of the conversation, at position `index`."""

    index: int
    message: Message


class Cut(Struct, frozen=True, kw_only=True):
    """Marks a cut: the conversation is now its first `length` messages."""

    length: int


class Queued(Struct, frozen=True, kw_only=True):
    """A queued prompt, without secrets: everything needed to run its turn after a crash. It applies until the turn
    begins. None in a field means the session's own value."""

    turn: str
    told: TurnQueued
    """Event that announces it. Its prompt is the user's text."""
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
    """Turn that the prompt steers, if any. The record then applies until that turn's next `steered` event."""


class Shortened(Struct, frozen=True, kw_only=True):
    """A compaction: messages that replace a part of the conversation in requests. Fields as in
    `context_memory.Compaction`."""

    start: int
    end: int
    stands: tuple[Message, ...]
    task: tuple[Block, ...]
    words: tuple[str, ...]
    summary: str


class Spent(Struct, frozen=True, kw_only=True):
    """Usage of the session and of its last turn, so far."""

    at: datetime
    usage: Usage
    last_turn: Usage


class AgentNote(Struct, frozen=True, kw_only=True):
    """A subagent in the background of which the model has to be told."""

    name: str
    task: str
    report: str | None = None
    """What the model will read of its end; None while it runs."""


class Agents(Struct, frozen=True, kw_only=True):
    """Subagents that run in the background, or whose reports the model has not read. The last record applies."""

    agents: tuple[AgentNote, ...]


Record = Begun | Opened | State | Told | Said | Cut | Queued | Shortened | Spent | Agents

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
"""Types of attachments, by their names in a journal."""

_KINDS = {kind: name for name, kind in ATTACHMENTS.items()}


_PLAIN = {Begun: "session", Opened: "opened", State: "state", Spent: "usage", Agents: "agents"}
"""Types of records that are written field by field."""


def line_of(record: Record) -> bytes:
    """Return the record's line, including the line break. Half a surrogate pair is written as its JSON escape."""
    text = json.dumps({"v": VERSION, **_content(record)}, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _content(record: Record) -> Mapping[str, Any]:
    match record:
        case Begun() | Opened() | State() | Spent() | Agents():
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
    """Return what `message_out` does, but keep a plain string as the content."""
    plain = {"content": message.content} if isinstance(message.content, str) else {}
    return message_out(message) | plain


def plain(value: object) -> Any:
    """Return the value in JSON types, a struct or dataclass as an object of its fields."""
    match value:
        case str() | bool() | int() | float() | None:
            return value
        case Struct():
            return _plain_fields(value)
        case datetime():
            return timestamp(value)
        case Path():
            return str(value)
        case tuple() | list():
            return [plain(each) for each in cast("tuple[object, ...]", value)]
        case Mapping():
            return {str(key): plain(each) for key, each in cast("Mapping[object, object]", value).items()}
        case FilePart() | DiagnosticsPart():
            return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
        case _:
            raise TypeError(f"{type(value).__name__} has no place in a journal")


def _plain_fields(value: Struct) -> dict[str, Any]:
    return {name: plain(getattr(value, name)) for name in value.__struct_fields__ if name not in NOT_KEPT}
