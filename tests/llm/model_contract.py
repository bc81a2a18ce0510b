"""What every model must do, whoever plays the provider."""

from __future__ import annotations

from collections.abc import Sequence

from pygent_ls.agent.messages import Message, user_message
from pygent_ls.agent.model.answer import ModelAnswer
from pygent_ls.agent.ports.model import Chunk, FinishChunk, Model, ModelRequest, TextChunk, ToolDefinition, UsageChunk

READ_FILE = ToolDefinition(
    name="read_file",
    description="Read a file.",
    schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)

ANSWER_TEXT = "Hello — a text of several chunks, with é and \U0001f600 in it."
ANSWER_INPUTS = ({"path": "a.py"}, {"path": "b é.py"})
"""Ids of two calls of read_file in one answer."""


def request(*messages: Message, tools: Sequence[ToolDefinition] = (READ_FILE,)) -> ModelRequest:
    """A request as the loop makes it."""
    return ModelRequest(
        system="You are a test.",
        messages=messages or (user_message("hi"),),
        tools=tools,
        max_output_tokens=1000,
        temperature=1.0,
    )


async def chunks_of(model: Model, asked: ModelRequest | None = None) -> list[Chunk]:
    """The whole stream."""
    return [chunk async for chunk in model.stream(asked or request())]


def joined(chunks: Sequence[Chunk]) -> ModelAnswer:
    """The answer as the loop puts it together."""
    answer = ModelAnswer()
    for chunk in chunks:
        answer.add(chunk)
    answer.close()
    return answer


def reasons(chunks: Sequence[Chunk]) -> list[str]:
    """The finish reasons that were sent."""
    return [chunk.reason for chunk in chunks if isinstance(chunk, FinishChunk)]


async def check_text_is_streamed(model: Model) -> None:
    """The model's next answer is ANSWER_TEXT with 100 and 20 tokens."""
    chunks = await chunks_of(model)

    answer = joined(chunks)
    assert answer.text == ANSWER_TEXT
    assert len([chunk for chunk in chunks if isinstance(chunk, TextChunk)]) > 3
    assert answer.finish_reason == "end_turn"
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.context_tokens) == (100, 20, 120)
    assert [type(chunk) for chunk in chunks[-2:]] == [UsageChunk, FinishChunk]


async def check_tool_calls_come_whole(model: Model) -> None:
    """The model's next answer has a call of read_file for each of ANSWER_INPUTS."""
    chunks = await chunks_of(model)

    calls = joined(chunks).message("t", ()).tool_calls
    assert [(call.name, dict(call.input), call.problem) for call in calls] == [
        ("read_file", given, None) for given in ANSWER_INPUTS
    ]
    assert len({call.id for call in calls}) == len(calls)
    assert joined(chunks).finish_reason == "tools"
