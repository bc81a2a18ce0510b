"""Events as a session would number them, in the order in which a test tells them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pygent_ls.agent import events as ev
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import RejectedFile, Usage
from pygent_ls.agent.ports.approver import PermissionOutcome
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.editors.lsp.conversation.reducer import ConversationReducer
from pygent_ls.sessions.event_stream import SessionEvent
from tests.editors.lsp.conversation.client import ItemsClient

BEGINNING = datetime(2026, 3, 1, 10, tzinfo=UTC)

NOTHING_USED: dict[str, Any] = {
    "inputTokens": 0,
    "outputTokens": 0,
    "cacheReadTokens": 0,
    "cacheWriteTokens": 0,
    "totalTokens": 0,
    "costUsd": None,
    "contextTokens": 0,
    "contextLimit": None,
}


@dataclass(frozen=True)
class Of:
    """An event of another turn, or of a subagent."""

    event: ev.AgentEvent
    turn: str = "t1"
    parent: str | None = None
    iteration: int = 1


Told = ev.AgentEvent | Of


def at(seq: int) -> str:
    """When the event with that number happened: the first at ten o'clock, each further one a second later."""
    return f"2026-03-01T10:{(seq - 1) // 60:02d}:{(seq - 1) % 60:02d}.000000Z"


def events(*told: Told) -> list[SessionEvent]:
    """Number the events."""
    return [numbered(each, seq) for seq, each in enumerate(told, 1)]


def numbered(told: Told, seq: int) -> SessionEvent:
    of = told if isinstance(told, Of) else Of(told)
    return SessionEvent(
        event=of.event,
        seq=seq,
        turn_id=of.turn,
        iteration=of.iteration,
        total_tokens=0,
        timestamp=BEGINNING + timedelta(seconds=seq - 1),
        parent_tool_id=of.parent,
    )


def reducer() -> ConversationReducer:
    return ConversationReducer(Path.as_uri)


def after(happened: Sequence[SessionEvent]) -> ItemsClient:
    """What a new client shows after these events."""
    client = ItemsClient()
    client.take(reducer().after(happened))
    return client


def shown(*told: Told) -> ItemsClient:
    return after(events(*told))


def of(turn: str, *told: ev.AgentEvent) -> list[Of]:
    return [Of(each, turn) for each in told]


def within(parent: str, *told: ev.AgentEvent) -> list[Of]:
    """Inside the subagent of a call."""
    return [Of(each, parent=parent) for each in told]


def started(prompt: str = "Do it", *attachments: ev.PromptAttachment) -> ev.TurnStarted:
    return ev.TurnStarted(prompt=prompt, model="openai/mock", mode="default", agent="code", attachments=attachments)


def queued(prompt: str, *attachments: ev.PromptAttachment, held: bool = False) -> ev.TurnQueued:
    return ev.TurnQueued(
        prompt=prompt, model="openai/mock", mode="default", agent="code", attachments=attachments, held=held
    )


def text(content: str, item_id: str = "text") -> ev.Text:
    return ev.Text(item_id=item_id, content=content)


def text_delta(content: str, item_id: str = "text") -> ev.TextDelta:
    return ev.TextDelta(item_id=item_id, content=content)


def thinking(content: str, item_id: str = "thinking") -> ev.Thinking:
    return ev.Thinking(item_id=item_id, content=content)


def thinking_delta(content: str, item_id: str = "thinking") -> ev.ThinkingDelta:
    return ev.ThinkingDelta(item_id=item_id, content=content)


def called(tool_id: str = "c1", title: str = "Run echo", item_id: str = "") -> ev.ToolCall:
    return ev.ToolCall(
        tool_id=tool_id,
        tool_name="shell",
        input={"command": "echo"},
        title=title,
        kind="execute",
        risk=ToolRisk.HIGH,
        read_only=False,
        locations=(),
        item_id=item_id,
    )


def written(argument: str, content: str, item_id: str = "draft") -> ev.ToolCallDelta:
    return ev.ToolCallDelta(item_id=item_id, tool_name="create_file", argument=argument, content=content)


def progress(content: str, tool_id: str = "c1") -> ev.ToolProgress:
    return ev.ToolProgress(tool_id=tool_id, content=content)


def resulted(tool_id: str = "c1", content: str = "ok", *, is_error: bool = False, ms: int = 12) -> ev.ToolResult:
    return ev.ToolResult(
        tool_id=tool_id,
        tool_name="shell",
        content=content,
        is_error=is_error,
        cached=False,
        truncated=False,
        duration_s=ms / 1000,
    )


ASKED = ev.PermissionRequested(permission_id="p1", tool_id="c1")


def answered(outcome: PermissionOutcome) -> ev.PermissionResolved:
    return ev.PermissionResolved(permission_id="p1", tool_id="c1", outcome=outcome, by="user")


def failed(attempt: int = 1, *withdrawn: str) -> ev.LlmError:
    return ev.LlmError(
        error_type="overloaded",
        error_message=f"Busy ({attempt})",
        retryable=True,
        attempt=attempt,
        will_retry=True,
        retry_in_s=2.5,
        withdrawn=withdrawn,
    )


def used(**counts: int) -> ev.UsageReported:
    return ev.UsageReported(usage=Usage(**counts))


def finished(*files: FileChange, stop: Any = "end_turn", usage: Usage | None = None) -> ev.Finished:
    return ev.Finished(stop_reason=stop, usage=usage or Usage(), files_changed=files)


CHANGE = FileChange(path=Path("/w/a b.py"), kind="edit", added=1, removed=0, patch="@@ -0,0 +1 @@\n+x = 1\n")

REPORT = ev.PromptAttachment(
    kind="review", text="+x = 1", rejected=(RejectedFile(uri="file:///w/a b.py", n_changes=2),)
)

FILE = ev.PromptAttachment(kind="file", location=ev.Location(path=Path("/w/a b.py")))


def edited() -> list[ev.AgentEvent]:
    """A call that changes the file."""
    return [called(), replace(resulted(), changes=(CHANGE,))]


def kinds(items: Sequence[dict[str, Any]]) -> list[str]:
    return [each["type"] for each in items]


def only(client: ItemsClient, kind: str) -> dict[str, Any]:
    """The only item of a type, on all levels."""
    (item,) = (each for each in client.items.values() if each["type"] == kind)
    return item


def call(client: ItemsClient, tool_id: str = "c1") -> dict[str, Any]:
    """The first call with that id."""
    return next(each for each in client.items.values() if each.get("toolId") == tool_id)
