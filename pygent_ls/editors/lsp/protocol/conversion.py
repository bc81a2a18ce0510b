"""Conversion between core values and wire values. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pygent_ls.agent import events as ev
from pygent_ls.agent.context.attachments import (
    DiagnosticsPart,
    EditorPart,
    FilePart,
    ImagePart,
    PromptPart,
    ReviewPart,
    SelectionPart,
    TerminalPart,
)
from pygent_ls.agent.context.images import picture_from_base64
from pygent_ls.agent.messages import ImageBlock, RejectedFile, Usage
from pygent_ls.agent.ports.editor_state import LineRange, Severity
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.agent.turn.state import TurnResult
from pygent_ls.editors.lsp.protocol import content, events, shapes
from pygent_ls.editors.lsp.protocol.sessions import SessionOut
from pygent_ls.editors.lsp.protocol.turns import TurnResultOut
from pygent_ls.editors.lsp.uris import path_of
from pygent_ls.errors import ToolError
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.index.entries import SessionEntry
from pygent_ls.sessions.journal.replay import Recalled
from pygent_ls.sessions.saved_format.writer import timestamp
from pygent_ls.sessions.session import Session
from pygent_ls.workspace.git.session_worktrees import worktree_of

UriOf = Callable[[Path], str]


def usage_out(usage: Usage) -> shapes.UsageOut:
    """Convert token counts and cost."""
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "totalTokens": usage.total_tokens,
        "costUsd": usage.cost_usd,
        "contextTokens": usage.context_tokens,
        "contextLimit": usage.context_limit,
    }


def event_out(session_event: SessionEvent, uri_of: UriOf) -> events.WireEvent:
    """Convert an event with its place in the session."""
    common: events.EventOut = {
        "seq": session_event.seq,
        "turnId": session_event.turn_id,
        "iteration": session_event.iteration,
        "totalTokens": session_event.total_tokens,
        "timestamp": timestamp(session_event.timestamp),
    }
    if session_event.parent_tool_id is not None:
        common["parentToolId"] = session_event.parent_tool_id
    event = session_event.event
    match event:
        case ev.TextDelta() | ev.ThinkingDelta() | ev.Text() | ev.Thinking():
            return {**common, "type": event.type, "itemId": event.item_id, "content": event.content}
        case ev.ToolProgress():
            return {**common, "type": event.type, "toolId": event.tool_id, "content": event.content}
        case ev.ToolCall() | ev.ToolCallDelta() | ev.ToolResult():
            return _tool_event(event, common, uri_of)
        case ev.PermissionRequested() | ev.PermissionResolved() | ev.PermissionDenied():
            return _permission_event(event, common)
        case ev.LlmError() | ev.Compacted() | ev.PlanChanged() | ev.HookRan() | ev.Steered() | ev.Notice():
            return _told_event(event, common, uri_of)
        case _:
            return _turn_event(event, common, uri_of)


def _tool_event(
    event: ev.ToolCall | ev.ToolCallDelta | ev.ToolResult, common: events.EventOut, uri_of: UriOf
) -> events.WireEvent:
    match event:
        case ev.ToolCallDelta():
            return {
                **common,
                "type": event.type,
                "itemId": event.item_id,
                "toolName": event.tool_name,
                "argument": event.argument,
                "content": event.content,
            }
        case ev.ToolCall():
            call: events.ToolCallOut = {
                **common,
                "type": event.type,
                "toolId": event.tool_id,
                "toolName": event.tool_name,
                "input": dict(event.input),
                "title": event.title,
                "kind": event.kind,
                "risk": event.risk.value,
                "readOnly": event.read_only,
                "locations": [location_out(each, uri_of) for each in event.locations],
            }
            if event.item_id:
                call["itemId"] = event.item_id
            return call
        case ev.ToolResult():
            result: events.ToolResultOut = {
                **common,
                "type": event.type,
                "toolId": event.tool_id,
                "toolName": event.tool_name,
                "content": event.content,
                "isError": event.is_error,
                "cached": event.cached,
                "truncated": event.truncated,
                "durationMs": round(event.duration_s * 1000),
            }
            if event.exit_code is not None:
                result["exitCode"] = event.exit_code
            if event.changes:
                result["changes"] = [change_out(each, uri_of) for each in event.changes]
            return result


def _permission_event(
    event: ev.PermissionRequested | ev.PermissionResolved | ev.PermissionDenied, common: events.EventOut
) -> events.WireEvent:
    match event:
        case ev.PermissionRequested():
            return {**common, "type": event.type, "permissionId": event.permission_id, "toolId": event.tool_id}
        case ev.PermissionResolved():
            return {
                **common,
                "type": event.type,
                "permissionId": event.permission_id,
                "toolId": event.tool_id,
                "outcome": event.outcome,
                "by": event.by,
            }
        case ev.PermissionDenied():
            return {
                **common,
                "type": event.type,
                "toolId": event.tool_id,
                "toolName": event.tool_name,
                "reason": event.reason,
            }


ToldEvent = ev.LlmError | ev.Compacted | ev.PlanChanged | ev.HookRan | ev.Steered | ev.Notice


def _told_event(event: ToldEvent, common: events.EventOut, uri_of: UriOf) -> events.WireEvent:
    match event:
        case ev.LlmError():
            return _llm_error(event, common)
        case ev.Compacted():
            return {
                **common,
                "type": event.type,
                "tokensBefore": event.tokens_before,
                "tokensAfter": event.tokens_after,
                "messagesSummarised": event.messages_summarised,
            }
        case ev.PlanChanged():
            return {**common, "type": event.type, "entries": plan_out(event.entries)}
        case ev.HookRan():
            return {
                **common,
                "type": event.type,
                "hookEvent": event.hook_event,
                "command": event.command,
                "decision": event.decision,
                "durationMs": round(event.duration_s * 1000),
            }
        case ev.Steered():
            steered: events.SteeredOut = {**common, "type": event.type, "content": event.content}
            if event.attachments:
                steered["attachments"] = [attachment_out(each, uri_of) for each in event.attachments]
            return steered
        case ev.Notice():
            return {**common, "type": event.type, "content": event.content, "level": event.level}


def _llm_error(event: ev.LlmError, common: events.EventOut) -> events.LlmErrorOut:
    out: events.LlmErrorOut = {
        **common,
        "type": event.type,
        "errorType": event.error_type,
        "errorMessage": event.error_message,
        "retryable": event.retryable,
        "attempt": event.attempt,
        "willRetry": event.will_retry,
        "withdrawn": list(event.withdrawn),
    }
    if event.retry_in_s is not None:
        out["retryInSeconds"] = round(event.retry_in_s, 3)
    if event.fallback_model is not None:
        out["fallbackModel"] = event.fallback_model
    return out


TurnEvent = (
    ev.TurnQueued
    | ev.TurnStarted
    | ev.UsageReported
    | ev.IterationLimitReached
    | ev.TokenLimitReached
    | ev.BudgetLimitReached
    | ev.TimeLimitReached
    | ev.LoopDetected
    | ev.Cancelled
    | ev.Interrupted
    | ev.Finished
)


def _turn_event(event: TurnEvent, common: events.EventOut, uri_of: UriOf) -> events.WireEvent:
    match event:
        case ev.TurnQueued() | ev.TurnStarted():
            begun: events.TurnBeginOut = {
                **common,
                "type": event.type,
                "prompt": event.prompt,
                "model": event.model,
                "mode": event.mode,
                "agent": event.agent,
            }
            if event.attachments:
                begun["attachments"] = [attachment_out(each, uri_of) for each in event.attachments]
            if isinstance(event, ev.TurnQueued) and event.held:
                begun["held"] = True
            return begun
        case ev.UsageReported():
            used: events.UsageEventOut = {**common, "type": event.type, "usage": usage_out(event.usage)}
            if event.answered is not None:
                used["call"] = {"model": event.answered.model, "usage": usage_out(event.answered.usage)}
            return used
        case ev.IterationLimitReached() | ev.TokenLimitReached() | ev.BudgetLimitReached():
            return {**common, "type": event.type, "limit": event.limit, "value": event.value}
        case ev.TimeLimitReached() | ev.LoopDetected():
            return {**common, "type": event.type, "limit": event.limit, "value": event.value}
        case ev.Cancelled() | ev.Interrupted():
            return {**common, "type": event.type}
        case ev.Finished():
            return _finished(event, common, uri_of)


def _finished(event: ev.Finished, common: events.EventOut, uri_of: UriOf) -> events.FinishedOut:
    finished: events.FinishedOut = {
        **common,
        "type": event.type,
        "stopReason": event.stop_reason,
        "usage": usage_out(event.usage),
        "filesChanged": [file_changed_out(each, uri_of) for each in event.files_changed],
    }
    if event.duration_s is not None:
        finished["durationMs"] = round(event.duration_s * 1000)
    return finished


def attachment_out(attachment: ev.PromptAttachment, uri_of: UriOf) -> content.AttachmentOut:
    """Convert an attachment of a prompt."""
    if attachment.kind == "review":
        files: list[content.RejectedFileOut] = [
            {"uri": each.uri, "rejected": each.n_changes} for each in attachment.rejected
        ]
        return {"type": "review", "text": attachment.text, "files": files}
    if attachment.kind == "terminal":
        return {"type": "terminal", "command": attachment.text}
    if attachment.location is None:
        return {"type": "image", "mimeType": attachment.mime_type}
    where = location_out(attachment.location, uri_of)
    match attachment.kind:
        case "image":
            return {"type": "image", "mimeType": attachment.mime_type, "uri": where["uri"]}
        case "diagnostics":
            return {"type": "diagnostics", "uri": where["uri"], "count": attachment.n_problems}
        case "file" | "selection" as kind:
            return {"type": kind, **where}


def location_out(location: ev.Location, uri_of: UriOf) -> shapes.LocationOut:
    """Convert the location of a tool call."""
    out: shapes.LocationOut = {"uri": uri_of(location.path)}
    if location.first_line is not None:
        last = location.last_line or location.first_line
        out["range"] = {
            "start": {"line": location.first_line - 1, "character": 0},
            "end": {"line": last, "character": 0},
        }
    return out


def change_out(change: FileChange, uri_of: UriOf) -> shapes.ChangeOut:
    """Convert a changed file, with its diff."""
    return {**file_changed_out(change, uri_of), "patch": change.patch}


def plan_out(entries: Sequence[ev.PlanEntry]) -> list[events.PlanEntryOut]:
    """Convert a plan."""
    return [{"content": each.content, "status": each.status, "priority": each.priority} for each in entries]


def file_changed_out(change: FileChange, uri_of: UriOf) -> shapes.FileChangedOut:
    """Convert a changed file."""
    return {"uri": uri_of(change.path), "kind": change.kind, "added": change.added, "removed": change.removed}


def turn_result(session_id: str, turn_id: str, result: TurnResult, uri_of: UriOf) -> TurnResultOut:
    """Return the result of `pygent/turn/start`."""
    out: TurnResultOut = {
        "sessionId": session_id,
        "turnId": turn_id,
        "stopReason": result.stop_reason,
        "text": result.text,
        "usage": usage_out(result.usage),
        "iterations": result.iterations,
        "filesChanged": [file_changed_out(each, uri_of) for each in result.files_changed],
    }
    if result.structured is not None:
        out["structured"] = result.structured.value
    if result.error is not None:
        error = result.error
        out["error"] = {"type": error.type, "message": error.message, "retryable": error.retryable}
    return out


def session_out(session: Session | Recalled | SessionEntry) -> SessionOut:
    """Convert a session."""
    entry = session if isinstance(session, SessionEntry) else _entry_of(session)
    worktree = worktree_of(entry.working_directory)
    out: SessionOut = {
        "sessionId": entry.id,
        "name": entry.name,
        "cwd": str(entry.working_directory),
        "createdAt": timestamp(entry.created_at),
        "updatedAt": timestamp(entry.updated_at),
        "agent": entry.agent,
        "model": entry.model,
        "mode": entry.mode,
        "usage": usage_out(entry.usage),
        "messageCount": entry.n_messages,
        "lastSeq": entry.last_seq,
        "interrupted": entry.is_interrupted,
    }
    if worktree is not None:
        out["worktree"] = worktree.name
    return out


def _entry_of(session: Session | Recalled) -> SessionEntry:
    return SessionEntry.of(session, is_interrupted=not isinstance(session, Session) and session.is_interrupted)


class BadBlockError(ValueError):
    """Raised for an invalid part of a prompt: a URI that is not a file, or data that is not an image."""


def prompt_parts(prompt: str | Sequence[Any], context: content.EditorContext | None) -> tuple[PromptPart, ...]:
    """Return the prompt with its attachments. Raises `BadBlockError`."""
    parts: list[PromptPart] = [prompt] if isinstance(prompt, str) else [_part(block) for block in prompt]
    if context is not None:
        parts += _context_parts(context)
    return tuple(parts)


def _part(block: content.ContentBlock) -> PromptPart:
    match block:
        case content.TextContent(text=text):
            return text
        case content.FileContent(uri=uri, range=where):
            return FilePart(path=_path(uri), lines=lines_of(where) if where else None)
        case content.SelectionContent(uri=uri, range=where, text=text):
            return SelectionPart(path=_path(uri), lines=lines_of(where), text=text)
        case content.DiagnosticsContent(uri=uri, items=items):
            return DiagnosticsPart(path=_path(uri), lines=tuple(_problem(item) for item in items))
        case content.ImageContent(mime_type=mime_type, data=str() as data):
            return _picture(data)
        case content.ImageContent(mime_type=mime_type, uri=uri):
            return _image(mime_type, uri or "")
        case content.TerminalContent(command=command, output=output, exit_code=exit_code):
            return TerminalPart(command=command, output=output, exit_code=exit_code)
        case content.ReviewContent(text=text, files=files):
            rejected = tuple(RejectedFile(uri=each.uri, n_changes=each.rejected) for each in files)
            return ReviewPart(text=text, files=rejected)


def _context_parts(context: content.EditorContext) -> list[PromptPart]:
    """Return the editor context as background parts. What is not a file (a new document, an output panel) is left
    out."""
    parts: list[PromptPart] = []
    visible = tuple(path for uri in context.visible_uris or () if (path := path_of(uri)))
    active = path_of(context.active_uri) if context.active_uri else None
    if active or visible:
        parts.append(EditorPart(active=active, visible=visible))
    chosen = context.selection
    if chosen and chosen.range.start != chosen.range.end and (path := path_of(chosen.uri)):
        parts.append(FilePart(path=path, lines=lines_of(chosen.range), is_background=True))  # empty: a cursor
    for file in context.diagnostics or ():
        if file.items and (path := path_of(file.uri)):
            lines = tuple(_problem(item) for item in file.items)
            parts.append(DiagnosticsPart(path=path, lines=lines, is_background=True))
    return parts


def _image(mime_type: str, uri: str) -> PromptPart:
    scheme, _, data = uri.partition(";base64,")
    if scheme.startswith("data:"):
        return _picture(data)
    return ImagePart(path=_path(uri), mime_type=mime_type)


def _picture(data: str) -> ImageBlock:
    try:
        return picture_from_base64(data, "The data of the image")
    except ToolError as error:
        raise BadBlockError(str(error)) from None


def _path(uri: str) -> Path:
    path = path_of(uri)
    if path is None:
        raise BadBlockError(f"{uri!r} is not a file URI")
    return path


def lines_of(where: shapes.WireRange) -> LineRange:
    """Return the lines of a range; a range that ends at the beginning of a line does not include that line."""
    last = where.end.line + (1 if where.end.character or where.end.line == where.start.line else 0)
    return LineRange(first=where.start.line + 1, last=last)


SEVERITIES: Mapping[int, Severity] = {1: "error", 2: "warning", 3: "information", 4: "hint"}
"""LSP's severity numbers as words."""


def origin_of(source: str | None, code: Any) -> str:
    """Return the source and rule of a diagnostic; some clients send objects as codes."""
    if isinstance(code, dict):
        code = cast("Mapping[str, Any]", code).get("value")
    return " ".join(str(part) for part in (source, code) if part is not None)


def _problem(item: content.WireDiagnostic) -> str:
    severity = SEVERITIES.get(item.severity or 1, "error")
    origin = origin_of(item.source, item.code)
    said = f"line {item.range.start.line + 1}: {severity}: {item.message}"
    return f"{said} [{origin}]" if origin else said
