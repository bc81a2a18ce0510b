"""Items of what was said before a session's first event: a copy of another session has only the messages of it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import takewhile

from pygent_ls.agent.messages import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.editors.lsp.conversation.entries import put_of
from pygent_ls.editors.lsp.protocol import conversation as wire
from pygent_ls.sessions.saved_format.writer import timestamp

BATCH_ITEMS = 200
"""Number of items that are sent together."""


def earlier_items(messages: Sequence[Message], turn_ids: Container[str]) -> Iterator[wire.ItemsOut]:
    """Yield the items of the messages before the first turn that has events, in batches."""
    earlier = [*takewhile(lambda each: each.turn_id not in turn_ids, messages)]
    items = [*_items(earlier)]
    for begin in range(0, len(items), BATCH_ITEMS):
        batch: list[wire.PutOut | wire.AppendOut] = [put_of(each) for each in items[begin : begin + BATCH_ITEMS]]
        yield {"seq": 0, "at": None, "items": batch, "runningTurnId": None}


def _items(messages: Sequence[Message]) -> Iterator[wire.AnyItem]:
    results = {
        block.tool_use_id: block
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolResultBlock)
    }
    prompted: set[str] = set()
    for place, message in enumerate(messages):
        if message.role == "assistant":
            yield from _answer_items(message, place, results)
        else:
            yield from _prompt_items(message, place, prompted)


def _fields(message: Message, place: int, index: int) -> wire.ConversationItemOut:
    return {
        "key": f"earlier {place} {index}",
        "turnId": message.turn_id,
        "at": timestamp(message.timestamp),
    }


def _prompt_items(message: Message, place: int, prompted: set[str]) -> Iterator[wire.AnyItem]:
    typed: list[str] = []
    for index, block in enumerate(message.blocks):
        if not isinstance(block, TextBlock):
            continue
        if block.rejected:
            yield {
                "type": "review",
                **_fields(message, place, index),
                "text": block.text,
                "files": [{"uri": each.uri, "rejected": each.n_changes} for each in block.rejected],
            }
        elif block.is_typed:
            typed.append(block.text)
    if text := "\n\n".join(typed).strip():
        yield {
            "type": "prompt",
            **_fields(message, place, len(message.blocks)),
            "text": text,
            "steered": message.turn_id in prompted,
            "attachments": [],
        }
        prompted.add(message.turn_id)


def _answer_items(message: Message, place: int, results: Mapping[str, ToolResultBlock]) -> Iterator[wire.AnyItem]:
    for index, block in enumerate(message.blocks):
        common = _fields(message, place, index)
        match block:
            case TextBlock(text=text) if text.strip():
                yield {
                    "type": "text",
                    **common,
                    "itemId": common["key"],
                    "text": text,
                    "streaming": False,
                    "withdrawn": False,
                }
            case ThinkingBlock(thinking=thinking) if thinking.strip():
                yield {
                    "type": "thinking",
                    **common,
                    "itemId": common["key"],
                    "text": thinking,
                    "streaming": False,
                    "withdrawn": False,
                    "endedAt": None,
                }
            case ToolUseBlock():
                yield _call_item(block, common, results.get(block.id))
            case _:
                pass


def _call_item(
    block: ToolUseBlock, common: wire.ConversationItemOut, result: ToolResultBlock | None
) -> wire.ToolItemOut:
    """Return a call. A message does not contain its kind, its risk and how long it took."""
    about = next(
        (each for name in ("path", "command", "pattern") if isinstance(each := block.input.get(name), str)), None
    )
    outcome: wire.ToolOutcomeOut | None = None
    status: wire.ToolStatus = "cancelled"
    if result is not None:
        status = "failed" if result.is_error else "done"
        outcome = {
            "content": result.content,
            "isError": result.is_error,
            "cached": False,
            "truncated": False,
            "durationMs": 0,
            "exitCode": None,
        }
    return {
        "type": "tool",
        **common,
        "toolId": block.id,
        "toolName": block.name,
        "title": block.name if about is None else f"{block.name} {about}",
        "kind": "other",
        "risk": "low",
        "readOnly": False,
        "input": dict(block.input),
        "locations": [],
        "status": status,
        "runsSince": common["at"],
        "output": "",
        "result": outcome,
        "changes": [],
        "permissionId": None,
        "decision": None,
        "deniedReason": None,
    }
