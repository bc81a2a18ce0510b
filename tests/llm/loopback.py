"""Real calls through litellm to the loopback server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pygent_ls.agent.ports.model import Chunk
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.litellm.model import LitellmModel
from pygent_ls.llm.providers.endpoint import Endpoint
from tests.llm.model_contract import chunks_of
from tests.model_server import ModelServer, Step

WAIT_S = 80.0
KEY = "sk-test-of-a-key-0123456789"


def model_at(
    server: ModelServer,
    loader: LitellmLoader,
    name: str = "openai/mock",
    *,
    first_byte_timeout_s: float = WAIT_S,
    idle_timeout_s: float = WAIT_S,
) -> LitellmModel:
    endpoint = Endpoint(
        api_base=server.url,
        api_key=KEY,
        first_byte_timeout_s=first_byte_timeout_s,
        idle_timeout_s=idle_timeout_s,
    )
    return LitellmModel(name, endpoint, loader)


async def answer_to(step: Step, loader: LitellmLoader, name: str = "openai/mock") -> Sequence[Chunk]:
    async with ModelServer([step]) as server:
        return await chunks_of(model_at(server, loader, name))


def chunk_event(delta: Mapping[str, Any]) -> str:
    choice = {"index": 0, "delta": delta}
    event = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(event)}\n\n"
