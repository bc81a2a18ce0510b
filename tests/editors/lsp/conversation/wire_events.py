"""Core events of their wire form, for recorded turns and for events that are written as a client gets them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pygent_ls.agent import events as ev
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import RejectedFile, Usage
from pygent_ls.agent.ports.hooks import HookRan
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.sessions.event_stream import SessionEvent

Wire = Mapping[str, Any]

PLAIN: Mapping[str, type] = {
    "text_delta": ev.TextDelta,
    "thinking_delta": ev.ThinkingDelta,
    "text": ev.Text,
    "thinking": ev.Thinking,
    "tool_call_delta": ev.ToolCallDelta,
    "permission_requested": ev.PermissionRequested,
    "permission_resolved": ev.PermissionResolved,
    "permission_denied": ev.PermissionDenied,
    "tool_progress": ev.ToolProgress,
    "iteration_limit_reached": ev.IterationLimitReached,
    "token_limit_reached": ev.TokenLimitReached,
    "budget_limit_reached": ev.BudgetLimitReached,
    "time_limit_reached": ev.TimeLimitReached,
    "loop_detected": ev.LoopDetected,
    "compacted": ev.Compacted,
    "notice": ev.Notice,
    "cancelled": ev.Cancelled,
    "interrupted": ev.Interrupted,
}
"""Events whose fields have the same values on the wire."""

COMMON = {"seq", "turnId", "iteration", "totalTokens", "timestamp", "parentToolId", "type"}


def session_event(wire: Wire) -> SessionEvent:
    """The event that has this wire form."""
    return SessionEvent(
        event=_event(wire),
        seq=wire["seq"],
        turn_id=wire["turnId"],
        iteration=wire["iteration"],
        total_tokens=wire["totalTokens"],
        timestamp=datetime.fromisoformat(wire["timestamp"]),
        parent_tool_id=wire.get("parentToolId"),
    )


def _event(wire: Wire) -> ev.AgentEvent:
    kind = wire["type"]
    if kind in PLAIN:
        return PLAIN[kind](**{_snake(name): value for name, value in wire.items() if name not in COMMON})
    match kind:
        case "turn_queued":
            return ev.TurnQueued(**_begun(wire), held=wire.get("held", False))
        case "turn_started":
            return ev.TurnStarted(**_begun(wire))
        case "steered":
            return ev.Steered(content=wire["content"], attachments=_attachments(wire))
        case "finished":
            return ev.Finished(
                stop_reason=wire["stopReason"],
                usage=_usage(wire["usage"]),
                files_changed=tuple(map(_change, wire["filesChanged"])),
                duration_s=None if wire.get("durationMs") is None else wire["durationMs"] / 1000,
            )
        case "usage":
            return ev.UsageReported(usage=_usage(wire["usage"]))
        case "plan":
            return ev.PlanChanged(entries=tuple(ev.PlanEntry(**each) for each in wire["entries"]))
        case _:
            return _work(wire)


def _work(wire: Wire) -> ev.AgentEvent:
    match wire["type"]:
        case "tool_call":
            return ev.ToolCall(
                tool_id=wire["toolId"],
                tool_name=wire["toolName"],
                input=wire["input"],
                title=wire["title"],
                kind=wire["kind"],
                risk=ToolRisk(wire["risk"]),
                read_only=wire["readOnly"],
                locations=tuple(map(_location, wire["locations"])),
                item_id=wire.get("itemId", ""),
            )
        case "tool_result":
            return ev.ToolResult(
                tool_id=wire["toolId"],
                tool_name=wire["toolName"],
                content=wire["content"],
                is_error=wire["isError"],
                cached=wire["cached"],
                truncated=wire["truncated"],
                duration_s=wire["durationMs"] / 1000,
                exit_code=wire.get("exitCode"),
                changes=tuple(map(_change, wire.get("changes", ()))),
            )
        case "llm_error":
            return ev.LlmError(
                error_type=wire["errorType"],
                error_message=wire["errorMessage"],
                retryable=wire["retryable"],
                attempt=wire["attempt"],
                will_retry=wire["willRetry"],
                retry_in_s=wire.get("retryInSeconds"),
                fallback_model=wire.get("fallbackModel"),
                withdrawn=tuple(wire["withdrawn"]),
            )
        case "hook":
            return HookRan(
                hook_event=wire["hookEvent"],
                command=wire["command"],
                decision=wire["decision"],
                duration_s=wire["durationMs"] / 1000,
            )
        case kind:
            raise ValueError(f"no event has the type {kind}")


def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


def _begun(wire: Wire) -> dict[str, Any]:
    return {name: wire[name] for name in ("prompt", "model", "mode", "agent")} | {"attachments": _attachments(wire)}


def _attachments(wire: Wire) -> tuple[ev.PromptAttachment, ...]:
    return tuple(map(_attachment, wire.get("attachments", ())))


def _attachment(wire: Wire) -> ev.PromptAttachment:
    files = tuple(RejectedFile(uri=each["uri"], n_changes=each["rejected"]) for each in wire.get("files", ()))
    return ev.PromptAttachment(
        kind=wire["type"],
        location=_location(wire) if "uri" in wire else None,
        n_problems=wire.get("count", 0),
        mime_type=wire.get("mimeType", ""),
        text=wire.get("text", wire.get("command", "")),
        rejected=files,
    )


def _location(wire: Wire) -> ev.Location:
    lines = wire.get("range")
    if lines is None:
        return ev.Location(path=_path(wire["uri"]))
    first, last = lines["start"]["line"] + 1, lines["end"]["line"]
    return ev.Location(path=_path(wire["uri"]), first_line=first, last_line=last)


def _change(wire: Wire) -> FileChange:
    counts = {name: wire[name] for name in ("kind", "added", "removed")}
    return FileChange(path=_path(wire["uri"]), patch=wire.get("patch", ""), **counts)


def _path(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


def _usage(wire: Wire) -> Usage:
    return Usage(**{_snake(name): value for name, value in wire.items() if name != "totalTokens"})
