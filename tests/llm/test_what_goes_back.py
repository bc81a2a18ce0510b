"""What a provider sent with its answers goes back to its family alone, and messages follow the family's rules."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pygent_ls.agent.messages import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, user_message
from pygent_ls.agent.ports.model import Effort
from pygent_ls.llm.catalog.known_model import OwnFacts
from pygent_ls.llm.http.refusals import Learned, learn
from pygent_ls.llm.message_rules import MAX_CALL_ID_CHARS
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.agent.abilities import saying
from tests.agent.turns import bounded, new_turn
from tests.fakes import make_rig
from tests.llm.loopback import KEY
from tests.llm.model_contract import chunks_of, request
from tests.model_server import Call, ModelServer, Step

DEEPSEEK = "deepseek/deepseek-v4-pro"
GEMINI_3 = "openrouter/google/gemini-3-pro"
SIGNED = {"google": {"thought_signature": "c2VhbA=="}}


@pytest.fixture
async def resources() -> AsyncGenerator[ModelResources]:
    own = ModelResources()
    yield own
    await own.close()


async def bodies_of(resources: ModelResources, steps: list[Step], *names: str, **spec: Any) -> list[Mapping[str, Any]]:
    """The requests of one turn after the other, each with the model of that name, over one history."""
    history: list[Message] = []
    async with ModelServer(steps) as server:
        for name in names:
            model = make_model(name, Endpoint(api_base=server.url, api_key=KEY), resources)
            turn = new_turn(make_rig(saying("look", "seen")), model, history, **spec)
            await bounded(turn.run())
    return [each.body for each in server.requests]


def answers_in(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [message for message in body["messages"] if message["role"] == "assistant"]


LOOK = Step(thinking="I must look.", calls=(Call(name="look"),))
DONE = Step(thinking="I have seen it.", text="Done.")


@pytest.mark.parametrize("name", [DEEPSEEK, "moonshot/kimi-k2.6"])
async def test_reasoning_goes_back_in_all_later_requests(resources: ModelResources, name: str) -> None:
    *_, last = await bodies_of(resources, [LOOK, DONE, DONE], name, name, effort="high")

    assert [each["reasoning_content"] for each in answers_in(last)] == ["I must look.", "I have seen it."]


async def test_an_answer_of_another_family_gets_a_reasoning_that_stands_for_none(resources: ModelResources) -> None:
    *_, last = await bodies_of(resources, [LOOK, DONE, DONE], "openai/gpt-4o", DEEPSEEK, effort="high")

    assert [each["reasoning_content"] for each in answers_in(last)] == [" ", " "]
    assert last["thinking"] == {"type": "enabled"}


async def test_reasoning_that_was_an_empty_text_goes_back_as_one(resources: ModelResources) -> None:
    empty = Step(deltas=({"reasoning_content": ""}, {"content": "Hm."}))
    *_, last = await bodies_of(resources, [empty, DONE], DEEPSEEK, DEEPSEEK, effort="high")

    assert [each["reasoning_content"] for each in answers_in(last)] == [""]


async def test_thinking_that_is_on_by_itself_is_switched_off_where_none_is_asked_for(resources: ModelResources) -> None:
    for name in (DEEPSEEK, "moonshot/kimi-k2.6", "zai/glm-5.1"):
        (body,) = await bodies_of(resources, [DONE], name)
        assert body["thinking"] == {"type": "disabled"}, name


async def test_openrouters_reasoning_details_go_back_verbatim_with_the_pieces_of_a_text_joined(
    resources: ModelResources,
) -> None:
    details = [
        [{"type": "reasoning.text", "text": "I must ", "format": "google-gemini-v1", "index": 0}],
        [{"type": "reasoning.text", "text": "look.", "format": "google-gemini-v1", "index": 0, "signature": "S"}],
        [{"type": "reasoning.encrypted", "data": "c2VhbA==", "id": "call_a", "index": 1}],
    ]
    call = {"index": 0, "id": "call_a", "function": {"name": "look", "arguments": "{}"}}
    look = Step(
        deltas=(*({"reasoning": "r", "reasoning_details": each} for each in details), {"tool_calls": [call]}),
        finish="tool_calls",
    )
    _, asked, other = await bodies_of(resources, [look, DONE, DONE], GEMINI_3, "openrouter/openai/gpt-5.6")

    assert answers_in(asked)[0]["reasoning_details"] == [
        {
            "type": "reasoning.text",
            "text": "I must look.",
            "format": "google-gemini-v1",
            "index": 0,
            "signature": "S",
        },
        details[2][0],
    ]
    assert "reasoning_details" not in json.dumps(other["messages"])  # of another vendor


async def test_geminis_signature_goes_back_with_its_call_and_to_no_other_family(resources: ModelResources) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}, "extra_content": SIGNED}
    look = Step(deltas=({"tool_calls": [call]},), finish="tool_calls")
    _, own, other = await bodies_of(resources, [look, DONE, DONE], "openai/gemini-3-pro", "groq/openai/gpt-oss-120b")

    assert answers_in(own)[0]["tool_calls"][0]["extra_content"] == SIGNED
    assert "extra_content" not in json.dumps(other["messages"])


async def test_gemini_is_told_which_calls_it_did_not_make(resources: ModelResources) -> None:
    names = ("groq/openai/gpt-oss-120b", GEMINI_3)
    *_, behind = await bodies_of(resources, [LOOK, DONE, DONE], *names)
    *_, itself = await bodies_of(resources, [LOOK, DONE, DONE], names[0], "openai/gemini-3-pro")

    (detail,) = answers_in(behind)[0]["reasoning_details"]
    assert (detail["type"], detail["data"]) == ("reasoning.encrypted", "skip_thought_signature_validator")
    assert detail["id"] == answers_in(behind)[0]["tool_calls"][0]["id"]
    extra = answers_in(itself)[0]["tool_calls"][0]["extra_content"]
    assert extra == {"google": {"thought_signature": "skip_thought_signature_validator"}}


async def test_an_id_that_is_too_long_goes_back_to_who_made_it_and_short_to_others(resources: ModelResources) -> None:
    """A gateway puts what its provider wants back into the ids."""
    long = "call_" + "x" * 80
    look = Step(calls=(Call(name="look", id=long),))
    names = ("litellm_proxy/gemini-3-pro", "openai/gpt-4o")
    _, own, other = await bodies_of(resources, [look, DONE, DONE], *names)

    assert answers_in(own)[0]["tool_calls"][0]["id"] == long
    assert [each["tool_call_id"] for each in own["messages"] if each["role"] == "tool"] == [long]
    short = answers_in(other)[0]["tool_calls"][0]["id"]
    assert len(short) <= MAX_CALL_ID_CHARS
    assert [each["tool_call_id"] for each in other["messages"] if each["role"] == "tool"] == [short]


# Rules of messages


RESULT = ToolResultBlock(tool_use_id="call_1", content="A")
CALLED = Message(role="assistant", content=(ToolUseBlock(id="call_1", name="look", input={}),))


async def sent(name: str, *messages: Message, **more: Any) -> Mapping[str, Any]:
    own = ModelResources()
    async with ModelServer([Step(text="ok")]) as server:
        model = make_model(name, Endpoint(api_base=server.url, api_key=KEY), own)
        await chunks_of(model, replace(request(*messages), **more))
        await own.close()
    return server.requests[0].body


async def test_mistral_gets_no_user_message_directly_after_a_tool_message() -> None:
    steered = user_message((RESULT, TextBlock(text="And be quick.")))

    body = await sent("mistral/mistral-medium-latest", user_message("q"), CALLED, steered)

    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert body["messages"][4]["content"]


@pytest.mark.parametrize(
    "blocks",
    [
        (TextBlock(text="half"), ThinkingBlock(thinking="t", signature="s", family="anthropic")),
        (ThinkingBlock(thinking="t", signature="s", family="anthropic"),),
    ],
)
async def test_no_answer_ends_with_a_thought_for_anthropic(blocks: tuple[TextBlock | ThinkingBlock, ...]) -> None:
    cut = Message(role="assistant", content=blocks)

    body = await sent("anthropic/claude-sonnet-4-5", user_message("a"), cut, user_message("b"))

    roles = [message["role"] for message in body["messages"]]
    assert roles in (["user", "assistant", "user"], ["user"])
    assert all(message["content"][-1]["type"] == "text" for message in body["messages"])


# Effort and temperature


@pytest.mark.parametrize(
    ("name", "effort", "told"),
    [
        (DEEPSEEK, "medium", {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        (DEEPSEEK, "none", {"thinking": {"type": "disabled"}}),
        ("moonshot/kimi-k2.6", "low", {"thinking": {"type": "enabled"}}),
        ("moonshot/kimi-k3", "medium", {"reasoning_effort": "high"}),
        ("moonshot/kimi-k3", "none", {}),
        ("moonshot/kimi-k3.1-pro", "none", {}),  # it always thinks
        ("zai/glm-5.1", "high", {"thinking": {"type": "enabled"}}),
        ("openrouter/x-ai/grok-4.7", "max", {"reasoning": {"effort": "xhigh"}}),
        ("openrouter/x-ai/grok-4.7", "none", {"reasoning": {"effort": "none"}}),
        ("mistral/mistral-medium-latest", "low", {"reasoning_effort": "high"}),
        ("mistral/mistral-medium-latest", "none", {"reasoning_effort": "none"}),
        ("groq/openai/gpt-oss-120b", "low", {"reasoning_effort": "low"}),
        ("openai/gpt-4o", "high", {}),
    ],
)
async def test_an_effort_is_told_in_the_providers_way(name: str, effort: Effort, told: Mapping[str, Any]) -> None:
    body = await sent(name, effort=effort)

    keys = ("reasoning_effort", "reasoning", "thinking")
    assert {key: body[key] for key in keys if key in body} == told


@pytest.mark.parametrize(
    ("name", "effort", "told"),
    [
        ("anthropic/claude-sonnet-5-5", "max", {"effort": "max"}),
        ("anthropic/claude-sonnet-5-5", "minimal", {"effort": "low"}),
        ("anthropic/claude-opus-4-6", "xhigh", {"effort": "max"}),  # which takes no xhigh
    ],
)
async def test_claude_is_told_an_effort_that_it_takes(name: str, effort: Effort, told: Mapping[str, str]) -> None:
    body = await sent(name, effort=effort)

    assert (body["thinking"]["type"], body["output_config"]) == ("adaptive", told)


async def test_claude_that_takes_a_number_is_told_one_for_an_effort() -> None:
    body = await sent("anthropic/claude-sonnet-4-5", effort="low")

    assert body["thinking"] == {"type": "enabled", "budget_tokens": 4096}
    assert body["max_tokens"] > 4096


@pytest.mark.parametrize("name", ["openai/o3", "xai/grok-4.7", "deepseek/deepseek-v4-pro", "openai/o9-new"])
async def test_a_model_that_reasons_is_sent_no_temperature(name: str) -> None:
    assert "temperature" not in await sent(name, temperature=0.2)


async def test_the_efforts_of_the_settings_count_for_their_models_and_for_all_others() -> None:
    own = ModelResources()
    facts = {"openai/o3": OwnFacts(effort="low")}
    async with ModelServer([Step(text="ok")] * 3) as server:
        endpoint = Endpoint(api_base=server.url, api_key=KEY, effort="high", own_facts=facts)
        for name, effort in (("openai/o3", None), ("openai/o4-mini", None), ("openai/o3", "medium")):
            await chunks_of(make_model(name, endpoint, own), replace(request(), effort=effort))
        await own.close()

    assert [each.body["reasoning_effort"] for each in server.requests] == ["low", "high", "medium"]


# What is learned


@pytest.mark.parametrize(
    "message",
    [
        "The reasoning_content in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        "messages.1.content.0.thinking.signature: Field required",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        "Missing required parameter: 'max_tokens'.",
    ],
)
def test_a_refusal_that_something_is_missing_teaches_to_leave_nothing_out(message: str) -> None:
    sent: dict[str, Any] = {
        "thinking_back": True,
        "max_tokens": 100,
        "reasoning": {},
        "thinking": {},
        "reasoning_effort": "low",
    }
    learned = Learned()

    for _ in range(3):
        learn(400, {"error": {"message": message}}, message, sent, learned)

    assert learned.left_out == {}
    assert learned.efforts is None


async def test_a_server_that_misses_the_reasoning_gets_it_from_then_on(resources: ModelResources) -> None:
    """DeepSeek behind a gateway that is called as OpenAI's."""
    missing = Step(status=400, error="The reasoning_content in the thinking mode must be passed back to the API.")
    name = "hosted_vllm/deepseek-ai/DeepSeek-V4"
    bodies = await bodies_of(resources, [LOOK, missing, DONE, DONE], name, name)

    kept = [[each.get("reasoning_content") for each in answers_in(body)] for body in bodies]
    assert kept == [[], [None], ["I must look."], ["I must look.", "I have seen it."]]


