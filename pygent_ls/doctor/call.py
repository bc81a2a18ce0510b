"""One small real call of the model, and what came of it in words."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pygent_ls.doctor.model import ModelSurvey
from pygent_ls.errors import ModelError, SettingError

if TYPE_CHECKING:
    from pygent_ls.agent.messages import Usage
    from pygent_ls.agent.model import ModelRequest

MAX_OUTPUT_TOKENS = 512
"""Enough for a model that thinks before it answers."""

PROMPT = "This is a test of the connection. Answer with the word ready, and call no tool."


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """How a call ended."""

    said: str
    """One line for a person."""
    has_failed: bool = False


def call_model(survey: ModelSurvey) -> CallResult:
    """Call the model once, with one harmless tool: many providers refuse only requests that offer tools."""
    return asyncio.run(_call(survey))


async def _call(survey: ModelSurvey) -> CallResult:
    from pygent_ls.agent.messages import Usage
    from pygent_ls.agent.model import FinishChunk, TextChunk, ToolCallChunk, UsageChunk
    from pygent_ls.llm.routing import with_text_tools

    resources = survey.resources()
    usage, text, finish, calls = Usage(), "", None, 0
    began = time.monotonic()
    try:
        model = with_text_tools(survey.make(resources), survey.settings.text_tool_calls)
        await model.prepare()
        began = time.monotonic()
        async with aclosing(model.stream(_request(survey))) as chunks:
            async for chunk in chunks:
                match chunk:
                    case TextChunk():
                        text += chunk.text
                    case ToolCallChunk(name=str()):
                        calls += 1
                    case UsageChunk():
                        usage = chunk.usage
                    case FinishChunk():
                        finish = chunk.reason
                    case _:
                        pass
    except (ModelError, SettingError) as error:
        return CallResult(said=f"failed after {_seconds(began)}: {error}", has_failed=True)
    finally:
        await resources.close()
    if finish is None:
        return CallResult(said=f"failed after {_seconds(began)}: the answer broke off. Try again.", has_failed=True)
    if not (text.strip() or calls or usage.output_tokens):
        return CallResult(said=f"failed after {_seconds(began)}: the answer was empty.", has_failed=True)
    return CallResult(said=f"answered in {_seconds(began)}, {_spent(usage)}")


def _request(survey: ModelSurvey) -> ModelRequest:
    from pygent_ls.agent.messages import Message, TextBlock
    from pygent_ls.agent.model import ModelRequest, ToolDefinition

    path = {"type": "string", "description": "Path of the file."}
    tool = ToolDefinition(
        name="read_file",
        description="Return the text of a file.",
        schema={"type": "object", "properties": {"path": path}, "required": ["path"]},
    )
    return ModelRequest(
        system="You test a connection.",
        messages=[Message(role="user", content=(TextBlock(text=PROMPT),))],
        tools=[tool],
        max_output_tokens=MAX_OUTPUT_TOKENS,
        temperature=survey.settings.temperature,
    )


def _seconds(began: float) -> str:
    return f"{time.monotonic() - began:.1f} s"


def _spent(usage: Usage) -> str:
    if usage.is_nothing:
        return "tokens unknown"
    return f"{usage.input_tokens} tokens in, {usage.output_tokens} out, {usage.cost_in_words}"
