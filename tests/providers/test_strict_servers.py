"""The strict servers: every rule refuses a request that breaks it, and none refuses a request as providers take it."""

from __future__ import annotations

import copy
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.providers.examples import FIRST, endpoint_of, endpoints, example, remembered
from tests.providers.official_types import problems
from tests.providers.servers.answers import Body
from tests.providers.servers.families import FAMILIES
from tests.providers.servers.rules import Endpoint, first_broken
from tests.providers.servers.server import StrictServer

Break = Callable[[Body], Any]


def put(**values: Any) -> Break:
    """Sets fields of the request."""
    return lambda body: body.update(values)


def drop(name: str) -> Break:
    """Leaves a field of the request out."""
    return lambda body: body.pop(name)


def message(index: int, **values: Any) -> Break:
    """Sets fields of a message."""
    return lambda body: body["messages"][index].update(values)


def forget(index: int, name: str) -> Break:
    """Leaves a field of a message out."""
    return lambda body: body["messages"][index].pop(name)


def without(index: int, field: str = "messages") -> Break:
    """Leaves a message out."""
    return lambda body: body[field].pop(index)


def added(index: int, item: Body, field: str = "messages") -> Break:
    """Puts a message somewhere."""
    return lambda body: body[field].insert(index, item)


def item(index: int, **values: Any) -> Break:
    """Sets fields of an item of a Responses request."""
    return lambda body: body["input"][index].update(values)


def block(index: int, number: int, **values: Any) -> Break:
    """Sets fields of a block of a Messages request."""
    return lambda body: body["messages"][index]["content"][number].update(values)


def renamed(call_id: str) -> Break:
    """Gives the last call and its result another id."""

    def rename(body: Body) -> None:
        body["messages"][-2]["tool_calls"][0]["id"] = call_id
        body["messages"][-1]["tool_call_id"] = call_id

    return rename


def used_as(call_id: str) -> Break:
    """The same in a Messages request."""

    def rename(body: Body) -> None:
        body["messages"][-2]["content"][-1]["id"] = call_id
        body["messages"][-1]["content"][0]["tool_use_id"] = call_id

    return rename


def together(*breaks: Break) -> Break:
    """One after the other."""

    def all_of_them(body: Body) -> None:
        for each in breaks:
            each(body)

    return all_of_them


def function(**values: Any) -> Break:
    """Sets fields of the function that is offered."""
    return lambda body: body["tools"][0]["function"].update(values)


SAYS = {"role": "user", "content": "Wait."}
CHAT: Mapping[str, Break] = {
    "content_is_there": message(5, content=None),
    "every_call_is_answered": without(-1),
    "every_result_has_its_call": added(1, {"role": "tool", "tool_call_id": "call_x", "content": "sheep"}),
}