async def test_a_refused_effort_is_learned_and_another_one_sent(resources: ModelResources) -> None:
    refusal = Step(status=400, error="reasoning_effort must be one of low or high", code="invalid_value")
    bodies = await bodies_of(resources, [refusal, DONE], "groq/x", effort="medium")

    assert [body["reasoning_effort"] for body in bodies] == ["medium", "high"]


async def test_tools_that_are_refused_with_an_effort_are_sent_with_none(resources: ModelResources) -> None:
    refusal = Step(
        status=400,
        error=(
            "Function tools with reasoning_effort are not supported for gpt-x in /v1/chat/completions. "
            "Please use /v1/responses or set reasoning_effort to 'none'."
        ),
    )
    bodies = await bodies_of(resources, [refusal, DONE], "hosted_vllm/gpt-x")

    assert [body.get("reasoning_effort") for body in bodies] == [None, "none"]


# The prompt cache


async def test_claude_keeps_a_prompt_for_an_hour_where_the_user_wants_that() -> None:
    own = ModelResources()
    async with ModelServer([Step(text="ok")]) as server:
        endpoint = Endpoint(api_base=server.url, api_key=KEY, cache_ttl="1h")
        await chunks_of(make_model("anthropic/claude-sonnet-4-5", endpoint, own), request())
        await own.close()

    marks = [part["cache_control"] for part in server.requests[0].body["system"]]
    assert marks == [{"type": "ephemeral", "ttl": "1h"}]
