"""OpenAI's Responses API, as it is used without storing anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.providers.servers.answers import Body, Given, Memory, canonical, obj, parts_of
from tests.providers.servers.chat import N_WRITTEN, openai_error, pieces, tokens_of
from tests.providers.servers.openai_chat import MAX_NAME_CHARS, NAME, REASONING
from tests.providers.servers.rules import Broken, Endpoint

LEAST_OUTPUT = 16
MAX_ID_CHARS = 64
SHORT_ID = 29
"""Characters of the ids that the API gives."""

ENCRYPTED = "reasoning.encrypted_content"

TYPES = ("message", "reasoning", "function_call", "function_call_output", "item_reference")
"""Items of an input that a client without tools of the provider has."""


def items_of(body: Body) -> list[Body]:
    """The items of a request; a text is one message."""
    given = body["input"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


OPENED: Mapping[str, Body] = {
    "reasoning": {"summary": []},
    "message": {"status": "in_progress", "content": []},
    "function_call": {"status": "in_progress", "arguments": ""},
}
"""What is not yet known of an item when it begins."""


def type_of(item: Body) -> str:
    """The type of an item; a message need not say it."""
    return str(item.get("type", "message"))


def is_reasoning(body: Body) -> bool:
    """Whether the model reasons before it answers."""
    return REASONING.match(body["model"]) is not None and obj(body.get("reasoning")).get("effort") != "none"


# https://platform.openai.com/docs/api-reference/responses/create#responses-create-input
def items_are_known(body: Body, _: Memory) -> Broken | None:
    """Items have a known type; the parts of a message are those of its role."""
    for index, item in enumerate(items_of(body)):
        if type_of(item) not in TYPES:
            message = f"Invalid value: '{type_of(item)}'. Supported values are: {', '.join(map(repr, TYPES))}."
            return Broken(message=message, param=f"input[{index}]", code="invalid_value")
        if type_of(item) != "message":
            continue
        own = ("output_text", "refusal")
        wanted = own if item["role"] == "assistant" else ("input_text", "input_image", "input_file")
        for number, part in enumerate(parts_of(item.get("content"))):
            if part["type"] not in wanted:
                supported = " and ".join(map(repr, wanted))
                message = f"Invalid value: '{part['type']}'. Supported values are: {supported}."
                return Broken(message=message, param=f"input[{index}].content[{number}]", code="invalid_value")
    return None


# vercel/ai#7543, continuedev/continue#9101; langchain-ai/langchain#38372: ids of messages, too
def items_are_not_stored(body: Body, _: Memory) -> Broken | None:
    """Without a store nothing is found by its id: no reference, no id of a message or call, no bare reasoning."""
    if body.get("store", True):
        return None
    for item in items_of(body):
        is_whole = type_of(item) == "reasoning" and item.get("encrypted_content")
        if item.get("id") and not is_whole:
            message = (
                f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false. Try "
                "again with `store` set to true, or remove this item from your input."
            )
            return Broken(message=message, param="input", status=404)
    return None


# openai/codex#8119, Wei-Shaw/sub2api#2863
def reasoning_is_known(body: Body, memory: Memory) -> Broken | None:
    """Encrypted reasoning is the server's own, unchanged."""
    for item in items_of(body):
        if type_of(item) == "reasoning" and memory.of_seal(str(item.get("encrypted_content"))) is None:
            message = (
                f"The encrypted content {str(item.get('encrypted_content'))[:4]}... could not be verified. Reason: "
                "Encrypted content could not be decrypted or parsed."
            )
            return Broken(message=message, code="invalid_encrypted_content")
    return None


# vercel/ai#7099, continuedev/continue#8933
def reasoning_has_its_item(body: Body, _: Memory) -> Broken | None:
    """The message or call that was reasoned for stands directly after the reasoning."""
    items = items_of(body)
    for item, after in zip(items, [*items[1:], None], strict=True):
        if type_of(item) != "reasoning":
            continue
        is_output = after is not None and (
            type_of(after) in ("reasoning", "function_call")
            or (type_of(after) == "message" and after["role"] == "assistant")
        )
        if not is_output:
            name = item.get("id") or "rs_1"
            message = f"Item '{name}' of type 'reasoning' was provided without its required following item."
            return Broken(message=message, param="input")
    return None


