"""OpenAI's chat completions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.providers.servers.answers import Body, Given, Memory
from tests.providers.servers.chat import (
    call_deltas,
    calls_of,
    chat_events,
    finish_of,
    messages_of,
    openai_error,
    orphans,
    text_deltas,
    unanswered,
)
from tests.providers.servers.rules import Broken, Endpoint, Rule

MAX_ID_CHARS = 40
MAX_NAME_CHARS = 64
NAME = re.compile(r"^[a-zA-Z0-9_-]+$")

REASONING = re.compile(r"^(o\d|gpt-5|gpt-6)")
"""Models that reason."""

NO_TOOLS = re.compile(r"^gpt-(5\.[6-9]|6)")
"""Models that take function tools at this endpoint only while they do not reason."""

ALWAYS_REASONS = re.compile(r"^gpt-6-astra|^gpt-6\.1-sol")


def is_openais(body: Body) -> bool:
    """Whether the model is one of OpenAI's, and not another one behind the same gateway."""
    return re.match(r"o\d|gpt-", body["model"]) is not None


def model_reasons(body: Body) -> bool:
    """Whether the model of a request is a reasoning model."""
    return REASONING.match(body["model"]) is not None


# https://platform.openai.com/docs/api-reference/chat/create; fish2018/YPrompt#26 has the whole answer
def max_tokens_is_max_completion_tokens(body: Body, _: Memory) -> Broken | None:
    """Reasoning models know `max_completion_tokens` alone."""
    if model_reasons(body) and "max_tokens" in body:
        message = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return Broken(message=message, param="max_tokens", code="unsupported_parameter", about="parameter")
    return None


# assafelovic/gpt-researcher#1485, ItzCrazyKns/Vane#1173
def temperature_is_the_models_own(body: Body, _: Memory) -> Broken | None:
    """Reasoning models take no temperature other than 1."""
    given = body.get("temperature", 1)
    if model_reasons(body) and given != 1:
        message = (
            f"Unsupported value: 'temperature' does not support {given} with this model. "
            "Only the default (1) value is supported."
        )
        return Broken(message=message, param="temperature", code="unsupported_value", about="parameter")
    return None


# https://platform.openai.com/docs/api-reference/chat/create#chat-create-reasoning_effort: for reasoning models only
def effort_is_for_models_that_reason(body: Body, _: Memory) -> Broken | None:
    """Other models know no `reasoning_effort`."""
    if not model_reasons(body) and "reasoning_effort" in body:
        message = "Unrecognized request argument supplied: reasoning_effort"
        return Broken(message=message, about="parameter")
    return None


# BerriAI/litellm#34569 tried it: no effort and a low one are refused, `none` is taken
def tools_want_no_reasoning(body: Body, _: Memory) -> Broken | None:
    """Function tools of newer models want `reasoning_effort` to be `none`."""
    if NO_TOOLS.match(body["model"]) and body.get("tools") and body.get("reasoning_effort") != "none":
        message = (
            f"Function tools with reasoning_effort are not supported for {body['model']} in /v1/chat/completions. "
            "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        )
        return Broken(message=message, param="reasoning_effort")
    return None


# litellm 1.106.2, responses_api_bridge_check
def some_models_always_reason(body: Body, _: Memory) -> Broken | None:
    """The newest models do not take `none`."""
    if ALWAYS_REASONS.match(body["model"]) and body.get("reasoning_effort") == "none":
        message = (
            "Unsupported value: 'reasoning_effort' does not support 'none' with this model. "
            "Supported values are: 'low', 'medium', 'high', and 'xhigh'."
        )
        return Broken(message=message, param="reasoning_effort", code="unsupported_value")
    return None


# aliasrobotics/cai#111, langchain-ai/open_deep_research#164
def every_call_is_answered(body: Body, _: Memory) -> Broken | None:
    """Tool messages follow the message that calls, one for each call."""
    found = unanswered(messages_of(body))
    if found is None:
        return None
    message = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(found[1])}"
    )
    return Broken(message=message, param=f"messages.[{found[0] + 1}].role")


# https://platform.openai.com/docs/guides/function-calling
def every_result_has_its_call(body: Body, _: Memory) -> Broken | None:
    """A tool message follows a call."""
    for index, _id in orphans(messages_of(body)):
        message = (
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        )
        return Broken(message=message, param=f"messages.[{index}].role")
    return None


