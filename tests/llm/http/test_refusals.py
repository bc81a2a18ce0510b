"""What adapters learn from the words of a refusal, and what those words must never teach them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from pygent_ls.agent.messages import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, user_message
from pygent_ls.agent.ports.model import Effort, Model, ModelRequest
from pygent_ls.errors import ModelError
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.llm.answers import named_events
from tests.llm.loopback import KEY
from tests.llm.model_contract import chunks_of, joined
from tests.llm.model_contract import request as plain_request
from tests.model_server import ModelServer, Received, Step

DONE = Step(text="Done.")

REASONED = Message(
    role="assistant",
    content=(
        ThinkingBlock(thinking="I must look."),
        ToolUseBlock(id="call_1", name="look", input={}),
    ),
)
SEEN = user_message((ToolResultBlock(tool_use_id="call_1", content="seen"),))


@pytest.fixture
async def resources() -> AsyncGenerator[ModelResources]:
    own = ModelResources()
    yield own
    await own.close()


def request(*messages: Message | str, effort: Effort | None = None, system: str = "You are a test.") -> ModelRequest:
    """A request of the loop; a string is a prompt."""
    said = [user_message(each) if isinstance(each, str) else each for each in messages]
    return dataclasses.replace(plain_request(*said), effort=effort, system=system)


def model_at(server: ModelServer, resources: ModelResources, name: str) -> Model:
    return make_model(name, Endpoint(api_base=server.url, api_key=KEY), resources)


async def bodies_of(
    resources: ModelResources, name: str, *steps: Step, efforts: tuple[Effort | None, ...] = (None,)
) -> list[Mapping[str, Any]]:
    """The requests for one answer for each effort, in a conversation in which a tool has run."""
    async with ModelServer(list(steps)) as server:
        model = model_at(server, resources, name)
        for effort in efforts:
            await chunks_of(model, request("Look.", REASONED, SEEN, effort=effort))
    return [each.body for each in server.requests]


@pytest.mark.parametrize(
    "words",
    [
        "Missing reasoning_content field in the assistant message at index 3",
        "Invalid request: missing reasoning_content in assistant message",
        "Invalid assistant message: reasoning_content not found",
        "reasoning_content cannot be empty when thinking is enabled",
        "Invalid messages: `reasoning_content` should not be empty",
        "messages[2].reasoning_content: expected a string, got null",
        "messages.3 lacks reasoning_content: invalid request",
        "Invalid value for reasoning_content: must be a non-empty string",
        "The reasoning_content of the last turn was not returned; this is not allowed",
        "assistant messages without `reasoning_content` are not supported in thinking mode",
        "Invalid 'messages[3]': 'reasoning_content' is a required property",
        "Unsupported: thinking mode requires the reasoning_content of tool calls",
    ],
)
@pytest.mark.parametrize("name", ["deepseek/deepseek-v4-pro", "openai/gateway-model"])
async def test_reasoning_that_is_missed_is_never_left_out(resources: ModelResources, name: str, words: str) -> None:
    refused = Step(status=400, error=words, error_type="invalid_request_error")

    first, second, third = await bodies_of(resources, name, refused, DONE, DONE, efforts=("high", "high"))

    assert first["thinking" if name.startswith("deepseek") else "reasoning_effort"]
    for body in (second, third):
        assert body["messages"][-2]["reasoning_content"] == "I must look."
        assert body.get("thinking") == first.get("thinking")


@pytest.mark.parametrize(
    "words",
    [
        "property 'reasoning_content' is unsupported",
        "Unknown parameter: 'messages[1].reasoning_content'",
        "messages.1.reasoning_content: Extra inputs are not permitted",
        "The reasoning_content field is not allowed in the input messages",
        "Messages must not contain reasoning_content",
    ],
)
async def test_reasoning_that_is_refused_is_left_out(resources: ModelResources, words: str) -> None:
    refused = Step(status=400, error=words, error_type="invalid_request_error")

    *_, last = await bodies_of(resources, "deepseek/deepseek-v4-pro", refused, DONE, efforts=("high",))

    assert "reasoning_content" not in last["messages"][-2]


@pytest.mark.parametrize(
    ("refused", "words", "next_effort"),
    [
        ("high", "reasoning_effort must be one of `none` or `default`", None),
        ("high", "reasoning_effort is not supported, max_output_tokens is", None),
        ("xhigh", "Unsupported value: 'xhigh' is not supported for reasoning_effort", "high"),
        ("none", "Reasoning is mandatory for this endpoint and cannot be disabled.", "minimal"),
        ("medium", "reasoning_effort: Input should be 'none' or 'high'", "high"),
        ("high", "Model x does not support parameter reasoningEffort.", None),
    ],
)
async def test_an_effort_that_is_refused_takes_no_other_with_it(
    resources: ModelResources, refused: Effort, words: str, next_effort: Effort | None
) -> None:
    steps = (Step(status=400, error=words), DONE)

    first, second = await bodies_of(resources, "hosted_vllm/some-model", *steps, efforts=(refused,))

    assert (first["reasoning_effort"], second.get("reasoning_effort")) == (refused, next_effort)


async def test_claude_goes_on_thinking_when_an_effort_is_refused(resources: ModelResources) -> None:
    words = "output_config.effort: This model does not support effort level 'max'. Supported levels: high, low, medium."
    steps = (Step(status=400, error=words), DONE)

    _, second = await bodies_of(resources, "anthropic/claude-sonnet-5-5", *steps, efforts=("max",))

    assert (second["thinking"]["type"], second["output_config"]) == ("adaptive", {"effort": "high"})


async def test_an_item_that_is_not_found_is_no_missing_responses_api(resources: ModelResources) -> None:
    words = "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."
    async with ModelServer([Step(status=404, error=words)]) as server:
        with pytest.raises(ModelError):
            await chunks_of(model_at(server, resources, "openai/gpt-5.6"), request("Hi."))

    assert {each.path for each in server.requests} == {"/v1/responses"}


ASKS_FOR_RESPONSES = Step(
    status=400,
    error="Function tools with reasoning_effort are not supported for gpt-6-astra in /v1/chat/completions. Please use "
    "/v1/responses instead.",
)

RESPONSE = named_events(
    {"type": "response.output_text.delta", "output_index": 0, "delta": "Done."},
    {"type": "response.completed", "response": {"status": "completed", "output": []}},
)


async def test_a_deployment_with_a_name_of_its_own_is_called_as_it_asks(resources: ModelResources) -> None:
    async with ModelServer([ASKS_FOR_RESPONSES, RESPONSE, RESPONSE]) as server:
        model = model_at(server, resources, "openai/our-deployment")
        for _ in range(2):
            await chunks_of(model, request("Look.", REASONED, SEEN))

    assert [each.path for each in server.requests] == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]


@pytest.mark.parametrize("name", ["gateway/gpt-6-astra", "gateway/openai/gpt-5.6", "openai/azure/gpt-5.6"])
async def test_openais_models_behind_any_gateway_are_called_through_responses(
    resources: ModelResources, name: str
) -> None:
    async with ModelServer([RESPONSE]) as server:
        await chunks_of(model_at(server, resources, name), request("Hi."))

    assert [each.path for each in server.requests] == ["/v1/responses"]


@pytest.mark.parametrize(
    "name", ["openai/devstral-medium", "openrouter/mistralai/codestral-2", "hosted_vllm/mistral-x"]
)
async def test_mistrals_models_keep_their_rules_behind_gateways(resources: ModelResources, name: str) -> None:
    said = user_message((ToolResultBlock(tool_use_id="call_1", content="seen"), TextBlock(text="Go on.")))
    async with ModelServer([DONE]) as server:
        await chunks_of(model_at(server, resources, name), request("Look.", REASONED, said))

    messages = next(each for each in server.requests if each.path.endswith("/chat/completions")).body["messages"]
    assert [each["role"] for each in messages][-4:] == ["assistant", "tool", "assistant", "user"]
    assert len(messages[-3]["tool_call_id"]) == 9


BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. "
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def binding(received: Received, _: int) -> Step:
    """An account whose thoughts are bound to what stands before them: `system`, `tools` and all earlier messages.

    https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
    """
    body = received.body
    may_drop = body.get("thinking", {}).get("block_binding") == {"prefix_mismatch_behavior": "drop_block"}
    if may_drop and "thinking-binding-controls-2026-08-01" not in received.headers.get("anthropic-beta", ""):
        return Step(status=400, error="thinking.block_binding: Extra inputs are not permitted")
    for place, message in enumerate(body["messages"]):
        for block in message["content"]:
            if block["type"] == "thinking" and block["signature"] != seal(body, place) and not may_drop:
                return Step(status=400, error=BOUND, error_type="invalid_request_error")
    thought = {"type": "thinking", "thinking": "", "signature": ""}
    sealed = {"type": "signature_delta", "signature": seal(body, len(body["messages"]))}
    events: tuple[dict[str, Any], ...] = (
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": thought},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": "content_block_delta", "index": 0, "delta": sealed},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Done."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )
    return named_events(*events)


def seal(body: Mapping[str, Any], length: int) -> str:
    """What a thought is bound to: all that stands before it, without marks for the cache."""

    def unmarked(found: dict[str, Any]) -> dict[str, Any]:
        return {key: each for key, each in found.items() if key != "cache_control"}

    prefix = json.dumps([body.get("system"), body.get("tools"), body["messages"][:length]])
    return hashlib.sha256(json.dumps(json.loads(prefix, object_hook=unmarked)).encode()).hexdigest()


@pytest.mark.parametrize("effort", [None, "high"])
async def test_claude_is_asked_to_drop_thoughts_before_which_something_changed(
    resources: ModelResources, effort: Effort | None
) -> None:
    messages: list[Message] = [user_message("One.")]
    async with ModelServer(binding) as server:
        model = model_at(server, resources, "anthropic/claude-sonnet-5-5")
        for number in range(3):
            asked = request(*messages, effort=effort, system=f"It is {number} o'clock.")
            answer = joined(await chunks_of(model, asked))
            messages += [answer.message(f"t{number}", ()), user_message("Go on.")]

    assert len(server.requests) == 4, "one refusal teaches it"
    last = server.requests[-1].body
    assert last["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert [part["type"] for part in last["messages"][1]["content"]] == ["thinking", "text"]


async def test_deepseek_gets_its_thoughts_back_through_anthropics_api(resources: ModelResources) -> None:
    """https://api-docs.deepseek.com/guides/anthropic_api; the words are those of anthropics/claude-code users."""

    def thinking_mode(received: Received, _: int) -> Step:
        for message in received.body["messages"]:
            kinds = [part["type"] for part in message["content"]]
            if "tool_use" in kinds and "thinking" not in kinds:
                words = "The content[].thinking in the thinking mode must be passed back to the API."
                return Step(status=400, error=words, error_type="invalid_request_error")
        return named_events(
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Done."}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        )

    of_another = replace(REASONED, content=(ToolUseBlock(id="call_0", name="look", input={}),))
    seen = user_message((ToolResultBlock(tool_use_id="call_0", content="seen"),))
    async with ModelServer(thinking_mode) as server:
        model = model_at(server, resources, "anthropic/deepseek-v4-pro")
        await chunks_of(model, request("Look.", REASONED, SEEN))
        await chunks_of(model, request("Look.", of_another, seen, REASONED, SEEN))

    assert len(server.requests) == 3, "a thought without a signature goes back by itself"
    assert server.requests[0].body["messages"][1]["content"][0]["thinking"] == "I must look."


async def test_a_signature_that_is_missed_is_stood_in_for(resources: ModelResources) -> None:
    words = "Function call is missing a thought_signature in functionCall parts."

    _, second = await bodies_of(resources, "hosted_vllm/our-gemini", Step(status=400, error=words), DONE)

    assert second["messages"][-2]["tool_calls"][0]["extra_content"]["google"]["thought_signature"]


@pytest.mark.parametrize(
    "answer",
    [
        Step(raw=("application/json", '{"error":"Unexpected endpoint or method. (POST /v1/responses)"}')),
        Step(raw=("text/html", "<html>404 Not Found</html>"), status=404),
        Step(raw=("application/json", '{"detail":"Not Found"}'), status=404),
        Step(raw=("application/json", '{"detail":"Method Not Allowed"}'), status=405),
        Step(raw=("application/json", '{"error":{"message":"Unknown endpoint /v1/responses"}}'), status=400),
    ],
)
async def test_a_server_without_responses_is_asked_for_chat_completions(
    resources: ModelResources, answer: Step
) -> None:
    async with ModelServer([answer, DONE]) as server:
        await chunks_of(model_at(server, resources, "openai/gpt-5.6"), request("Hi."))

    assert [each.path for each in server.requests] == ["/v1/responses", "/v1/chat/completions"]
    assert server.requests[1].body["reasoning_effort"] == "none"


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("anthropic/claude-opus-5", ({"type": "disabled"}, None)),
        ("anthropic/claude-sonnet-5-5", (None, {"effort": "low"})),
        ("anthropic/claude-haiku-4-5", (None, None)),
    ],
)
async def test_claude_that_thinks_by_itself_is_told_not_to(
    resources: ModelResources, name: str, asked: tuple[object, object]
) -> None:
    """platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5: thinking is on by default since Claude 5."""
    said = named_events({"type": "message_stop"})

    [body] = await bodies_of(resources, name, said, efforts=("none",))

    assert (body.get("thinking"), body.get("output_config")) == asked


