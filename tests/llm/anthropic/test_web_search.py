"""Web search that Anthropic runs: its blocks are shown as searches, and go back as the official SDK assembles them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pygent_ls.agent.events import Text, ToolCall, ToolResult
from pygent_ls.agent.messages import Message, ToolResultBlock, user_message
from pygent_ls.agent.turn.provider_searches import NOT_FINISHED
from pygent_ls.llm.anthropic.request import anthropic_messages
from pygent_ls.llm.anthropic.stream import MessageStream
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from pygent_ls.llm.server_sent_events import SentEvent
from pygent_ls.tools.web import web_search
from tests.agent.turns import check_turn, new_turn
from tests.fakes import Rig, bounded, make_rig
from tests.llm.answers import named_events, whole
from tests.llm.loopback import KEY
from tests.llm.model_contract import joined
from tests.model_server import ModelServer, Received, Step
from tests.providers.official_types import problems

SONNET = "anthropic/claude-sonnet-4-5"
CITED = {
    "type": "web_search_result_location",
    "cited_text": "Plums are ripe in August.",
    "encrypted_index": "RXhhbXBsZQ==",
    "title": "Plums",
    "url": "https://plums.example/1",
}
FOUND = [
    {
        "type": "web_search_result",
        "title": "Plums",
        "url": "https://plums.example/1",
        "encrypted_content": "RXhhbXBsZQ==",
        "page_age": None,
    }
]
FAILED = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
QUESTION = user_message("When are plums ripe?")

Event = dict[str, Any]


def start() -> Event:
    usage = {"input_tokens": 2000, "output_tokens": 1}
    message: Event = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "usage": usage,
    }
    return {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}


def block(index: int, begun: Mapping[str, Any], *deltas: Mapping[str, Any]) -> list[Event]:
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(index: int, content: str, *citations: Mapping[str, Any]) -> list[Event]:
    deltas = [{"type": "citations_delta", "citation": each} for each in citations]
    return block(index, {"type": "text", "text": ""}, *deltas, {"type": "text_delta", "text": content})


def search(index: int, name: str, query: str) -> list[Event]:
    pieces = ("", '{"query": ', json.dumps(query) + "}")
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, {"type": "server_tool_use", "id": name, "name": "web_search", "input": {}}, *deltas)


def result(index: int, name: str, content: object) -> list[Event]:
    return block(index, {"type": "web_search_tool_result", "tool_use_id": name, "content": content})


def end(reason: str, n_searches: int = 1) -> list[Event]:
    counts = {"web_search_requests": n_searches, "web_fetch_requests": 0}
    delta = {"stop_reason": reason, "stop_sequence": None}
    usage = {"output_tokens": 300, "server_tool_use": counts}
    return [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]


ANSWER = [
    start(),
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "I search."},
        {"type": "signature_delta", "signature": "SEAL"},
    ),
    *text(1, "I look it up."),
    *search(2, "srvtoolu_1", "ripe plums"),
    *result(3, "srvtoolu_1", FOUND),
    *search(4, "srvtoolu_2", "ripe plums 2026"),
    *result(5, "srvtoolu_2", FAILED),
    *text(6, "They are ripe "),
    *text(7, "in August", CITED, CITED),
    *text(8, "."),
    *end("end_turn", 2),
]

PAUSED = [start(), *text(0, "I look."), *search(1, "srvtoolu_1", "ripe plums"), *end("pause_turn")]

RESUMED = [start(), *result(0, "srvtoolu_1", FOUND), *text(1, "In August.", CITED), *end("end_turn")]


def as_the_sdk_assembles(events: Sequence[Event]) -> list[Event]:
    """The content of an answer, put together by the official SDK."""
    from anthropic.lib.streaming._messages import accumulate_event
    from anthropic.types import RawMessageStreamEvent
    from anthropic.types.parsed_message import ParsedMessage

    snapshot: ParsedMessage[object] | None = None
    buffers: dict[int, bytes] = {}
    for event in events:
        snapshot = accumulate_event(
            event=TypeAdapter[Any](RawMessageStreamEvent).validate_python(event),
            current_snapshot=snapshot,
            json_bufs=buffers,
        )
    assert snapshot is not None
    return [each.model_dump(exclude_none=True) for each in snapshot.content]


def without_nothing(value: Any) -> Any:
    """JSON without fields that are null, and without marks for the cache."""
    if isinstance(value, dict):
        kept = cast("dict[str, Any]", value)
        return {
            name: without_nothing(each) for name, each in kept.items() if each is not None and name != "cache_control"
        }
    return [without_nothing(each) for each in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


@pytest.fixture
async def resources() -> AsyncGenerator[ModelResources]:
    own = ModelResources()
    yield own
    await own.close()


async def asked(
    resources: ModelResources, script: Sequence[Step], *prompts: str, name: str = SONNET
) -> tuple[Rig, Sequence[Received], list[Message]]:
    """A turn for each prompt in one session; its rig, the requests, and the history."""
    rig = make_rig(web_search)
    history: list[Message] = []
    async with ModelServer(script) as server:
        model = make_model(name, Endpoint(api_base=server.url, api_key=KEY), resources)
        for number, prompt in enumerate(prompts):
            turn_id = f"turn-{number}"
            made = new_turn(rig, model, history, prompt=prompt, turn_id=turn_id, provider_search=True)
            n_before = len(rig.events.stamped)
            check_turn(made, await bounded(made.run()), rig.events.stamped[n_before:])
    return rig, server.requests, history


async def test_an_answer_with_searches_goes_back_as_the_sdk_assembles_it(resources: ModelResources) -> None:
    script = [named_events(*ANSWER), Step(text="Yes.")]
    _, requests, _ = await asked(resources, script, "When are plums ripe?", "Sure?")

    first, second = (request.body for request in requests)
    (tool,) = first["tools"]
    assert {name: tool[name] for name in ("type", "name")} == {"type": "web_search_20250305", "name": "web_search"}
    assert without_nothing(second["messages"][1]["content"]) == as_the_sdk_assembles(ANSWER)
    for body in (first, second):
        assert problems("anthropic", "messages", body) == []


async def test_the_user_sees_each_search_and_what_it_found_between_the_texts(resources: ModelResources) -> None:
    rig, *_ = await asked(resources, [named_events(*ANSWER)], "When are plums ripe?")

    calls, results = rig.events.of(ToolCall), rig.events.of(ToolResult)
    assert [(each.tool_name, each.title) for each in calls] == [
        ("web_search", "Search the web for ripe plums"),
        ("web_search", "Search the web for ripe plums 2026"),
    ]
    assert [(each.tool_id, each.content, each.is_error) for each in results] == [
        (calls[0].tool_id, "Plums\nhttps://plums.example/1", False),
        (calls[1].tool_id, "The provider's search failed: max_uses_exceeded.", True),
    ]
    texts = rig.events.of(Text)
    assert [each.content for each in texts] == ["I look it up.", "They are ripe in August."]
    assert len({each.item_id for each in texts}) == 2


async def test_searches_are_part_of_the_cost(resources: ModelResources) -> None:
    *_, history = await asked(resources, [named_events(*ANSWER)], "When?")
    assert history[-1].text == "I look it up.They are ripe in August."

    costs: list[float] = []
    for n_searches in (0, 2):
        script = [named_events(start(), *text(0, "Hm."), *end("end_turn", n_searches))]
        async with ModelServer(script) as server:
            model = make_model(SONNET, Endpoint(api_base=server.url, api_key=KEY), resources)
            turn = await bounded(new_turn(make_rig(), model).run())
            costs.append(turn.usage.cost_usd or 0.0)
    assert costs[1] - costs[0] == pytest.approx(0.02)


async def test_an_answer_that_is_not_streamed_is_read_alike(resources: ModelResources) -> None:
    content = as_the_sdk_assembles(ANSWER)
    body = {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}
    _, requests, _ = await asked(resources, [whole(body), Step(text="Yes.")], "When are plums ripe?", "Sure?")

    assert without_nothing(requests[1].body["messages"][1]["content"]) == content


async def test_a_paused_answer_goes_on_when_it_is_sent_back(resources: ModelResources) -> None:
    script = [named_events(*PAUSED), named_events(*RESUMED), Step(text="Yes.")]
    rig, requests, history = await asked(resources, script, "When are plums ripe?", "Sure?")

    resumed, after = (request.body["messages"] for request in requests[1:])
    paused = as_the_sdk_assembles(PAUSED)
    assert [message["role"] for message in resumed] == ["user", "assistant"]
    assert without_nothing(resumed[-1]["content"]) == paused
    assert without_nothing(after[1]["content"]) == [*paused, *as_the_sdk_assembles(RESUMED)]
    assert [problems("anthropic", "messages", request.body) for request in requests] == [[], [], []]
    assert [message.text for message in history if message.role == "assistant"] == ["I look.", "In August.", "Yes."]
    ((call,), (found,)) = rig.events.of(ToolCall), rig.events.of(ToolResult)
    assert (found.tool_id, found.is_error) == (call.tool_id, False)


async def test_a_search_that_has_no_result_is_ended_and_not_sent_back(resources: ModelResources) -> None:
    broken = [start(), *text(0, "I look."), *search(1, "srvtoolu_1", "ripe plums"), *end("end_turn")]
    rig, requests, _ = await asked(resources, [named_events(*broken), Step(text="Yes.")], "When?", "Sure?")

    assert [each.content for each in rig.events.of(ToolResult)] == [NOT_FINISHED]
    assert without_nothing(requests[1].body["messages"][1]["content"]) == [{"type": "text", "text": "I look."}]


async def test_a_search_that_waits_for_our_tools_is_sent_back_with_their_results(resources: ModelResources) -> None:
    call = block(1, {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}})
    both = [start(), *search(0, "srvtoolu_1", "ripe plums"), *call, *end("tool_use")]
    script = [named_events(*both), named_events(*RESUMED), Step(text="Yes.")]
    _, requests, _ = await asked(resources, script, "When?", "Sure?")

    kinds = [[part["type"] for part in message["content"]] for message in requests[2].body["messages"]]
    assert kinds == [
        ["text"],
        ["server_tool_use", "tool_use"],
        ["tool_result"],
        ["web_search_tool_result", "text"],
        ["text"],
    ]
    assert without_nothing(requests[1].body["messages"][1]["content"])[0]["id"] == "srvtoolu_1"


@pytest.mark.parametrize(
    "refusal",
    [
        "'claude-sonnet-4-5' does not support tool types: web_search_20250305.",
        "Web search is not enabled for this organization.",
        "tools.1: Input tag 'web_search_20250305' found using 'type' does not match any of the expected tags",
    ],
)
async def test_a_refused_search_is_left_out_from_then_on(resources: ModelResources, refusal: str) -> None:
    refused = Step(status=400, error=refusal, error_type="invalid_request_error")
    script = [named_events(*ANSWER), refused, Step(text="Yes."), Step(text="Yes.")]
    _, requests, _ = await asked(resources, script, "When?", "Sure?", "Really?")

    assert [bool(request.body.get("tools")) for request in requests] == [True, True, False, False]
    left = requests[2].body["messages"][1]["content"]
    assert {part["type"] for part in left} == {"thinking", "text"}
    assert all("citations" not in part for part in left)


async def test_other_models_and_other_vendors_get_no_such_tool(resources: ModelResources) -> None:
    for name in ("deepseek/deepseek-chat", "openai/gpt-4o", "anthropic/other-vendor"):
        _, (request,), _ = await asked(resources, [Step(text="Hm.")], "When?", name=name)
        assert "web_search" not in json.dumps(request.body), name


PIECES = st.lists(
    st.one_of(
        st.tuples(st.just("search"), st.sampled_from(["a", "b", "c"])),
        st.tuples(st.just("result"), st.sampled_from(["a", "b", "c"])),
        st.tuples(st.just("text"), st.sampled_from(["Plums. ", "Ripe. "])),
    ),
    max_size=8,
)


def events_of(pieces: Sequence[tuple[str, str]]) -> list[Event]:
    made: list[Event] = [start()]
    for index, (kind, value) in enumerate(pieces):
        match kind:
            case "search":
                made += search(index, value, "plums")
            case "result":
                made += result(index, value, FOUND)
            case _:
                made += text(index, value)
    return [*made, *end("end_turn")]


@given(answers=st.lists(PIECES, max_size=4), last=st.sampled_from(["prompt", "result", "nothing"]))
def test_no_result_is_sent_without_its_search_and_no_search_without_its_result(
    answers: list[list[tuple[str, str]]], last: str
) -> None:
    """The rules of the API: each result follows its search, and only the last answer may have an open one."""
    messages: list[Message] = [QUESTION]
    for number, pieces in enumerate(answers):
        stream = MessageStream(known=KnownModel())
        chunks = [c for event in events_of(pieces) for c in stream.chunks(SentEvent("", json.dumps(event)))]
        messages.append(joined(chunks).message(f"t{number}", ()))
        if number < len(answers) - 1:
            messages.append(QUESTION)
    if last == "prompt":
        messages.append(QUESTION)
    elif last == "result":
        messages.append(user_message((ToolResultBlock(tool_use_id="x", content="y"),)))

    sent = anthropic_messages(messages, thinking=True, searches=True)

    asked_for: list[str] = []
    found: list[str] = []
    for message in sent:
        for part in message["content"]:
            if part["type"] == "server_tool_use":
                asked_for.append(part["id"])
            elif part["type"] == "web_search_tool_result":
                assert part["tool_use_id"] in asked_for
                found.append(part["tool_use_id"])
    is_open = set(asked_for) - set(found)
    answered = [message for message in sent if message["role"] == "assistant"]
    assert not is_open or last != "prompt"
    assert all(any(part.get("id") == each for part in answered[-1]["content"]) for each in is_open)
