"""The types of the official packages catch what is wrong with a request, down to the last part of a message."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.providers.examples import endpoint_of, example
from tests.providers.official_types import problems
from tests.providers.servers.answers import Body

Mistake = Callable[[Body], Any]

CHAT: Mapping[str, Mistake] = {
    "an unknown role": lambda body: body["messages"][1].update(role="human"),
    "a result without an id": lambda body: body["messages"][3].pop("tool_call_id"),
    "an unknown part": lambda body: body["messages"][1].update(content=[{"type": "input_text", "text": "x"}]),
    "a picture that is text": lambda body: body["messages"][1].update(
        content=[{"type": "image_url", "image_url": "data:"}]
    ),
    "a call without a type": lambda body: body["messages"][2]["tool_calls"][0].pop("type"),
    "arguments that are an object": lambda body: body["messages"][2]["tool_calls"][0]["function"].update(arguments={}),
    "a number for a name": lambda body: body["tools"][0]["function"].update(name=1),
    "a text for a number": lambda body: body.update(max_tokens="100"),
    "an unknown effort": lambda body: body.update(reasoning_effort="some"),
    "a field that nobody knows": lambda body: body.update(max_output_tokens=100),
    "a field of a message that nobody knows": lambda body: body["messages"][2].update(thinking="x"),
    "a field of another provider": lambda body: body["messages"][2].update(reasoning_details=[]),
}

RESPONSES: Mapping[str, Mistake] = {
    "a call without an id": lambda body: body["input"][2].pop("call_id"),
    "an output that is a number": lambda body: body["input"][4].update(output=1),
    "reasoning without a summary": lambda body: body["input"][1].pop("summary"),
    "an unknown part": lambda body: body["input"][8].update(content=[{"type": "text", "text": "x"}]),
    "a tool as chat completions have it": lambda body: body.update(
        tools=[{"type": "function", "function": {"name": "read"}}]
    ),
    "an unknown thing to include": lambda body: body.update(include=["reasoning"]),
    "an unknown field": lambda body: body.update(max_tokens=100),
}

MESSAGES: Mapping[str, Mistake] = {
    "no limit": lambda body: body.pop("max_tokens"),
    "an unknown role": lambda body: body["messages"][0].update(role="tool"),
    "a thought without a signature": lambda body: body["messages"][1]["content"][0].pop("signature"),
    "arguments that are text": lambda body: body["messages"][1]["content"][1].update(input="{}"),
    "a result without its id": lambda body: body["messages"][2]["content"][0].pop("tool_use_id"),
    "a picture as chat completions have it": lambda body: body["messages"][0].update(
        content=[{"type": "image_url", "image_url": {"url": "data:"}}]
    ),
    "an unknown field of a block": lambda body: body["messages"][1]["content"][0].update(text="x"),
    "a tool without a schema": lambda body: body["tools"][0].pop("input_schema"),
    "an unknown mark": lambda body: body["system"][0].update(cache_control={"type": "permanent"}),
    "an unknown field": lambda body: body.update(max_output_tokens=100),
}


def cases() -> list[Any]:
    found: list[Any] = []
    for family, types, mistakes in (
        ("openai", "chat", CHAT),
        ("groq", "chat", CHAT),
        ("openai", "responses", RESPONSES),
        ("anthropic", "messages", MESSAGES),
    ):
        found += [
            pytest.param(family, types, mistake, id=f"{family} {types}: {name}") for name, mistake in mistakes.items()
        ]
    return found


@pytest.mark.parametrize(("family", "types", "mistake"), cases())
def test_a_mistake_is_found(family: str, types: str, mistake: Mistake) -> None:
    body = copy.deepcopy(example(family, endpoint_of(family, types)))
    assert problems(family, types, body) == []
    mistake(body)
    assert problems(family, types, body)


def test_a_problem_is_told_with_its_place_and_in_the_words_of_the_type_that_is_meant() -> None:
    body = copy.deepcopy(example("openai", endpoint_of("openai", "chat")))
    body["messages"][3].pop("tool_call_id")
    (problem,) = problems("openai", "chat", body)
    assert problem.startswith("messages.3.ChatCompletionToolMessageParam.tool_call_id: Field required")


def test_a_field_that_a_provider_documents_is_fine_there_and_nowhere_else() -> None:
    body = copy.deepcopy(example("deepseek", endpoint_of("deepseek", "chat")))
    body["thinking"] = {"type": "enabled"}
    assert problems("deepseek", "chat", body) == []
    assert len(problems("xai", "chat", body)) == 3
