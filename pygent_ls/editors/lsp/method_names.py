"""Method, event and command names that `initialize` returns, without their types, whose import would delay the answer.

A test compares them with `schema.py` and `conversion.py`.
"""

from __future__ import annotations

PROTOCOL_VERSION = 1

METHODS = (
    "pygent/turn/start",
    "pygent/turn/cancel",
    "pygent/turn/steer",
    "pygent/turn/retry",
    "pygent/turn/resume",
    "pygent/turn/queue",
    "pygent/turn/dequeue",
    "pygent/session/new",
    "pygent/session/list",
    "pygent/session/search",
    "pygent/session/load",
    "pygent/session/attach",
    "pygent/session/rename",
    "pygent/session/delete",
    "pygent/session/fork",
    "pygent/session/export",
    "pygent/session/configure",
    "pygent/session/close",
    "pygent/session/compact",
    "pygent/session/clear",
    "pygent/permission/setMode",
    "pygent/permission/rules",
    "pygent/permission/forget",
    "pygent/background/list",
    "pygent/background/stop",
    "pygent/checkpoint/list",
    "pygent/checkpoint/diff",
    "pygent/checkpoint/restore",
    "pygent/tools/list",
    "pygent/models/list",
    "pygent/agents/list",
    "pygent/keys/set",
    "pygent/commands/list",
    "pygent/complete",
    "pygent/mcp/status",
    "pygent/mcp/restart",
    "pygent/mcp/log",
    "pygent/mcp/login",
    "pygent/mcp/logout",
    "pygent/status",
)

NOTIFICATIONS = ("pygent/context/didChange",)
"""Notifications of clients."""

EVENTS = (
    "turn_queued",
    "turn_started",
    "text_delta",
    "thinking_delta",
    "text",
    "thinking",
    "tool_call",
    "permission_requested",
    "permission_resolved",
    "permission_denied",
    "tool_progress",
    "tool_result",
    "usage",
    "llm_error",
    "iteration_limit_reached",
    "token_limit_reached",
    "budget_limit_reached",
    "time_limit_reached",
    "loop_detected",
    "compacted",
    "plan",
    "hook",
    "steered",
    "notice",
    "cancelled",
    "interrupted",
    "finished",
)

COMMANDS = (
    "pygent.ask",
    "pygent.fix",
    "pygent.explain",
    "pygent.test",
    "pygent.refactor",
    "pygent.doc",
    "pygent.sendChat",
    "pygent.openChat",
    "pygent.implement",
    "pygent.cancel",
    "pygent.undo",
    "pygent.newSession",
    "pygent.setMode",
    "pygent.setModel",
    "pygent.setup",
)
