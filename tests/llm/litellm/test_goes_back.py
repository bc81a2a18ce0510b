"""Through litellm: what Gemini wants back with its calls, and what a provider refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from msgspec import structs

from pygent_ls.agent.messages import ToolResultBlock, user_message
from pygent_ls.llm.litellm.loader import LitellmLoader
from tests.llm.loopback import model_at
from tests.llm.model_contract import chunks_of, joined, request
from tests.model_server import ModelServer, Step

SEAL = "c2VhbCBvZiBhIHRob3VnaHQ="


def gemini(*parts: dict[str, Any]) -> Step:
    """An answer as Gemini streams it."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    event = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro"}
    return Step(raw=("text/event-stream", f"data: {json.dumps(event)}\r\n\r\n"))


async def test_geminis_thought_signature_goes_back_with_its_call(loader: LitellmLoader) -> None:
    call = {"functionCall": {"name": "read_file", "args": {"path": "a"}}, "thoughtSignature": SEAL}
    async with ModelServer([gemini(call), gemini({"text": "Done."})]) as server:
        model = model_at(server, loader, "gemini/gemini-3-pro-preview")
        answer = structs.replace(joined(await chunks_of(model)), family=model.facts.family).message("t", ())
        (made,) = answer.tool_calls
        result = user_message((ToolResultBlock(tool_use_id=made.id, content="A"),))
        await chunks_of(model, request(user_message("q"), answer, result))

    assert len(made.id) <= 40
    contents = server.requests[1].body["contents"]
    (sent,) = [
        part for content in contents for part in content["parts"] if "functionCall" in part or "function_call" in part
    ]
    assert SEAL in json.dumps(sent)


async def test_a_refused_parameter_is_left_out_and_remembered(loader: LitellmLoader) -> None:
    refusal = Step(status=400, error="Unsupported parameter: 'temperature' is not supported with this model.")
    async with ModelServer([refusal, Step(text="a"), Step(text="b")]) as server:
        model = model_at(server, loader)
        texts = [joined(await chunks_of(model, replace(request(), temperature=0.2))).text for _ in range(2)]

    assert texts == ["a", "b"]
    assert ["temperature" in each.body for each in server.requests] == [True, False, False]


async def test_a_model_that_reasons_is_sent_no_temperature(loader: LitellmLoader) -> None:
    async with ModelServer([Step(text="a")]) as server:
        await chunks_of(model_at(server, loader, "openai/o3"), replace(request(), temperature=0.2))

    assert "temperature" not in server.requests[0].body
