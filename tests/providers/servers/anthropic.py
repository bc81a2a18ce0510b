"""Anthropic's Messages API: the rules of histories. `anthropic_parameters` has those of the other parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from tests.providers.servers.answers import Body, Given, Memory
from tests.providers.servers.anthropic_parameters import (
    PARAMETERS,
    budget_is_asked_for,
    is_asked_to_think,
)
from tests.providers.servers.chat import N_WRITTEN, pieces, tokens_of
from tests.providers.servers.rules import Broken, Endpoint, Family

ID = re.compile(r"^[a-zA-Z0-9_-]+$")

THOUGHTS = ("thinking", "redacted_thinking")


def blocks_of(message: Body) -> list[Body]:
    """The blocks of a message; a text is one block."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def of_type(message: Body, *types: str) -> list[Body]:
    """The blocks of a message that have one of these types."""
    return [block for block in blocks_of(message) if block["type"] in types]


def _messages(body: Body) -> list[Body]:
    return body["messages"]


# https://docs.claude.com/en/api/messages. The API itself joins messages of one role; Bedrock and Vertex did not.
def roles_alternate(body: Body, _: Memory) -> Broken | None:
    """A user's message comes first, and the roles alternate."""
    roles = [message["role"] for message in _messages(body)]
    if roles[0] != "user":
        return Broken(message='messages: first message must use the "user" role')
    for before, after in pairwise(roles):
        if before == after:
            message = (
                f'messages: roles must alternate between "user" and "assistant", but found multiple "{after}" roles in '
                "a row"
            )
            return Broken(message=message)
    return None


# https://docs.claude.com/en/api/messages
def messages_have_content(body: Body, _: Memory) -> Broken | None:
    """No message is empty, and no text is blank."""
    for index, message in enumerate(_messages(body)):
        blocks = blocks_of(message)
        if not blocks:
            refusal = (
                f"messages.{index}: all messages must have non-empty content except for the optional final assistant "
                "message"
            )
            return Broken(message=refusal)
        for block in of_type(message, "text"):
            if not block["text"]:
                return Broken(message="messages: text content blocks must be non-empty")
            if not block["text"].strip():
                return Broken(message="messages: text content blocks must contain non-whitespace text")
    return None


# tailcallhq/forgecode#2107 has the whole answer
def no_thought_is_last(body: Body, _: Memory) -> Broken | None:
    """Check that the last block of an assistant message is not a thought."""
    for index, message in enumerate(_messages(body)):
        if message["role"] == "assistant" and blocks_of(message)[-1]["type"] in THOUGHTS:
            return Broken(message=f"messages.{index}: The final block in an assistant message cannot be `thinking`.")
    return None