# deepseek-ai/awesome-deepseek-integration#740 and continuedev/continue#10092 quote both
def calls_have_outputs(body: Body, _: Memory) -> Broken | None:
    """Calls and outputs belong together, the call first."""
    called: list[str] = []
    outputs = [item["call_id"] for item in items_of(body) if type_of(item) == "function_call_output"]
    for item in items_of(body):
        if type_of(item) == "function_call":
            called.append(item["call_id"])
            if item["call_id"] not in outputs:
                return Broken(message=f"No tool output found for function call {item['call_id']}.", param="input")
        elif type_of(item) == "function_call_output" and item["call_id"] not in called:
            message = f"No tool call found for function call output with call_id {item['call_id']}."
            return Broken(message=message, param="input")
    return None


# orchidfiles/ungate#26 has the whole answer
def ids_are_short(body: Body, _: Memory) -> Broken | None:
    """Ids of calls have at most 64 characters, and are not empty."""
    for index, item in enumerate(items_of(body)):
        length = len(item.get("call_id", "x"))
        if length > MAX_ID_CHARS:
            place = f"input[{index}].call_id"
            message = (
                f"Invalid '{place}': string too long. Expected a string with maximum length {MAX_ID_CHARS}, "
                f"but got a string with length {length} instead."
            )
            return Broken(message=message, param=place, code="string_above_max_length")
        if length == 0:
            place = f"input[{index}].call_id"
            message = (
                f"Invalid '{place}': empty string. Expected a string with minimum length 1, but got an empty string "
                "instead."
            )
            return Broken(message=message, param=place, code="empty_string")
    return None


# https://platform.openai.com/docs/api-reference/responses/create#responses-create-tools; spring-projects/spring-ai#4776
def tools_are_functions(body: Body, _: Memory) -> Broken | None:
    """Names have few characters, and few kinds of them; a schema is an object with properties."""
    called = [item for item in items_of(body) if type_of(item) == "function_call"]
    for function in [*(body.get("tools") or ()), *called]:
        if not NAME.match(function["name"]) or len(function["name"]) > MAX_NAME_CHARS:
            message = (
                "Invalid 'name': string does not match pattern. Expected a string that matches the pattern "
                "'^[a-zA-Z0-9_-]+$'."
            )
            return Broken(message=message, code="invalid_value")
    for index, tool in enumerate(body.get("tools") or ()):
        schema = tool.get("parameters") or {}
        if schema.get("type") != "object" or "properties" not in schema:
            message = f"Invalid schema for function '{tool['name']}': In context=(), object schema missing properties."
            place = f"tools[{index}].parameters"
            return Broken(message=message, param=place, code="invalid_function_parameters")
    return None


# OpenHands/OpenHands#1837 (the rule list of this project's contract); assafelovic/gpt-researcher#1485
def reasoning_excludes_temperature(body: Body, _: Memory) -> Broken | None:
    """A model that reasons takes no temperature."""
    if is_reasoning(body) and "temperature" in body:
        message = "Unsupported parameter: 'temperature' is not supported with this model."
        return Broken(message=message, param="temperature", about="parameter")
    return None


# https://platform.openai.com/docs/guides/reasoning: reasoning is for models that reason
def others_do_not_reason(body: Body, _: Memory) -> Broken | None:
    """Other models take no effort."""
    if not REASONING.match(body["model"]) and obj(body.get("reasoning")).get("effort"):
        message = "Unsupported parameter: 'reasoning.effort' is not supported with this model."
        return Broken(message=message, param="reasoning.effort", code="unsupported_parameter", about="parameter")
    return None


# https://platform.openai.com/docs/api-reference/responses/create#responses-create-max_output_tokens
def there_is_room_to_answer(body: Body, _: Memory) -> Broken | None:
    """An answer has room for at least 16 tokens."""
    most = body.get("max_output_tokens")
    if most is not None and most < LEAST_OUTPUT:
        message = (
            f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {LEAST_OUTPUT}, "
            f"but got {most} instead."
        )
        return Broken(message=message, param="max_output_tokens", code="integer_below_min_value")
    return None


