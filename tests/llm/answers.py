"""Answers of providers, given byte for byte by a real HTTP server to the adapter that a model string chooses."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pygent_ls.agent.ports.model import Chunk, ModelRequest, ThinkingChunk
from pygent_ls.errors import ModelError
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model
from tests.llm.loopback import KEY
from tests.llm.model_contract import request
from tests.model_server import ModelServer, Step

STREAM = "text/event-stream"
JSON = "application/json"


def events(*pieces: object) -> Step:
    """A stream of these objects, to its end."""
    return Step(raw=(STREAM, "".join(f"data: {json.dumps(each)}\n\n" for each in pieces) + "data: [DONE]\n\n"))


def named_events(*pieces: dict[str, object]) -> Step:
    """A stream of these objects, each an event of its type, as Anthropic sends them."""
    return Step(raw=(STREAM, "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in pieces)))


def whole(body: object, status: int = 200) -> Step:
    """One JSON object, in place of a stream."""
    return Step(raw=(JSON, json.dumps(body)), status=status)


async def answered(step: Step, name: str = "openai/mock", asked: ModelRequest | None = None) -> Sequence[Chunk]:
    """The chunks of the answer to one request; raises `ModelError` as the adapter does."""
    resources = ModelResources()
    async with ModelServer([step]) as server:
        try:
            model = make_model(name, Endpoint(api_base=server.url, api_key=KEY), resources)
            return [chunk async for chunk in model.stream(asked or request())]
        finally:
            await resources.close()


async def error_of(step: Step, name: str = "openai/mock", asked: ModelRequest | None = None) -> ModelError:
    """The error of an answer that is one."""
    try:
        await answered(step, name, asked)
    except ModelError as error:
        return error
    raise AssertionError("no error came")


def thinking_of(chunks: Sequence[Chunk]) -> str:
    """The model's thinking, as it came."""
    return "".join(chunk.thinking for chunk in chunks if isinstance(chunk, ThinkingChunk))
