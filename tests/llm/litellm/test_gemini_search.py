"""Google Search that Gemini 3 runs, through litellm: with our functions beside it, shown, and sent back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from pygent_ls.agent.messages import Message, user_message
from pygent_ls.agent.ports.model import Chunk, ModelRequest, SearchChunk
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.litellm.model import LitellmModel
from tests.llm.loopback import model_at
from tests.llm.model_contract import chunks_of, joined, request
from tests.model_server import ModelServer, Step

GEMINI = "gemini/gemini-3-flash-preview"

SEALS = ("c2VhcmNo", "Zm91bmQ=", "dGhvdWdodA==")
CALL = {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["ripe plums", "plums"]}, "id": "d6vd9r5q"}
FOUND = {"toolType": "GOOGLE_SEARCH_WEB", "response": {"search_suggestions": "<style></style>"}, "id": "d6vd9r5q"}


def streamed(*pieces: Sequence[dict[str, Any]]) -> Step:
    """An answer as Gemini streams it, with the parts of each piece."""
    told: list[str] = []
    for number, parts in enumerate(pieces, 1):
        ended = {"finishReason": "STOP"} if number == len(pieces) else {}
        candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **ended}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        event = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-flash-preview"}
        told.append(f"data: {json.dumps(event)}\r\n\r\n")
    return Step(raw=("text/event-stream", "".join(told)))


ANSWER = (
    [{"thoughtSignature": SEALS[0], "toolCall": CALL}, {"text": ""}],
    [{"thoughtSignature": SEALS[1], "toolResponse": FOUND}],
    [{"text": "In "}],
    [{"text": "August.", "thoughtSignature": SEALS[2]}],
)


def searching(*messages: Message) -> ModelRequest:
    return replace(request(*messages), searches_web=True)


async def answered(model: LitellmModel, *messages: Message) -> tuple[Sequence[Chunk], Message]:
    chunks = await chunks_of(model, searching(*messages))
    return chunks, structs.replace(joined(chunks), family=model.facts.family).message("t", ())


@pytest.mark.parametrize(
    "pieces", [ANSWER, [[part for piece in ANSWER for part in piece]]], ids=["in pieces", "at once"]
)
async def test_searches_are_shown_and_go_back_with_their_seals(
    loader: LitellmLoader, pieces: Sequence[Sequence[dict[str, Any]]]
) -> None:
    async with ModelServer([streamed(*pieces), streamed([{"text": "Yes."}])]) as server:
        model = model_at(server, loader, GEMINI)
        chunks, message = await answered(model)
        await answered(model, user_message("When?"), message, user_message("Sure?"))

    first, second = (each.body for each in server.requests)
    assert {"googleSearch": {}} in first["tools"]
    assert any("function_declarations" in tool for tool in first["tools"])
    assert first["toolConfig"]["includeServerSideToolInvocations"] is True
    shown = [(each.input, each.result) for each in chunks if isinstance(each, SearchChunk)]
    asked = {"query": "ripe plums; plums"}
    assert shown == [(asked, None), (asked, "Done by the provider.")]
    parts = second["contents"][1]["parts"]
    assert next(part for part in parts if "text" in part)["text"] == "In August."
    back = [part for part in parts if "toolCall" in part or "toolResponse" in part]
    assert back == [
        {"thoughtSignature": SEALS[0], "toolCall": CALL},
        {"thoughtSignature": SEALS[1], "toolResponse": FOUND},
    ]
    assert model.facts.searches_web


async def test_each_query_is_part_of_the_cost(loader: LitellmLoader) -> None:
    costs: list[float] = []
    for pieces in (ANSWER, ANSWER[2:]):
        async with ModelServer([streamed(*pieces)]) as server:
            chunks, _ = await answered(model_at(server, loader, GEMINI))
            costs.append(joined(chunks).usage.cost_usd or 0.0)

    assert costs[0] - costs[1] == pytest.approx(2 * 0.014)


async def test_a_refused_search_is_left_out_from_then_on(loader: LitellmLoader) -> None:
    told = {"code": 400, "message": "Tool use with function calling is unsupported", "status": "INVALID_ARGUMENT"}
    refused = Step(raw=("application/json", json.dumps({"error": told})), status=400)
    async with ModelServer([refused, streamed([{"text": "a"}]), streamed([{"text": "b"}])]) as server:
        model = model_at(server, loader, GEMINI)
        for _ in range(2):
            await answered(model)
        assert not model.facts.searches_web

    assert ["googleSearch" in json.dumps(each.body) for each in server.requests] == [True, False, False]


async def test_older_models_and_other_providers_have_no_such_search(loader: LitellmLoader) -> None:
    async with ModelServer([streamed([{"text": "a"}]), Step(text="b")]) as server:
        for name in ("gemini/gemini-2.5-flash", "openai/mock"):
            model = model_at(server, loader, name)
            await chunks_of(model)
            assert not model.facts.searches_web, name
