"""Types of the JSON output lines, in the format of Claude Code; see docs/scripts.md.

Each line is one JSON object. `session_id` and `uuid`, which every line has, are added when it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from pygent_ls.agent.events import ModelAnswered
from pygent_ls.agent.messages import Usage


class AnthropicUsage(TypedDict):
    """Token counts as in Anthropic's API: tokens read from or written to a cache are not part of the input tokens."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int


class InitLine(TypedDict):
    """The start of a turn."""

    type: Literal["system"]
    subtype: Literal["init"]
    cwd: str
    model: str
    tools: Sequence[str]
    mcp_servers: Sequence[Mapping[str, str]]
    permissionMode: str
    agents: Sequence[str]
    slash_commands: Sequence[str]


class AssistantMessage(TypedDict):
    """One block of an answer. All blocks have the answer's id, its usage and its stop reason."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: Sequence[Mapping[str, Any]]
    stop_reason: str | None
    stop_sequence: None
    usage: AnthropicUsage


class AssistantLine(TypedDict):
    """Text or a tool call of the model."""

    type: Literal["assistant"]
    message: AssistantMessage
    parent_tool_use_id: str | None


class UserMessage(TypedDict):
    """Results of tool calls."""

    role: Literal["user"]
    content: Sequence[Mapping[str, Any]]


class UserLine(TypedDict):
    """The end of a tool call."""

    type: Literal["user"]
    message: UserMessage
    parent_tool_use_id: str | None


class CompactMetadata(TypedDict):
    """How the conversation was compacted."""

    trigger: Literal["manual", "auto"]
    pre_tokens: int
    post_tokens: int
    messages_summarized: int


class CompactLine(TypedDict):
    """The conversation was compacted here."""

    type: Literal["system"]
    subtype: Literal["compact_boundary"]
    compact_metadata: CompactMetadata


class StreamEventLine(TypedDict):
    """A delta of an answer, as an event of Anthropic's Messages API."""

    type: Literal["stream_event"]
    event: Mapping[str, Any]
    parent_tool_use_id: str | None


class RetryLine(TypedDict):
    """A model call failed and is repeated, after `retry_delay_ms` or with `fallback_model`. `error` is the kind of
    error as in the event `llm_error`; `attempt` counts from 1."""

    type: Literal["system"]
    subtype: Literal["api_retry"]
    attempt: int
    retry_delay_ms: int
    error: str
    error_message: str
    fallback_model: str | None
    parent_tool_use_id: str | None


class ToolProgressLine(TypedDict):
    """Progress of a tool call: one line with empty `content` when the call is made, then its output as it arrives, and
    one line with empty `content` when it ends."""

    type: Literal["tool_progress"]
    tool_use_id: str
    tool_name: str
    status: Literal["started", "running", "ended"]
    content: str
    elapsed_time_seconds: float
    """Time since the call was made, including the time that a permission prompt took."""
    parent_tool_use_id: str | None


class ToolCallDeltaLine(TypedDict):
    """Piece of a text in the arguments of a call that the model is still writing."""

    type: Literal["tool_call_delta"]
    item_id: str
    tool_name: str
    argument: str
    """Name of the argument, or path of keys and indices joined by dots."""
    content: str
    parent_tool_use_id: str | None


class InputErrorLine(TypedDict):
    """A line of standard input was invalid and was ignored."""

    type: Literal["system"]
    subtype: Literal["input_error"]
    line: int
    error: str


class Denial(TypedDict):
    """A tool call that was denied."""

    tool_name: str
    tool_use_id: str
    tool_input: Mapping[str, Any]


class ResultLine(TypedDict):
    """The end of a turn."""

    type: Literal["result"]
    subtype: str
    is_error: bool
    result: str
    stop_reason: str
    num_turns: int
    duration_ms: int
    duration_api_ms: int
    total_cost_usd: float | None
    usage: AnthropicUsage
    permission_denials: Sequence[Denial]
    errors: NotRequired[Sequence[str]]
    structured_output: NotRequired[object]
    findings: NotRequired[Sequence[Mapping[str, Any]]]
    """Findings of a code review; absent after any other turn."""


class ControlResponseLine(TypedDict):
    """The answer to a request of the program."""

    type: Literal["control_response"]
    response: Mapping[str, Any]


class ControlRequestLine(TypedDict):
    """A request to the program."""

    type: Literal["control_request"]
    request_id: str
    request: Mapping[str, Any]


class ControlCancelLine(TypedDict):
    """A request that is no longer valid."""

    type: Literal["control_cancel_request"]
    request_id: str


TurnLine = AssistantLine | UserLine | CompactLine | RetryLine | StreamEventLine | ToolProgressLine | ToolCallDeltaLine
Line = TurnLine | InitLine | ResultLine | InputErrorLine | ControlResponseLine | ControlRequestLine | ControlCancelLine


def usage_out(usage: Usage) -> AnthropicUsage:
    """Convert the core's usage, whose input tokens include cached ones."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": max(usage.input_tokens - cached, 0),
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
    }


def stop_reason_of(answered: ModelAnswered) -> str:
    """Return the stop reason of an answer, in Anthropic's terms."""
    match answered.finish:
        case "end_turn":
            return "end_turn"
        case "tools":
            return "tool_use"
        case "length":
            return "max_tokens"
        case "refusal":
            return "refusal"
        case "paused":
            return "pause_turn"
        case "unknown":
            return "tool_use" if answered.n_calls else "end_turn"
