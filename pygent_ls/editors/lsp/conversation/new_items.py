"""Makes the items of a conversation, as they begin."""

from __future__ import annotations

from datetime import datetime, timedelta

from pygent_ls.agent import events as ev
from pygent_ls.agent.ports.hooks import HookRan
from pygent_ls.editors.lsp.conversation.entries import OtherItem
from pygent_ls.editors.lsp.protocol import conversation as wire
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.saved_format.writer import timestamp

LimitReached = (
    ev.IterationLimitReached | ev.TokenLimitReached | ev.BudgetLimitReached | ev.TimeLimitReached | ev.LoopDetected
)


def common_fields(told: SessionEvent) -> wire.ConversationItemOut:
    """Return the fields that every item has."""
    return {"key": str(told.seq), "turnId": told.turn_id, "at": timestamp(told.timestamp)}


def words_item(
    told: SessionEvent, event: ev.TextDelta | ev.ThinkingDelta | ev.Text | ev.Thinking
) -> wire.TextItemOut | wire.ThinkingItemOut:
    """Return a text or thinking that begins."""
    common = common_fields(told)
    if isinstance(event, ev.TextDelta | ev.Text):
        return {
            "type": "text",
            **common,
            "itemId": event.item_id,
            "text": "",
            "streaming": True,
            "withdrawn": False,
        }
    return {
        "type": "thinking",
        **common,
        "itemId": event.item_id,
        "text": "",
        "streaming": True,
        "withdrawn": False,
        "endedAt": None,
    }


def failure_item(told: SessionEvent, event: ev.LlmError) -> wire.FailureItemOut:
    """Return a failed attempt of a model call."""
    is_over = event.fallback_model is None
    return {
        "type": "failure",
        **common_fields(told),
        "errorType": event.error_type,
        "message": event.error_message,
        "attempt": event.attempt,
        "state": "waiting" if event.will_retry else "final" if is_over else "retried",  # a fallback is called at once
        "retryAt": _seconds_after(told.timestamp, event.retry_in_s or 0.0) if event.will_retry else None,
        "fallbackModel": event.fallback_model,
    }


def _seconds_after(moment: datetime, seconds: float) -> str:
    try:
        return timestamp(moment + timedelta(seconds=seconds))
    except (OverflowError, ValueError):  # the provider asks for a wait that no calendar has
        return timestamp(moment)


def notice_item(told: SessionEvent, event: LimitReached | ev.Compacted | HookRan | ev.Notice) -> OtherItem:
    """Return an item that one event describes."""
    common = common_fields(told)
    match event:
        case ev.Compacted():
            return {
                "type": "compacted",
                **common,
                "tokensBefore": event.tokens_before,
                "tokensAfter": event.tokens_after,
                "messagesSummarised": event.messages_summarised,
            }
        case HookRan():
            return {
                "type": "hook",
                **common,
                "hookEvent": event.hook_event,
                "command": event.command,
                "decision": event.decision,
                "durationMs": round(event.duration_s * 1000),
            }
        case ev.Notice():
            return {"type": "notice", **common, "level": event.level, "text": event.content}
        case _:
            return {"type": "limit", **common, "limitType": event.type, "limit": event.limit, "value": event.value}


def tool_item(told: SessionEvent) -> wire.ToolItemOut:
    """Return a call that begins."""
    return {
        "type": "tool",
        **common_fields(told),
        "toolId": "",
        "toolName": "",
        "title": "",
        "kind": "other",
        "risk": "high",
        "readOnly": False,
        "input": {},
        "locations": [],
        "status": "running",
        "runsSince": timestamp(told.timestamp),
        "output": "",
        "result": None,
        "changes": [],
        "permissionId": None,
        "decision": None,
        "deniedReason": None,
    }