# vercel/ai#5171 has the whole answer; anomalyco/opencode#12653 had the ids of another model behind the same gateway
def ids_are_short(body: Body, _: Memory) -> Broken | None:
    """Ids of calls have at most 40 characters, for OpenAI's own models."""
    for place, call_id in _ids(body):
        if is_openais(body) and len(call_id) > MAX_ID_CHARS:
            message = (
                f"Invalid '{place}': string too long. Expected a string with maximum length {MAX_ID_CHARS}, "
                f"but got a string with length {len(call_id)} instead."
            )
            return Broken(message=message, param=place, code="string_above_max_length")
    return None


def _ids(body: Body) -> Iterator[tuple[str, str]]:
    for index, message in enumerate(messages_of(body)):
        if "tool_call_id" in message:
            yield f"messages[{index}].tool_call_id", message["tool_call_id"]
        for number, call in enumerate(calls_of(message)):
            yield f"messages[{index}].tool_calls[{number}].id", call["id"]


# https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools: a-z, A-Z, 0-9, _ and -, at most 64
def names_are_names(body: Body, _: Memory) -> Broken | None:
    """Names of functions have few characters, and few kinds of them."""
    for place, name in _names(body):
        if not NAME.match(name):
            message = (
                f"Invalid '{place}': string does not match pattern. "
                "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            )
            return Broken(message=message, param=place, code="invalid_value")
        if len(name) > MAX_NAME_CHARS:
            message = (
                f"Invalid '{place}': string too long. Expected a string with maximum length {MAX_NAME_CHARS}, "
                f"but got a string with length {len(name)} instead."
            )
            return Broken(message=message, param=place, code="string_above_max_length")
    return None


def _names(body: Body) -> Iterator[tuple[str, str]]:
    for index, tool in enumerate(body.get("tools") or ()):
        yield f"tools[{index}].function.name", tool["function"]["name"]
    for index, message in enumerate(messages_of(body)):
        for number, call in enumerate(calls_of(message)):
            yield f"messages[{index}].tool_calls[{number}].function.name", call["function"]["name"]


# spring-projects/spring-ai#4776
def schemas_have_properties(body: Body, _: Memory) -> Broken | None:
    """The parameters of a function are an object with properties."""
    for index, tool in enumerate(body.get("tools") or ()):
        schema = tool["function"].get("parameters", {"type": "object", "properties": {}})
        if schema.get("type") != "object" or "properties" not in schema:
            name = tool["function"]["name"]
            message = f"Invalid schema for function '{name}': In context=(), object schema missing properties."
            place = f"tools[{index}].function.parameters"
            return Broken(message=message, param=place, code="invalid_function_parameters")
    return None


# openai/openai-cookbook#503, docker/docker-agent#63
def content_is_there(body: Body, _: Memory) -> Broken | None:
    """Only a message that calls may have no content; a list of parts has parts."""
    for index, message in enumerate(messages_of(body)):
        if message.get("content") is None and not calls_of(message):
            return Broken(message="Invalid value for 'content': expected a string, got null.", param="messages")
        for name in ("content", "tool_calls"):
            if message.get(name) == []:
                place = f"messages[{index}].{name}"
                refusal = (
                    f"Invalid '{place}': empty array. Expected an array with minimum length 1, "
                    "but got an empty array instead."
                )
                return Broken(message=refusal, param=place, code="empty_array")
    return None


def openai_events(body: Body, given: Given) -> Iterator[str]:
    """OpenAI's own models give short ids; others behind a gateway may give long ones."""
    ids = [given.call_id(index) for index in range(len(given.answer.calls))]
    if is_openais(body):
        ids = [call_id[:MAX_ID_CHARS] for call_id in ids]
    return chat_events(body, [*text_deltas(given), *call_deltas(given, ids)], finish_of(given))


HISTORY: tuple[Rule, ...] = (content_is_there, every_result_has_its_call, every_call_is_answered)
"""What every family that speaks chat completions asks of the order of messages, each in its own words."""

OPENAI_CHAT = Endpoint(
    path="/chat/completions",
    types="chat",
    rules=(
        max_tokens_is_max_completion_tokens,
        temperature_is_the_models_own,
        effort_is_for_models_that_reason,
        some_models_always_reason,
        tools_want_no_reasoning,
        names_are_names,
        schemas_have_properties,
        *HISTORY,
        ids_are_short,
    ),
    events=openai_events,
    refuse=openai_error,
)
