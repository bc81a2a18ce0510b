"""One small call that shows whether a model can be used."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing

from pygent_ls.agent.messages import TextBlock, user_message
from pygent_ls.agent.model import FinishChunk, Model, ModelRequest, ToolDefinition
from pygent_ls.errors import ModelError

PROMPT = "Answer with the one word: ready"
TIMEOUT_S = 180.0
"""A local model may have to be loaded first."""

TOOL = ToolDefinition(
    name="current_time",
    description="Returns the current time. You do not need it now.",
    schema={"type": "object", "properties": {}, "additionalProperties": False},
)
"""Offered because much of what goes wrong goes wrong with tools alone."""

MAX_OUTPUT_TOKENS = 1024
"""Room for a model that thinks before it answers."""


async def check_call(model: Model) -> float:
    """Call the model once; returns how many seconds it took. Raises `ModelError`."""
    request = ModelRequest(
        system="You are asked whether you can be reached.",
        messages=[user_message((TextBlock(text=PROMPT),), turn_id="setup")],
        tools=[TOOL],
        max_output_tokens=MAX_OUTPUT_TOKENS,
        temperature=1.0,
    )
    began_s = time.monotonic()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await model.prepare()
            await _answered(model, request)
    except TimeoutError:
        raise ModelError(f"{model.name} did not answer within {TIMEOUT_S:g} s.", type="timeout") from None
    return time.monotonic() - began_s


async def _answered(model: Model, request: ModelRequest) -> None:
    async with aclosing(model.stream(request)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, FinishChunk):
                return
    raise ModelError("The answer broke off. Try again.", type="network")
