"""DeepSeek, Moonshot and Z.ai: chat completions whose thoughts are `reasoning_content`."""

from __future__ import annotations

from collections.abc import Mapping

from tests.providers.servers.answers import Body, Memory, parts_of
from tests.providers.servers.chat import (
    calls_of,
    lost_reasoning,
    messages_of,
    openai_error,
    orphans,
    reasoning_events,
    unanswered,
)
from tests.providers.servers.openai_chat import names_are_names, schemas_have_properties
from tests.providers.servers.rules import Broken, Endpoint, Family


def thinking_is_on(body: Body) -> bool:
    """Thinking is on by default (https://api-docs.deepseek.com/guides/thinking_mode)."""
    return body.get("thinking", {}).get("type") != "disabled" and body.get("reasoning_effort") != "none"


# https://api-docs.deepseek.com/guides/thinking_mode#tool-calls: in all later requests; BigPizzaV3/CodexPlusPlus#252.
# An answer without thoughts, or of another model, has an empty field (leookun/cursor-byok#276).
def deepseek_reasoning_is_sent_back(body: Body, _: Memory) -> Broken | None:
    """While thinking is on, every message with calls has its `reasoning_content`."""
    calling = (message for message in messages_of(body) if calls_of(message))
    if thinking_is_on(body) and any(message.get("reasoning_content") is None for message in calling):
        message = "The `reasoning_content` in the thinking mode must be passed back to the API."
        return Broken(message=message, code="invalid_request_error")
    return None


# langgenius/dify#32222
def deepseek_calls_are_answered(body: Body, _: Memory) -> Broken | None:
    """Tool messages follow the message that calls, one for each call."""
    if unanswered(messages_of(body)) is None:
        return None
    message = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "(insufficient tool messages following tool_calls message)"
    )
    return Broken(message=message, code="invalid_request_error")


# itmisx/deepx-code#94
def deepseek_results_have_calls(body: Body, _: Memory) -> Broken | None:
    """A tool message follows a call."""
    if not list(orphans(messages_of(body))):
        return None
    message = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
    return Broken(message=message, code="invalid_request_error")


# rikkahub/rikkahub#1433, danny-avila/LibreChat#10756
def deepseek_reads_no_pictures(body: Body, _: Memory) -> Broken | None:
    """Parts of a message are text."""
    for index, message in enumerate(messages_of(body)):
        if any(part["type"] == "image_url" for part in parts_of(message.get("content"))):
            refusal = (
                "Failed to deserialize the JSON body into the target type: "
                f"messages[{index}]: unknown variant `image_url`, expected `text`"
            )
            return Broken(message=refusal, code="invalid_request_error")
    return None


# anomalyco/opencode#16318, continuedev/continue#11711. litellm 1.106.2 (llms/moonshot) takes an empty text for missing.
def moonshot_reasoning_is_sent_back(body: Body, _: Memory) -> Broken | None:
    """While thinking is on, every message with calls has its `reasoning_content`, which is not empty."""
    if not thinking_is_on(body):
        return None
    for index, message in enumerate(messages_of(body)):
        if calls_of(message) and not message.get("reasoning_content"):
            refusal = (
                f"thinking is enabled but reasoning_content is missing in assistant tool call message at index {index}"
            )
            return Broken(message=refusal)
    return None


# HKUDS/nanobot#202, NousResearch/hermes-agent#9125
def moonshot_temperature_is_one(body: Body, _: Memory) -> Broken | None:
    """Models that think take no temperature other than 1."""
    if body.get("temperature", 1) != 1:
        return Broken(message="invalid temperature: only 1 is allowed for this model", about="parameter")
    return None


# HKUDS/nanobot#3939
def moonshot_effort_or_thinking(body: Body, _: Memory) -> Broken | None:
    """`thinking` and `reasoning_effort` exclude each other."""
    if "thinking" in body and "reasoning_effort" in body:
        return Broken(message="cannot specify both 'thinking' and 'reasoning_effort'")
    return None


# labring/FastGPT#3575, Mouseww/anything-analyzer#32
def moonshot_messages_have_content(body: Body, _: Memory) -> Broken | None:
    """No message is empty."""
    for index, message in enumerate(messages_of(body)):
        content = message.get("content")
        if not calls_of(message) and (not content or (isinstance(content, str) and not content.strip())):
            role = message["role"]
            refusal = f"Invalid request: the message at position {index} with role '{role}' must not be empty"
            return Broken(message=refusal)
    return None


# dust-tt/srchd#75
def moonshot_calls_are_answered(body: Body, _: Memory) -> Broken | None:
    """Tool messages follow the message that calls, one for each call."""
    found = unanswered(messages_of(body))
    if found is None:
        return None
    message = (
        "Invalid request: an assistant message with 'tool_calls' must be followed by tool messages responding to each "
        f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(found[1])}"
    )
    return Broken(message=message)


def moonshot_error(broken: Broken) -> Mapping[str, object]:
    """A refusal as Moonshot words it (HKUDS/nanobot#202)."""
    return {"error": {"message": broken.message, "type": broken.type}}


DEEPSEEK = Family(
    name="deepseek",
    endpoints=(
        Endpoint(
            path="/chat/completions",
            types="chat",
            rules=(
                deepseek_reads_no_pictures,
                names_are_names,
                schemas_have_properties,
                deepseek_results_have_calls,
                deepseek_calls_are_answered,
                deepseek_reasoning_is_sent_back,
            ),
            events=reasoning_events,
            refuse=openai_error,
            thinks=thinking_is_on,
            losses=lost_reasoning,
        ),
    ),
)

MOONSHOT = Family(
    name="moonshot",
    endpoints=(
        Endpoint(
            path="/chat/completions",
            types="chat",
            rules=(
                moonshot_temperature_is_one,
                moonshot_effort_or_thinking,
                moonshot_messages_have_content,
                moonshot_calls_are_answered,
                moonshot_reasoning_is_sent_back,
            ),
            events=reasoning_events,
            refuse=moonshot_error,
            thinks=thinking_is_on,
            losses=lost_reasoning,
        ),
    ),
)
