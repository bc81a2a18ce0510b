"""OpenRouter: chat completions whose opaque thoughts are `reasoning_details`, as the provider behind it has them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.providers.servers.answers import Body, Given, Memory, obj, parts_of
from tests.providers.servers.chat import (
    Delta,
    call_deltas,
    calls_of,
    chat_events,
    current_turn,
    finish_of,
    given_of,
    messages_of,
    orphans,
    pieces,
    text_deltas,
    unanswered,
)
from tests.providers.servers.gemini import PLACEHOLDERS
from tests.providers.servers.rules import Broken, Endpoint, Family

Details = list[dict[str, Any]]


def is_gemini_3(body: Body) -> bool:
    """Whether Google stands behind the request, with a model that checks signatures."""
    return body["model"].startswith(("google/gemini-3", "google/gemini-4"))


def is_claude(body: Body) -> bool:
    """Whether Anthropic stands behind the request."""
    return body["model"].startswith("anthropic/")


def vendor(model: str) -> str:
    """Who stands behind OpenRouter."""
    return model.partition("/")[0]


def is_thinking(body: Body) -> bool:
    """Gemini 3 always thinks; others only on request (https://openrouter.ai/docs/use-cases/reasoning-tokens)."""
    asked = obj(body.get("reasoning"))
    return is_gemini_3(body) or (bool(asked) and asked.get("effort") != "none" and asked.get("enabled") is not False)


def details_of(given: Given) -> Details:
    """The whole `reasoning_details` of an answer, each block once."""
    model = given.model
    thoughts, calls = given.answer.thoughts, given.answer.calls
    if model.startswith("google/"):
        form = "google-gemini-v1"
        texts: Details = [{"type": "reasoning.text", "text": given.thinking, "format": form, "index": 0}]
        sealed = {"type": "reasoning.encrypted", "data": given.seal(), "format": form, "index": len(thoughts) and 1}
        return (texts if thoughts else []) + ([sealed | {"id": given.call_id(0)}] if calls else [])
    form = "anthropic-claude-v1" if model.startswith("anthropic/") else "unknown"
    sealed = model.startswith("anthropic/")
    return [
        {"type": "reasoning.text", "text": thought, "format": form, "index": index}
        | ({"signature": given.seal(index)} if sealed else {})
        for index, thought in enumerate(thoughts)
    ]


def openrouter_events(body: Body, given: Given) -> Iterator[str]:
    """A block comes in pieces with one `index`; its signature comes last, without a text (agno-agi/agno#5802)."""
    deltas: list[Delta] = []
    for block in details_of(given):
        rest = {name: value for name, value in block.items() if name not in ("text", "signature")}
        if "text" not in block:
            deltas.append({"content": "", "reasoning": None, "reasoning_details": [block]})
            continue
        for piece in pieces(block["text"]):
            deltas.append({"content": "", "reasoning": piece, "reasoning_details": [rest | {"text": piece}]})
        if "signature" in block:
            deltas.append({"content": "", "reasoning_details": [rest | {"signature": block["signature"]}]})
    yield ": OPENROUTER PROCESSING\n\n"
    yield from chat_events(body, [*deltas, *text_deltas(given), *call_deltas(given)], finish_of(given))


# RooCodeInc/Roo-Code#10307, microsoft/vscode#279676, agno-agi/agno#5802; Google asks for the steps of the current turn
# (https://ai.google.dev/gemini-api/docs/thought-signatures)
def gemini_wants_its_details(body: Body, _: Memory) -> Broken | None:
    """Every step of the current turn has the encrypted detail of its first call."""
    messages = messages_of(body)
    if not is_gemini_3(body):
        return None
    for index in range(current_turn(messages), len(messages)):
        calls = calls_of(messages[index])
        sealed = [each for each in parts_of(messages[index].get("reasoning_details")) if each.get("data")]
        if calls and not sealed:
            name = calls[0]["function"]["name"]
            return Broken(
                message="Function call is missing a thought_signature in functionCall parts. This is required for "
                "tools to work correctly, and missing thought_signature may lead to degraded model performance. "
                f"Additional data, function call `default_api:{name}` , position {index}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
    return None


# agno-agi/agno#8861: pieces that come back as they were streamed, and not as one block, are refused, too
def signatures_belong_to_texts(body: Body, memory: Memory) -> Broken | None:
    """A block of Claude has the signature that it was given with, and no signature that is not known."""
    if not is_claude(body):
        return None
    for index, message in enumerate(messages_of(body)):
        for number, block in enumerate(parts_of(message.get("reasoning_details"))):
            found = memory.of_seal(block.get("signature", ""))
            if found is None or found[0].answer.thoughts[found[1]] != block.get("text"):
                return Broken(message=f"messages.{index}.content.{number}: Invalid `signature` in `thinking` block")
    return None


# RooCodeInc/Roo-Code#10640
def encrypted_details_are_known(body: Body, memory: Memory) -> Broken | None:
    """Gemini takes no signature that it did not give."""
    if not is_gemini_3(body):
        return None
    blocks = (block for message in messages_of(body) for block in parts_of(message.get("reasoning_details")))
    for block in blocks:
        if "data" in block and block["data"] not in PLACEHOLDERS and memory.of_seal(block["data"]) is None:
            return Broken(message="Unable to submit request because Thought signature is not valid")
    return None


def calls_are_answered(body: Body, _: Memory) -> Broken | None:
    """Whoever stands behind it wants a result for each call, and a call for each result."""
    found = unanswered(messages_of(body))
    if found is not None:
        return Broken(message=f"tool_use ids were found without tool_result blocks immediately after: {found[1]}")
    if list(orphans(messages_of(body))):
        return Broken(message="unexpected tool_use_id found in tool_result blocks")
    return None


def lost_details(body: Body, memory: Memory) -> Iterator[str]:
    """Messages with calls of this model whose `reasoning_details` did not come back as whole blocks."""
    for index, message in enumerate(messages_of(body)):
        given = given_of(message, memory)
        if given is None or vendor(given.model) != vendor(body["model"]):
            continue
        wanted = details_of(given)
        sent = parts_of(message.get("reasoning_details"))
        if wanted and sent != wanted:
            yield f"messages[{index}].reasoning_details is {json.dumps(sent)}, and was {json.dumps(wanted)}"


def openrouter_error(broken: Broken) -> Mapping[str, object]:
    """A refusal of the provider behind OpenRouter."""
    raw = json.dumps({"error": {"message": broken.message, "code": broken.status, "status": "INVALID_ARGUMENT"}})
    metadata = {"raw": raw, "provider_name": "The provider behind it"}
    return {"error": {"message": "Provider returned error", "code": broken.status, "metadata": metadata}}


OPENROUTER = Family(
    name="openrouter",
    endpoints=(
        Endpoint(
            path="/chat/completions",
            types="chat",
            rules=(
                calls_are_answered,
                encrypted_details_are_known,
                gemini_wants_its_details,
                signatures_belong_to_texts,
            ),
            events=openrouter_events,
            refuse=openrouter_error,
            thinks=is_thinking,
            losses=lost_details,
        ),
    ),
)
