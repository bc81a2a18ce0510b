"""Answers of the model server in the format of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

SIGNATURE = "SEAL"
"""Signature of every thinking block."""

_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def events(
    *,
    thoughts: Sequence[str],
    texts: Sequence[str],
    calls: Sequence[tuple[str, str, Sequence[str]]],
    finish: str | None,
    usage: tuple[int, int, int] | None,
) -> Iterator[Mapping[str, Any]]:
    """The events of one answer. Thoughts and texts come in pieces; a call is name, id and pieces of its arguments;
    `usage` is what was read, of that cached, and what was written. Without a finish the stream just ends."""
    n_read, n_cached, n_written = usage or (0, 0, 0)
    counts = {"input_tokens": n_read - n_cached, "cache_read_input_tokens": n_cached, "output_tokens": 1}
    message: dict[str, Any] = {"id": "msg", "type": "message", "role": "assistant", "content": [], "model": "claude"}
    yield {"type": "message_start", "message": message | ({"usage": counts} if usage else {})}
    yield {"type": "ping"}
    index = 0
    if thoughts:
        deltas = [{"type": "thinking_delta", "thinking": each} for each in thoughts]
        deltas.append({"type": "signature_delta", "signature": SIGNATURE})
        yield from _block(index, {"type": "thinking", "thinking": "", "signature": ""}, deltas)
        index += 1
    if texts:
        yield from _block(index, {"type": "text", "text": ""}, [{"type": "text_delta", "text": each} for each in texts])
        index += 1
    for name, call_id, parts in calls:
        deltas = [{"type": "input_json_delta", "partial_json": each} for each in parts]
        yield from _block(index, {"type": "tool_use", "id": call_id, "name": name, "input": {}}, deltas)
        index += 1
    if finish is not None:
        reason = _REASONS.get(finish, finish)
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": n_written} if usage else {},
        }
        yield {"type": "message_stop"}


def _block(index: int, block: Mapping[str, Any], deltas: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    yield {"type": "content_block_start", "index": index, "content_block": block}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
