"""A short call that checks whether a model can be used."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing

from msgspec import Struct

from pygent_ls.agent.messages import TextBlock, Usage, user_message
from pygent_ls.agent.model.answer import ModelAnswer
from pygent_ls.agent.ports.model import Model, ModelRequest, ToolDefinition
from pygent_ls.errors import ModelError

PROMPT = "This is a test of the connection. ModelAnswer with the word ready, and call no tool."

TIMEOUT_S = 180.0
"""Time limit; a local model may have to be loaded first."""

TOOL = ToolDefinition(
    name="current_time",
    description="Return the current time. You do not need it now.",
    schema={"type": "object", "properties": {}, "additionalProperties": False},
)
"""Tool offered in the call: many providers refuse only requests that offer tools."""

MAX_OUTPUT_TOKENS = 1024
"""Output limit, with room for a model that thinks before it answers."""


class CheckedCall(Struct, frozen=True, kw_only=True):
    """A successful call."""

    seconds: float
    """Time from the request to the end of the answer."""
    usage: Usage


async def check_call(model: Model, temperature: float = 1.0) -> CheckedCall:
    """Call the model once, with one harmless tool. Raises `ModelError`, also for an empty answer."""
    request = ModelRequest(
        system="You are asked whether you can be reached.",
        messages=[user_message((TextBlock(text=PROMPT),), turn_id="check")],
        tools=[TOOL],
        max_output_tokens=MAX_OUTPUT_TOKENS,
        temperature=temperature,
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await model.prepare()
            began_s = time.monotonic()
            answer = await _answer(model, request)
    except TimeoutError:
        raise ModelError(f"{model.name} did not answer within {TIMEOUT_S:g} s.", type="timeout") from None
    if answer.finish is None:
        raise ModelError("The connection closed before the answer was complete. Try again.", type="network")
    if answer.is_empty and not answer.usage.output_tokens:
        raise ModelError("The answer was empty.", type="server")
    return CheckedCall(seconds=time.monotonic() - began_s, usage=answer.usage)


async def _answer(model: Model, request: ModelRequest) -> ModelAnswer:
    answer = ModelAnswer()
    async with aclosing(model.stream(request)) as chunks:
        async for chunk in chunks:
            answer.add(chunk)
    answer.close()
    return answer
