"""Tools for models without native calls: described in the system prompt, called in the text.

Calls have the form of `llm/text_tools/blocks.py`. Calls and results in the history become text of the same form.
"""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.messages import Block, Message, TextBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.agent.ports.model import (
    FINISH_REASONS,
    Chunk,
    Completion,
    FinishChunk,
    Model,
    ModelFacts,
    ModelRequest,
    NoticeChunk,
    SearchChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    ToolDefinition,
    UsageChunk,
    within_limit,
)
from pygent_ls.errors import NoToolsError
from pygent_ls.llm.text_tools.blocks import FoundCall, Piece, ToolBlocks

TextToolCallsSetting = Literal["auto", "on", "off"]
"""`auto`: tools are text if the model is known to lack native calls, or refuses tools when it is called."""

HOW_TO_CALL = """# Tools
You can call the tools below. A call is a fenced block named `tool` with one JSON object in it:

```tool
{"name": "NAME", "input": {"ARGUMENT": "VALUE"}}
```

- Write the block at the beginning of a line, and nothing else in it. Strings are JSON: line breaks in them are \\n.
- Several blocks in one answer are several calls. After the last one, end your answer: the results come with the next \
message. Never write a result yourself.
- Without a block, your answer is the last one: the user reads it.
"""


SWITCHED = "{name} does not support tools. From now on, tools are offered and called as text."


def tools_as_text(tools: Sequence[ToolDefinition]) -> str:
    """Return the description of the tools and of how to call them; empty without tools."""
    if not tools:
        return ""
    return HOW_TO_CALL + "".join(f"\n{_described(tool)}" for tool in tools)


def _described(tool: ToolDefinition) -> str:
    schema = json.dumps(tool.schema, ensure_ascii=False, separators=(",", ":"))
    return f"## {tool.name}\n{tool.description}\nInput, as JSON Schema: {schema}\n"


def with_tools(system: str, tools: Sequence[ToolDefinition]) -> str:
    """Return the system prompt followed by the tools."""
    return "\n\n".join(part for part in (system.rstrip(), tools_as_text(tools)) if part)


def call_as_text(name: str, given: Mapping[str, Any]) -> str:
    """Return a call as the model should have written it."""
    return f"```tool\n{json.dumps({'name': name, 'input': dict(given)}, ensure_ascii=False)}\n```"


def messages_as_text(messages: Iterable[Message]) -> list[Message]:
    """Return the conversation with calls and results converted to text; images and thinking stay."""
    names: dict[str, str] = {}
    return [_as_text(message, names) for message in messages]


def _as_text(message: Message, names: dict[str, str]) -> Message:
    """Return the message as text; `names` maps call ids to tool names, and those of this message are added."""
    if isinstance(message.content, str):
        return message
    if not any(isinstance(block, ToolUseBlock | ToolResultBlock) for block in message.content):
        return message
    blocks: list[Block] = []
    for block in message.content:
        match block:
            case ToolUseBlock(id=call_id, name=name, input=given):
                names[call_id] = name
                blocks.append(TextBlock(text="\n\n" * bool(blocks) + call_as_text(name, given)))
            case ToolResultBlock(tool_use_id=call_id, content=content, is_error=is_error):
                what = "Error" if is_error else "Result"
                blocks.append(TextBlock(text=f"{what} of {names.get(call_id, 'a tool')}:\n{content}"))
            case _:
                blocks.append(block)
    return replace(message, content=tuple(blocks))


async def with_calls_found(chunks: AsyncGenerator[Chunk], request: ModelRequest) -> AsyncGenerator[Chunk]:
    """Yield the chunks, with calls in their text converted to call chunks.

    No chunk of a call is sent before the call is complete, so the answer's limit is applied before. Raises as `chunks`
    does.
    """
    finder = _CallFinder(request.tools)
    async with aclosing(within_limit(chunks, request)) as limited:
        async for chunk in limited:
            for found in finder.taken(chunk):
                yield found
    for found in finder.pieces(finder.blocks.close()):  # the stream broke off: release the text held back
        yield found


class _CallFinder:
    """Converts the parsed pieces of one answer to chunks."""

    def __init__(self, tools: Sequence[ToolDefinition]) -> None:
        self.blocks = ToolBlocks(frozenset(tool.name for tool in tools))
        self._n_calls = 0

    def taken(self, chunk: Chunk) -> Iterator[Chunk]:
        match chunk:
            case TextChunk(text=text):
                yield from self.pieces(self.blocks.feed(text))
            case FinishChunk(reason=reason):
                yield from self.pieces(self.blocks.close())
                ended = FINISH_REASONS.get(reason, "unknown") in ("end_turn", "unknown")
                yield FinishChunk(reason="tool_calls") if ended and self._n_calls else chunk
            case ThinkingChunk() | ToolCallChunk() | SearchChunk() | UsageChunk() | NoticeChunk():
                yield chunk

    def pieces(self, pieces: Iterable[Piece]) -> Iterator[Chunk]:
        for piece in pieces:
            match piece:
                case FoundCall(name=name, arguments=arguments):
                    call_id = f"call_{uuid.uuid4().hex[:16]}"
                    yield ToolCallChunk(index=self._n_calls, id=call_id, name=name, arguments=arguments)
                    self._n_calls += 1
                case str():
                    yield TextChunk(text=piece)


class TextToolCalls(Struct, frozen=True):
    """A model whose tools are text: always, or with `setting` `auto` once it is known to lack native calls."""

    inner: Model
    setting: TextToolCallsSetting

    @property
    def name(self) -> str:
        """The inner model's name."""
        return self.inner.name

    @property
    def ready(self) -> bool:
        """Whether the inner model is ready."""
        return self.inner.ready

    @property
    def facts(self) -> ModelFacts:
        """The inner model's facts; while tools are text, its output cannot follow a schema."""
        facts = self.inner.facts
        return replace(facts, formats_output=False) if self._is_text(facts) else facts

    async def prepare(self) -> None:
        """Prepare the inner model."""
        await self.inner.prepare()

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return the tools as offered to the inner model; nothing while they are in the system prompt."""
        return () if self._as_text else self.inner.convert_tools(tools)

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the inner model's whole answer."""
        return await self.inner.complete(self._rewritten(request) if self._as_text else request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """Yield the answer's chunks, with calls found in the text if tools are text."""
        if self._as_text:
            return self._in_text(request)
        if self.setting == "off" or not request.tools:
            return self.inner.stream(request)
        return self._in_text_if_refused(request)

    async def _in_text_if_refused(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """Call the model; if it turns out to lack tools, repeat the call with the tools as text."""
        await self.inner.prepare()
        if not self._as_text:
            has_begun = False
            try:
                async with aclosing(self.inner.stream(request)) as chunks:
                    async for chunk in chunks:
                        has_begun = True
                        yield chunk
                    return
            except NoToolsError:
                if has_begun or not self._as_text:
                    raise
            yield NoticeChunk(content=SWITCHED.format(name=self.name))
        async with aclosing(self._in_text(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    def _in_text(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        chunks = self.inner.stream(self._rewritten(request))
        return with_calls_found(chunks, request) if request.tools else chunks

    @property
    def _as_text(self) -> bool:
        return self._is_text(self.inner.facts)

    def _is_text(self, facts: ModelFacts) -> bool:
        return self.setting == "on" or (self.setting == "auto" and not facts.has_native_tools)

    def _rewritten(self, request: ModelRequest) -> ModelRequest:
        messages = messages_as_text(request.messages)
        return dataclasses.replace(
            request, system=with_tools(request.system, request.tools), messages=messages, tools=()
        )
