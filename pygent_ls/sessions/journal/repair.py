"""Repairs conversations with lost parts, so that providers accept them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from pygent_ls.agent.messages import Block, Message, ToolResultBlock, ToolUseBlock

INTERRUPTED_RESULT = (
    "Interrupted: pygent-ls exited before this call finished. Changes it had already made remain; check them before "
    "you rely on them."
)

NOT_ALLOWED_RESULT = "Interrupted: pygent-ls exited before this call was allowed to run; nothing changed."

LOST_BEGINNING = "[The beginning of this conversation is lost.]"
"""Inserted before a first answer whose prompt is lost, because providers require the user to begin."""

LOST_WORDS = "[A message of the user is lost here.]"
"""Inserted between two answers whose user message is lost."""


def repaired(messages: Sequence[Message], results: Mapping[str, ToolResultBlock]) -> list[Message]:
    """Return the conversation with exactly one result for each tool call, in the next message and in the order of the
    calls, without results of unknown calls, and with the user first.

    A missing result is taken from `results`, by call id, or else says that the call was interrupted. A message that
    needs no repair stays the same object.
    """
    kept: list[Message] = []
    seen: set[str] = set()
    waiting = list(reversed(messages))
    while waiting:
        message = _with_new_calls_alone(waiting.pop(), seen)
        if message.role == "user":
            kept += _without_results(message)
            continue
        kept += [message] if message.content else []
        if message.tool_calls:
            answer = waiting.pop() if waiting and waiting[-1].role == "user" else None
            kept.append(_answered(message, answer, results))
    if kept and kept[0].role == "assistant":
        kept.insert(0, replace(kept[0], role="user", content=LOST_BEGINNING))
    return kept


def _with_new_calls_alone(message: Message, seen: set[str]) -> Message:
    """Remove calls whose ids are already used, because they are duplicates, and all calls of a user message."""
    calls = message.tool_calls
    if message.role == "user":
        return _with(message, [each for each in message.blocks if not isinstance(each, ToolUseBlock)])
    lost: set[int] = set()
    for call in calls:
        if call.id in seen:
            lost.add(id(call))
        seen.add(call.id)
    without_results = [
        each for each in message.blocks if id(each) not in lost and not isinstance(each, ToolResultBlock)
    ]
    return _with(message, without_results)


def _without_results(message: Message) -> Iterator[Message]:
    """Yield the message without results of unknown calls, if anything else is in it."""
    rest = _with(message, [each for each in message.blocks if not isinstance(each, ToolResultBlock)])
    if rest.content:
        yield rest


def _answered(calling: Message, answer: Message | None, results: Mapping[str, ToolResultBlock]) -> Message:
    """Return the message after the calls, with a result for each."""
    given: dict[str, ToolResultBlock] = {}
    others: list[Block] = []
    for block in answer.blocks if answer else ():
        if not isinstance(block, ToolResultBlock):
            others.append(block)
        elif block.tool_use_id not in given:
            given[block.tool_use_id] = block
    blocks = [*(given.get(each.id) or results.get(each.id) or interrupted(each.id) for each in calling.tool_calls)]
    if answer is None:
        return Message(role="user", content=tuple(blocks), turn_id=calling.turn_id, timestamp=calling.timestamp)
    return _with(answer, [*blocks, *others])


def interrupted(tool_id: str, content: str = INTERRUPTED_RESULT) -> ToolResultBlock:
    """Return the result of an interrupted call."""
    return ToolResultBlock(tool_use_id=tool_id, content=content, is_error=True, from_outside=False)


def _with(message: Message, blocks: Sequence[Block]) -> Message:
    """Return the message with these blocks, the same object if they are equal."""
    return message if tuple(blocks) == message.blocks else replace(message, content=tuple(blocks))
