"""Saved sessions: the format that `/save` and the JSON export write, and `reader.py` reads. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from pygent_ls.agent.context.conversation_text import utf8
from pygent_ls.agent.messages import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
)

VERSION = 1
"""Version of the file format."""


def timestamp(moment: datetime) -> str:
    """Return the time in RFC 3339 format, in UTC with microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class SavedSession(Struct, frozen=True, kw_only=True):
    """Content of a saved session file."""

    id: str
    name: str
    created: datetime
    updated: datetime
    working_directory: str
    agent: str
    model: str
    messages: tuple[Message, ...]
    usage: Usage


def message_out(message: Message) -> dict[str, Any]:
    """Return a message with its blocks, as on the wire and in the file."""
    return {
        "role": message.role,
        "content": [block_out(block) for block in message.blocks],
        "turnId": message.turn_id,
        "timestamp": timestamp(message.timestamp),
    }


def block_out(block: Block) -> dict[str, Any]:
    """Return a block, without fields that have their default value."""
    match block:
        case TextBlock(rejected=(_, *_) as rejected):
            files = [{"uri": utf8(each.uri), "rejected": each.n_changes} for each in rejected]
            return {"type": "review", "text": utf8(block.text), "files": files}
        case TextBlock():
            return {"type": "text", "text": utf8(block.text)} | ({"fromOutside": True} if block.from_outside else {})
        case ThinkingBlock():
            seals = {"signature": block.signature, "redacted": block.redacted}
            sealed = {name: seal for name, seal in seals.items() if seal is not None}
            made_by = {"model": block.model} if sealed else {}
            of_provider = _provider_data(block.family, block.provider_data, always=True)
            return {"type": "thinking", "thinking": utf8(block.thinking)} | sealed | made_by | of_provider
        case ImageBlock():
            return {"type": "image", "mimeType": block.mime_type, "data": block.data}
        case ToolUseBlock():
            problem = {} if block.problem is None else {"problem": utf8(block.problem)}
            of_provider = _provider_data(block.family, block.provider_data)
            call = {"type": "tool_use", "id": block.id, "name": block.name, "input": dict(block.input)}
            return call | problem | of_provider
        case ToolResultBlock():
            own = {} if block.from_outside else {"fromOutside": False}
            content = utf8(block.content)
            return {
                "type": "tool_result",
                "toolUseId": block.tool_use_id,
                "content": content,
                "isError": block.is_error,
            } | own


def _provider_data(family: str, data: Mapping[str, Any] | None, *, always: bool = False) -> dict[str, Any]:
    """Return the data that the provider expects back, with its family; `always` adds the family without data too."""
    if data is None:
        return {"family": family} if always and family else {}
    return {"family": family, "providerData": dict(data)}


def settled(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the conversation up to the last point at which each tool call has its result.

    A running turn may be between a call and its result.
    """
    kept = list(messages)
    while kept and kept[-1].role == "assistant" and kept[-1].tool_calls:
        kept.pop()
    return tuple(kept)


def saved_text(session: SavedSession) -> str:
    """Return the file's text, which ends with a line break."""
    content = {
        "version": VERSION,
        "id": session.id,
        "name": session.name,
        "created": timestamp(session.created),
        "updated": timestamp(session.updated),
        "working_directory": session.working_directory,
        "agent": session.agent,
        "model": session.model,
        "context_format": "json",
        "messages": [message_out(message) for message in session.messages],
        "metadata": {"tokens_used": session.usage.total_tokens, "cost_usd": session.usage.cost_usd},
    }
    return utf8(json.dumps(content, ensure_ascii=False, indent=1)) + "\n"