def lost_reasoning(body: Body, memory: Memory) -> Iterator[str]:
    """Calls of this server that came back without the encrypted reasoning before them."""
    wants = ENCRYPTED in (body.get("include") or ())
    sealed: list[str] = []
    for index, item in enumerate(items_of(body)):
        if type_of(item) == "reasoning":
            sealed.append(str(item.get("encrypted_content")))
        elif type_of(item) == "function_call" and wants:
            given = memory.of_call(item["name"], item["arguments"])
            if given is not None and _is_first(given, item) and given.answer.thoughts and given.seal() not in sealed:
                yield f"input[{index}] lost its encrypted reasoning"


def _is_first(given: Given, item: Body) -> bool:
    first = given.answer.calls[0]
    return (first.name, canonical(first.arguments)) == (item["name"], canonical(item["arguments"]))


def responses_events(body: Body, given: Given) -> Iterator[str]:
    """An answer; reasoning is one item with a summary for each thought."""
    number = 0
    output: list[Body] = []

    def event(kind: str, **content: Any) -> str:
        nonlocal number
        number += 1
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **content, 'sequence_number': number})}\n\n"

    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": body["model"], "error": None}
    yield event("response.created", response={**response, "status": "in_progress", "output": []})
    for item, events in _items(body, given):
        index = len(output)
        opened: Body = {**item, **OPENED[item["type"]]}
        yield event("response.output_item.added", output_index=index, item=opened)
        for kind, content in events:
            yield event(kind, output_index=index, item_id=item["id"], **content)
        yield event("response.output_item.done", output_index=index, item=item)
        output.append(item)
    n_read = tokens_of(body)
    usage = {
        "input_tokens": n_read,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": N_WRITTEN,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": n_read + N_WRITTEN,
    }
    state = "incomplete" if given.answer.cut_off else "completed"
    details = {"reason": "max_output_tokens"} if given.answer.cut_off else None
    whole = {**response, "status": state, "incomplete_details": details, "output": output, "usage": usage}
    yield event(f"response.{state}", response=whole)


Events = Sequence[tuple[str, dict[str, Any]]]


def _items(body: Body, given: Given) -> Iterator[tuple[Body, Events]]:
    answer = given.answer
    state = "incomplete" if answer.cut_off else "completed"
    if answer.thoughts:
        yield _reasoning(body, given)
    if answer.text:
        item: Body = {
            "id": f"msg_{given.number}",
            "type": "message",
            "role": "assistant",
            "status": state,
            "content": [{"type": "output_text", "text": answer.text, "annotations": []}],
        }
        deltas = [("response.output_text.delta", {"content_index": 0, "delta": each}) for each in pieces(answer.text)]
        yield item, deltas
    for index, call in enumerate(answer.calls):
        arguments = json.dumps(dict(call.arguments))
        if answer.cut_off and index == len(answer.calls) - 1:
            arguments = arguments[: len(arguments) // 2]
        item = {
            "id": f"fc_{given.number}_{index}",
            "type": "function_call",
            "status": state,
            "call_id": given.call_id(index)[:SHORT_ID] or f"call_{given.number}_{index}",
            "name": call.name,
            "arguments": arguments,
        }
        kind = "response.function_call_arguments"
        deltas = [(f"{kind}.delta", {"delta": piece}) for piece in pieces(arguments)]
        yield item, [*deltas, (f"{kind}.done", {"arguments": arguments})]


def _reasoning(body: Body, given: Given) -> tuple[Body, Events]:
    summary = [{"type": "summary_text", "text": thought} for thought in given.answer.thoughts]
    item: Body = {"id": f"rs_{given.number}", "type": "reasoning", "summary": summary}
    if ENCRYPTED in (body.get("include") or ()):
        item["encrypted_content"] = given.seal()
    kind = "response.reasoning_summary_text.delta"
    return item, [
        (kind, {"summary_index": index, "delta": piece})
        for index, thought in enumerate(given.answer.thoughts)
        for piece in pieces(thought)
    ]


OPENAI_RESPONSES = Endpoint(
    path="/responses",
    types="responses",
    rules=(
        reasoning_excludes_temperature,
        others_do_not_reason,
        there_is_room_to_answer,
        tools_are_functions,
        items_are_known,
        items_are_not_stored,
        ids_are_short,
        reasoning_is_known,
        reasoning_has_its_item,
        calls_have_outputs,
    ),
    events=responses_events,
    refuse=openai_error,
    thinks=is_reasoning,
    losses=lost_reasoning,
)