async def test_claude_that_cannot_stop_thinking_thinks_a_little(resources: ModelResources) -> None:
    words = (
        '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.'
    )
    steps = (Step(status=400, error=words), named_events({"type": "message_stop"}))

    _, second = await bodies_of(resources, "anthropic/claude-opus-5", *steps, efforts=("none",))

    assert (second.get("thinking"), second["output_config"]) == (None, {"effort": "low"})


async def test_a_request_to_reason_has_no_temperature(resources: ModelResources) -> None:
    first, second = await bodies_of(resources, "hosted_vllm/some-model", DONE, DONE, efforts=("high", "none"))

    assert ("temperature" in first, "temperature" in second) == (False, True)


async def test_reasoning_of_one_session_that_is_refused_takes_no_other_with_it(resources: ModelResources) -> None:
    def sealed(cipher: str) -> Message:
        item: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": cipher}
        thought = ThinkingBlock(thinking="", family="openai", provider_data={"reasoning": item})
        return replace(REASONED, content=(thought, *REASONED.blocks))

    def one_organization(received: Received, _: int) -> Step:
        if "of-another" in json.dumps(received.body):
            return Step(status=400, error="The encrypted content for item rs_1 could not be verified.")
        return RESPONSE

    async with ModelServer(one_organization) as server:
        model = model_at(server, resources, "openai/gpt-5.6")
        for cipher in ("of-another", "of-this"):
            await chunks_of(model, request("Look.", sealed(cipher), SEEN))

    assert len(server.requests) == 3
    assert "of-this" in json.dumps(server.requests[-1].body)
