"""Closed sets of names that several packages of the core share."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal


class ToolRisk(StrEnum):
    """How much harm a call may do: low passes, medium asks unless trusted, high always asks."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class ToolCategory(StrEnum):
    """Group of a tool in lists."""

    FILESYSTEM = "filesystem"
    SEARCH = "search"
    GIT = "git"
    SHELL = "shell"
    WEB = "web"
    TESTING = "testing"
    SCAFFOLD = "scaffold"
    AGENT = "agent"
    MCP = "mcp"
    EDITOR = "editor"


ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "fetch", "think", "other"]

Mode = Literal["default", "accept_edits", "plan", "trust", "bypass"]

StopReason = Literal[
    "end_turn",
    "max_iterations",
    "token_limit",
    "budget_limit",
    "time_limit",
    "max_output_tokens",
    "refusal",
    "loop_detected",
    "cancelled",
    "interrupted",
    "error",
]

DecidedBy = Literal["user", "rule", "mode", "hook"]

CompletionKind = Literal["command", "argument", "file", "word", "agent", "resource"]
"""What completes a prompt that is being typed."""