# anthropics/claude-code#8210 and #13460 have both answers
def calls_are_answered(body: Body, _: Memory) -> Broken | None:
    """The message after one that calls begins with a result for each call; no other message has results."""
    messages = _messages(body)
    for index, message in enumerate(messages):
        wanted = [block["id"] for block in of_type(message, "tool_use")]
        following = messages[index + 1] if index + 1 < len(messages) else None
        first = _leading_results(following) if following else []
        missing = [each for each in wanted if each not in first]
        if missing:
            refusal = (
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
            return Broken(message=refusal)
    for index, message in enumerate(messages):
        called = {block["id"] for block in of_type(messages[index - 1], "tool_use")} if index else set[str]()
        for number, block in enumerate(blocks_of(message)):
            if block["type"] == "tool_result" and block["tool_use_id"] not in called:
                refusal = (
                    f"messages.{index}.content.{number}: unexpected `tool_use_id` found in `tool_result` blocks: "
                    f"{block['tool_use_id']}. Each `tool_result` block must have a corresponding `tool_use` block in "
                    "the previous message."
                )
                return Broken(message=refusal)
    return None


def _leading_results(message: Body) -> list[str]:
    ids: list[str] = []
    for block in blocks_of(message):
        if block["type"] != "tool_result":
            break
        ids.append(block["tool_use_id"])
    return ids


# https://docs.claude.com/en/api/messages: the pattern of ids
def ids_are_ids(body: Body, _: Memory) -> Broken | None:
    """Ids have few kinds of characters, and each stands once."""
    seen: set[str] = set()
    for index, message in enumerate(_messages(body)):
        for number, block in enumerate(blocks_of(message)):
            call_id = block.get("id" if block["type"] == "tool_use" else "tool_use_id")
            if call_id is None:
                continue
            if not ID.match(call_id):
                where = f"messages.{index}.content.{number}.{block['type']}"
                return Broken(message=f"{where}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            if block["type"] == "tool_use":
                if call_id in seen:
                    where = f"messages.{index}.content.{number}"
                    return Broken(message=f"{where}: `tool_use` ids must be unique")
                seen.add(call_id)
    return None


# https://docs.claude.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks; agno-agi/agno#8861
def thoughts_are_sealed(body: Body, memory: Memory) -> Broken | None:
    """A thought has the signature that it was given with; an encrypted one is known."""
    for index, message in enumerate(_messages(body)):
        for number, block in enumerate(blocks_of(message)):
            if block["type"] not in THOUGHTS:
                continue
            found = memory.of_seal(block.get("signature") or block.get("data") or "")
            given = None if found is None else found[0].answer.thoughts[found[1]]
            if given is None or (block["type"] == "thinking" and block["thinking"] != given):
                where = f"messages.{index}.content.{number}"
                return Broken(message=f"{where}: Invalid `signature` in `thinking` block")
    return None


def _turn(messages: Sequence[Body]) -> list[tuple[int, Body]]:
    """The messages of the assistant's current turn, while tools run: those since the user's last words."""
    if not messages or not of_type(messages[-1], "tool_result"):
        return []
    turn: list[tuple[int, Body]] = []
    for index in reversed(range(len(messages))):
        message = messages[index]
        if message["role"] == "assistant":
            turn.append((index, message))
        elif not of_type(message, "tool_result"):
            break
    return turn[::-1]


# n8n-io/n8n#22550, anthropics/claude-code#11978. A model with adaptive thinking may act without a thought
# (https://docs.claude.com/en/docs/build-with-claude/adaptive-thinking).
def a_turn_begins_with_a_thought(body: Body, _: Memory) -> Broken | None:
    """Check that with a thinking budget, the assistant's turn begins with a thought while tools run."""
    turn = _turn(_messages(body))
    if not turn or not budget_is_asked_for(body):
        return None
    index, message = turn[0]
    first = blocks_of(message)[0]["type"]
    if first in THOUGHTS:
        return None
    return Broken(
        message=f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
        "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from "
        "previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    )


# anthropics/claude-code#63284
def thoughts_of_the_turn_are_whole(body: Body, memory: Memory) -> Broken | None:
    """The thoughts of an answer come back all and in their order, or not at all, while tools run."""
    for index, message in _turn(_messages(body)):
        thoughts = of_type(message, *THOUGHTS)
        seals = [str(block.get("signature") or block.get("data")) for block in thoughts]
        found = memory.of_seal(seals[0]) if seals else None
        if found is not None and seals != [found[0].seal(each) for each in range(len(found[0].answer.thoughts))]:
            return Broken(
                message=f"messages.{index}.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant "
                "message cannot be modified. These blocks must remain as they were in the original response."
            )
    return None


# tailcallhq/forgecode#1853
def no_thoughts_without_thinking(body: Body, _: Memory) -> Broken | None:
    """While thinking is off, the last message of the assistant's turn has no thoughts. Known from one report alone."""
    turn = _turn(_messages(body))
    if not turn or is_asked_to_think(body) or not of_type(turn[-1][1], *THOUGHTS):
        return None
    return Broken(
        message=f"messages.{turn[-1][0]}.content.0: When thinking is disabled, an `assistant` message in the final "
        "position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.",
        about="parameter",
    )


def lost_thoughts(body: Body, memory: Memory) -> Iterator[str]:
    """Calls of this model in the current turn that came back without the thoughts before them, while it thinks."""
    if not is_asked_to_think(body):
        return
    for index, message in _turn(_messages(body)):
        calls = of_type(message, "tool_use")
        given = memory.of_call(calls[0]["name"], calls[0]["input"]) if calls else None
        if given is not None and given.answer.thoughts and not of_type(message, *THOUGHTS):
            yield f"messages.{index} lost its thoughts"


def anthropic_events(body: Body, given: Given) -> Iterator[str]:
    """An answer: every thought, the text and every call is a block of its own."""
    answer = given.answer
    message: Body = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": body["model"]}
    counts = {"input_tokens": tokens_of(body), "output_tokens": 1}
    yield _event({"type": "message_start", "message": {**message, "stop_reason": None, "usage": counts}})
    index = 0
    for number, thought in enumerate(answer.thoughts):
        if answer.redacted and number == len(answer.thoughts) - 1:
            yield from _block(index, {"type": "redacted_thinking", "data": given.seal(number)}, [])
        else:
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(thought)]
            deltas.append({"type": "signature_delta", "signature": given.seal(number)})
            yield from _block(index, {"type": "thinking", "thinking": "", "signature": ""}, deltas)
        index += 1
    if answer.text:
        texts = [{"type": "text_delta", "text": piece} for piece in pieces(answer.text)]
        yield from _block(index, {"type": "text", "text": ""}, texts)
        index += 1
    for number, call in enumerate(answer.calls):
        arguments = json.dumps(dict(call.arguments))
        if answer.cut_off and number == len(answer.calls) - 1:
            arguments = arguments[: len(arguments) // 2]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(arguments)]
        block: Body = {"type": "tool_use", "id": given.call_id(number), "name": call.name, "input": {}}
        yield from _block(index, block, deltas)
        index += 1
    reason = "max_tokens" if answer.cut_off else "tool_use" if answer.calls else "end_turn"
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": N_WRITTEN}})
    yield _event({"type": "message_stop"})


def _block(index: int, block: Body, deltas: Sequence[Body]) -> Iterator[str]:
    yield _event({"type": "content_block_start", "index": index, "content_block": block})
    for delta in deltas:
        yield _event({"type": "content_block_delta", "index": index, "delta": delta})
    yield _event({"type": "content_block_stop", "index": index})


def _event(content: Body) -> str:
    return f"event: {content['type']}\ndata: {json.dumps(content)}\n\n"


def anthropic_error(broken: Broken) -> Mapping[str, object]:
    """A refusal as Anthropic words it."""
    return {"type": "error", "error": {"type": broken.type, "message": broken.message}, "request_id": "req_1"}


ANTHROPIC = Family(
    name="anthropic",
    endpoints=(
        Endpoint(
            path="/messages",
            types="messages",
            rules=(
                *PARAMETERS,
                messages_have_content,
                roles_alternate,
                ids_are_ids,
                calls_are_answered,
                no_thought_is_last,
                thoughts_are_sealed,
                thoughts_of_the_turn_are_whole,
                a_turn_begins_with_a_thought,
                no_thoughts_without_thinking,
            ),
            events=anthropic_events,
            refuse=anthropic_error,
            thinks=is_asked_to_think,
            losses=lost_thoughts,
        ),
    ),
)
