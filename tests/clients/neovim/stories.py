"""Events of a session as its daemon tells them, made by hand or read from `tests/transcripts/events`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Event = dict[str, Any]

TRANSCRIPTS = Path(__file__).parents[2] / "transcripts" / "events"

USAGE = {
    "inputTokens": 100,
    "outputTokens": 20,
    "cacheReadTokens": 0,
    "cacheWriteTokens": 0,
    "totalTokens": 120,
    "costUsd": None,
    "contextTokens": 120,
    "contextLimit": 100_000,
}


def recorded(name: str) -> list[Event]:
    """The events of a scene that a daemon told; of what came twice, both."""
    lines = (TRANSCRIPTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [event for line in lines for event in json.loads(line).get("events", [])]


def numbered(*told: Event) -> list[Event]:
    """Return the events with their numbers; by default of turn `t1`, a second apart."""
    return [
        {
            "seq": seq,
            "turnId": "t1",
            "iteration": 1,
            "totalTokens": 0,
            "timestamp": f"2026-01-01T{seq // 3600 % 24:02}:{seq // 60 % 60:02}:{seq % 60:02}.500000Z",
            **event,
        }
        for seq, event in enumerate(told, 1)
    ]


def started(prompt: str = "go", turn: str = "t1", *, is_queued: bool = False) -> Event:
    kind = "turn_queued" if is_queued else "turn_started"
    return {"type": kind, "turnId": turn, "prompt": prompt, "model": "m", "mode": "default", "agent": "default"}


def finished(turn: str = "t1", reason: str = "end_turn") -> Event:
    return {"type": "finished", "turnId": turn, "stopReason": reason, "usage": USAGE, "filesChanged": []}


def said(content: str, item: str = "i1", kind: str = "text_delta") -> Event:
    return {"type": kind, "itemId": item, "content": content}


def called(tool: str = "c1", title: str = "Read a.py", **more: Any) -> Event:
    return {
        "type": "tool_call",
        "toolId": tool,
        "toolName": "read_file",
        "input": {"path": "a.py"},
        "title": title,
        "kind": "read",
        "risk": "low",
        "readOnly": True,
        "locations": [],
        **more,
    }


def resulted(tool: str = "c1", content: str = "x = 1", **more: Any) -> Event:
    return {
        "type": "tool_result",
        "toolId": tool,
        "toolName": "read_file",
        "content": content,
        "isError": False,
        "cached": False,
        "truncated": False,
        "durationMs": 5,
        **more,
    }


def failed(attempt: int = 1, *, will_retry: bool = True, **more: Any) -> Event:
    return {
        "type": "llm_error",
        "errorType": "overloaded",
        "errorMessage": f"Busy ({attempt})",
        "retryable": True,
        "attempt": attempt,
        "willRetry": will_retry,
        "retryInSeconds": 2.5 if will_retry else None,
        "withdrawn": [],
        **more,
    }