BREAKS: Mapping[tuple[str, str], Mapping[str, Break]] = {
    ("openai", "chat"): {
        **CHAT,
        "max_tokens_is_max_completion_tokens": put(max_tokens=100),
        "temperature_is_the_models_own": put(temperature=0.2),
        "effort_is_for_models_that_reason": put(model="gpt-4o"),
        "some_models_always_reason": put(model="gpt-6-astra"),
        "tools_want_no_reasoning": drop("reasoning_effort"),
        "names_are_names": function(name="read file"),
        "schemas_have_properties": function(parameters={"type": "object"}),
        "ids_are_short": renamed("x" * 41),
    },
    ("openai", "responses"): {
        "reasoning_excludes_temperature": put(temperature=1),
        "others_do_not_reason": put(model="gpt-4o"),
        "there_is_room_to_answer": put(max_output_tokens=15),
        "tools_are_functions": lambda body: body["tools"][0].update(parameters={"type": "object"}),
        "items_are_known": item(0, content=[{"type": "output_text", "text": "x"}]),
        "items_are_not_stored": item(2, id="fc_1"),
        "ids_are_short": item(2, call_id="x" * 65),
        "reasoning_is_known": item(1, encrypted_content="another"),
        "reasoning_has_its_item": without(7, "input"),
        "calls_have_outputs": without(-1, "input"),
    },
    ("anthropic", "messages"): {
        "thinking_is_of_the_models_kind": put(model="claude-sonnet-5-5"),
        "the_budget_fits": put(max_tokens=2000),
        "thinking_excludes_temperature": put(temperature=0.5),
        "new_models_take_no_temperature": put(
            model="claude-sonnet-5-5", thinking={"type": "adaptive"}, temperature=0.5
        ),
        "there_are_few_marks": lambda body: [
            each["content"][-1].update(cache_control={"type": "ephemeral"}) for each in body["messages"]
        ],
        "no_thought_is_marked": block(1, 0, cache_control={"type": "ephemeral"}),
        "the_system_prompt_says_something": put(system=[{"type": "text", "text": ""}]),
        "calls_have_tools": drop("tools"),
        "messages_have_content": block(0, 0, text=" \n"),
        "roles_alternate": without(3),
        "ids_are_ids": used_as("call.1"),
        "calls_are_answered": lambda body: body["messages"][2]["content"].insert(0, {"type": "text", "text": "Wait."}),
        "no_thought_is_last": lambda body: body["messages"][3]["content"].pop(),
        "thoughts_are_sealed": block(1, 0, thinking="Something else."),
        "thoughts_of_the_turn_are_whole": lambda body: body["messages"][-2]["content"].insert(
            0, body["messages"][1]["content"][0]
        ),
        "a_turn_begins_with_a_thought": lambda body: body["messages"][-2]["content"].pop(0),
        "no_thoughts_without_thinking": drop("thinking"),
    },
    ("deepseek", "chat"): {
        "deepseek_reads_no_pictures": message(
            1, content=[{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]
        ),
        "names_are_names": function(name="read file"),
        "schemas_have_properties": function(parameters={"type": "object"}),
        "deepseek_results_have_calls": CHAT["every_result_has_its_call"],
        "deepseek_calls_are_answered": without(-1),
        "deepseek_reasoning_is_sent_back": forget(2, "reasoning_content"),
    },
    ("moonshot", "chat"): {
        "moonshot_temperature_is_one": put(temperature=0.6),
        "moonshot_effort_or_thinking": put(thinking={"type": "enabled"}, reasoning_effort="low"),
        "moonshot_messages_have_content": message(5, content=""),
        "moonshot_calls_are_answered": without(-1),
        "moonshot_reasoning_is_sent_back": message(2, reasoning_content=""),
    },
    ("openrouter", "chat"): {
        "calls_are_answered": without(-1),
        "encrypted_details_are_known": lambda body: body["messages"][2]["reasoning_details"][1].update(data="x"),
        "gemini_wants_its_details": forget(-2, "reasoning_details"),
        "signatures_belong_to_texts": together(
            put(model="anthropic/claude-sonnet-4.6"),
            message(2, reasoning_details=[{"type": "reasoning.text", "text": "Both", "index": 0}]),
        ),
    },
    ("mistral", "chat"): {
        "the_last_word_is_not_the_assistants": without(-1),
        "roles_follow": added(5, SAYS),
        "calls_and_results_are_as_many": without(4),
        "assistants_say_something": message(5, content=""),
        "ids_have_nine_characters": renamed("call_1234"),
        "names_are_names": function(name="read file"),
    },
    ("groq", "chat"): {
        **CHAT,
        "groq_effort_is_for_models_that_reason": put(model="llama-3.3-70b-versatile", reasoning_effort="low"),
        "groq_knows_few_fields": message(2, reasoning_content="Both files."),
        "groq_takes_reasoning_of_models_that_reason": together(
            put(model="llama-3.3-70b-versatile"), message(2, reasoning="Both files.")
        ),
    },
    ("gemini", "chat"): {
        **CHAT,
        "chat_calls_are_signed": lambda body: body["messages"][-2]["tool_calls"][0].pop("extra_content"),
    },
    ("gemini", "gemini"): {
        "the_user_has_the_last_word": without(-1, "contents"),
        "call_turns_follow_user_turns": without(4, "contents"),
        "results_are_as_many_as_calls": lambda body: body["contents"][2]["parts"].pop(),
        "calls_are_signed": lambda body: body["contents"][-2]["parts"][0].pop("thoughtSignature"),
    },
    ("xai", "chat"): CHAT,
    ("zai", "chat"): CHAT,
}

CASES = [(family, endpoint.types, rule.__name__) for family, endpoint in endpoints() for rule in endpoint.rules]


@pytest.mark.parametrize(("family", "types", "rule"), CASES)
def test_a_request_that_breaks_a_rule_is_refused_for_it(family: str, types: str, rule: str) -> None:
    endpoint = endpoint_of(family, types)
    body = copy.deepcopy(example(family, endpoint))
    BREAKS[family, types][rule](body)
    found = first_broken(endpoint.rules, body, remembered(family))
    assert found is not None, "nothing is broken"
    assert found[0] == rule, found[1].message


ENDPOINTS = [pytest.param(family, endpoint, id=f"{family}-{endpoint.types}") for family, endpoint in endpoints()]


@pytest.mark.parametrize(("family", "endpoint"), ENDPOINTS)
def test_a_request_as_the_provider_takes_it_breaks_no_rule_and_is_of_the_official_type(
    family: str, endpoint: Endpoint
) -> None:
    body = example(family, endpoint)
    assert first_broken(endpoint.rules, body, remembered(family)) is None
    assert list(endpoint.losses(body, remembered(family))) == []
    assert problems(family, endpoint.types, body) == []


def test_an_adaptive_model_may_act_without_a_thought() -> None:
    endpoint = endpoint_of("anthropic", "messages")
    body = example("anthropic", endpoint, "claude-sonnet-5-5")
    body["messages"][-2]["content"].pop(0)
    assert first_broken(endpoint.rules, body, remembered("anthropic")) is None


LOSSES: Mapping[str, tuple[str, Break]] = {
    "openai": ("responses", without(1, "input")),
    "anthropic": (
        "messages",
        together(
            put(model="claude-sonnet-5-5", thinking={"type": "adaptive"}),
            lambda body: body["messages"][-2]["content"].pop(0),
        ),
    ),
    "deepseek": ("chat", message(2, reasoning_content="")),
    "moonshot": ("chat", message(2, reasoning_content="Other files.")),
    "openrouter": ("chat", lambda body: body["messages"][2]["reasoning_details"].pop(0)),
    "gemini": ("chat", lambda body: body["messages"][2]["tool_calls"][0].pop("extra_content")),
}


@pytest.mark.parametrize("family", LOSSES)
def test_opaque_data_that_does_not_come_back_is_a_loss_though_it_is_not_refused(family: str) -> None:
    types, spoil = LOSSES[family]
    endpoint = endpoint_of(family, types)
    body = copy.deepcopy(example(family, endpoint))
    spoil(body)
    assert first_broken(endpoint.rules, body, remembered(family)) is None
    assert len(list(endpoint.losses(body, remembered(family)))) == 1


def ask(server: StrictServer, path: str, body: Body) -> tuple[int, str]:
    """Send a request, and return the status and the body of the answer."""
    request = urllib.request.Request(server.root + path, json.dumps(body).encode(), method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


PATHS: Mapping[str, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse",
}


@pytest.mark.parametrize(("family", "endpoint"), ENDPOINTS)
def test_a_server_streams_its_answer_over_http_and_refuses_in_the_words_of_its_provider(
    family: str, endpoint: Endpoint
) -> None:
    body = example(family, endpoint)
    spoiled = copy.deepcopy(body)
    rule = endpoint.rules[-1].__name__
    BREAKS[family, endpoint.types][rule](spoiled)
    with StrictServer(FAMILIES[family], lambda _body, _number: FIRST, remembered(family)) as server:
        status, streamed = ask(server, PATHS[endpoint.types], body)
        assert (status, "path" in streamed) == (200, True)
        status, refused = ask(server, PATHS[endpoint.types], spoiled)
        assert status in (400, 404)
        assert json.dumps(server.refusals[0].broken.message)[1:-1] in refused.replace('\\\\"', '\\"')
        assert [each.rule for each in server.refusals] == [rule]
        if server.refusals[0].broken.about == "history":  # a parameter may be refused once, and is then learned
            with pytest.raises(AssertionError, match=family):
                server.check()
