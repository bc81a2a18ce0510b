"""Output items of streams of the Responses API, as servers number them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pygent_ls.agent.json_fields import obj
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.llm.answers import answered, events, named_events, thinking_of, whole
from tests.llm.loopback import KEY
from tests.llm.model_contract import joined, request
from tests.model_server import ModelServer, Step

MODEL = "openai/gpt-5.6"


def item(kind: str, name: str, pieces: Sequence[tuple[str, str]], **ended: Any) -> list[dict[str, object]]:
    """The events of one item, without its number."""
    begun = {"type": kind, "id": name, **({"call_id": ended["call_id"], "name": "f"} if "call_id" in ended else {})}
    return [
        {"type": "response.output_item.added", "item": begun},
        *({"type": f"response.{piece}.delta", "item_id": name, "delta": delta} for piece, delta in pieces),
        {"type": "response.output_item.done", "item": {**begun, **ended}},
    ]


def call(number: int, pieces: Sequence[str], arguments: str = "") -> list[dict[str, object]]:
    """A call whose arguments come in pieces, or with its end alone."""
    deltas = [("function_call_arguments", each) for each in pieces]
    return item("function_call", f"fc_{number}", deltas, call_id=f"c_{number}", arguments=arguments or "".join(pieces))


THOUGHT = item("reasoning", "rs_1", [("reasoning_text", "I look.")], content=[{"type": "text", "text": "I look."}])
TEXT = item("message", "msg_1", [("output_text", "Let me see.")], content=[{"type": "output_text", "text": "x"}])
CALLS = [call(1, ('{"a"', ": 1}")), call(2, (), '{"a": 2}'), call(3, ('{"a": 3}',))]
COMPLETED: Mapping[str, object] = {"type": "response.completed", "response": {"status": "completed", "output": []}}


def without_ids(event: Mapping[str, object]) -> dict[str, object]:
    found = {name: value for name, value in event.items() if name != "item_id"}
    if begun := obj(found.get("item")):
        found["item"] = {name: value for name, value in begun.items() if name != "id"}
    return found


@pytest.mark.parametrize("is_numbered", [False, True])
@pytest.mark.parametrize("has_ids", [False, True])
async def test_items_are_told_apart_with_and_without_their_numbers(is_numbered: bool, has_ids: bool) -> None:
    items = [THOUGHT, TEXT, *CALLS]
    pieces = [
        {**event, "output_index": number} if is_numbered else event
        for number, each in enumerate(items)
        for event in each
    ]

    sent = [*pieces, dict(COMPLETED)] if has_ids else [without_ids(each) for each in [*pieces, COMPLETED]]
    chunks = await answered(named_events(*sent), MODEL)

    answer = joined(chunks)
    calls = [(each.id, dict(each.input)) for each in answer.message("t", ()).tool_calls]
    assert (thinking_of(chunks), answer.text) == ("I look.", "Let me see.")
    assert calls == [("c_1", {"a": 1}), ("c_2", {"a": 2}), ("c_3", {"a": 3})]


async def test_items_that_run_at_once_are_told_apart_by_their_ids() -> None:
    one, _, three = CALLS
    mixed = [one[0], three[0], one[1], three[1], one[2], one[3], three[2]]

    answer = joined(await answered(named_events(*mixed, dict(COMPLETED)), MODEL))

    calls = [(each.id, dict(each.input)) for each in answer.message("t", ()).tool_calls]
    assert calls == [("c_1", {"a": 1}), ("c_3", {"a": 3})]


CHAT: Sequence[dict[str, object]] = (
    {"choices": [], "object": "", "prompt_filter_results": []},
    {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi"}}]},
    {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
)


@pytest.mark.parametrize(
    "step",
    [events(*CHAT), events(*CHAT[1:]), whole({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})],
    ids=["Azure's stream", "a stream", "JSON"],
)
async def test_a_server_that_answers_with_chat_completions_is_asked_for_them(step: Step) -> None:
    resources = ModelResources()
    async with ModelServer([step] * 3) as server:
        try:
            model = make_model(MODEL, Endpoint(api_base=server.url, api_key=KEY), resources)
            answers = [joined([chunk async for chunk in model.stream(request())]) for _ in range(2)]
        finally:
            await resources.close()

    assert [(answer.text, answer.finish) for answer in answers] == [("Hi", "stop")] * 2
    assert [each.path.rpartition("/v1/")[2] for each in server.requests] == [
        "responses",
        "chat/completions",
        "chat/completions",
    ]
