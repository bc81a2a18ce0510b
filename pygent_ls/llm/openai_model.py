"""Every endpoint that speaks chat completions, without litellm: OpenAI, Ollama, vLLM, LM Studio, OpenRouter, Groq,
DeepSeek, Mistral, xAI, Together, Fireworks, a LiteLLM proxy, and whatever is compatible with them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from pygent_ls.agent.model import Chunk, Completion, ModelFacts, ModelRequest, ToolDefinition, completed
from pygent_ls.llm.chat_format import chat_tools
from pygent_ls.llm.http_stream import Call, broken_off
from pygent_ls.llm.native_call import Native, answered
from pygent_ls.llm.native_target import NativeTarget
from pygent_ls.llm.openai_chunks import ChatStream, is_last
from pygent_ls.llm.openai_request import adjustable, chat_request


class OpenAIModel:
    """One model of such a provider."""

    def __init__(self, native: Native) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """The string that chose it."""
        return self._native.name

    @property
    def ready(self) -> bool:
        """Always: there is nothing heavy."""
        return True

    @property
    def facts(self) -> ModelFacts:
        """From litellm's table, and the settings; the table is read by `prepare`."""
        return self._native.known.facts

    async def prepare(self) -> None:
        """Load what there is to load. Raises `ModelError`: no key, an address that is none."""
        await self._native.prepared()

    def check(self, environment: Mapping[str, str]) -> None:
        """What can be told of it without a call. Raises `ModelError` as `prepare` does."""
        self._native.target(environment)

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """As chat completions have them."""
        return chat_tools(tools)

    async def complete(self, request: ModelRequest) -> Completion:
        """The whole answer; `Model.complete` says the rest."""
        return await completed(self.stream(request))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Call the model; `Model.stream` says the rest."""
        native = self._native
        target = await native.prepared()
        refused = native.refused(target)

        def call() -> tuple[Call, Mapping[str, Any]]:
            body = chat_request(request, target, native.known, refused)
            return native.call(target, _url(target), _headers(target), body, is_last), adjustable(body, target)

        stream = ChatStream(known=native.known)
        async with aclosing(answered(native, target, call, stream.chunks)) as chunks:
            async for chunk in chunks:
                yield chunk
        if stream.finish is None and not stream.was_closed:
            raise broken_off(target.called)
        for chunk in stream.end():
            yield chunk


def _url(target: NativeTarget) -> str:
    whole = "/chat/completions"
    return target.base if target.base.endswith(whole) else target.base + whole


def _headers(target: NativeTarget) -> dict[str, str]:
    return {"Authorization": f"Bearer {target.key}"} if target.key else {}
