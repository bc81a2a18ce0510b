"""Anthropic's Messages API, and servers that are compatible with it, without litellm."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from pygent_ls.agent.model import Chunk, Completion, ModelFacts, ModelRequest, ToolDefinition, completed
from pygent_ls.llm.anthropic_chunks import MessageStream, is_last
from pygent_ls.llm.anthropic_request import adjustable, anthropic_tools, messages_request
from pygent_ls.llm.http_stream import Call, broken_off
from pygent_ls.llm.native_call import Native, answered
from pygent_ls.llm.native_target import NativeTarget

VERSION = "2023-06-01"
"""Of the API; newer behaviour is asked for by name (`betas`)."""


class AnthropicModel:
    """One model of Anthropic."""

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
        """As the Messages API has them."""
        return anthropic_tools(tools)

    async def complete(self, request: ModelRequest) -> Completion:
        """The whole answer; `Model.complete` says the rest."""
        return await completed(self.stream(request))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Call the model; `Model.stream` says the rest."""
        native = self._native
        target = await native.prepared()
        refused = native.refused(target)

        def call() -> tuple[Call, Mapping[str, Any]]:
            body = messages_request(request, target.model, native.known, refused)
            return native.call(target, _url(target), self._headers(target), body, is_last), adjustable(body)

        stream = MessageStream(known=native.known)
        async with aclosing(answered(native, target, call, stream.chunks)) as chunks:
            async for chunk in chunks:
                yield chunk
        if stream.finish is None and not stream.was_closed:
            raise broken_off(target.called)
        for chunk in stream.end():
            yield chunk

    def _headers(self, target: NativeTarget) -> dict[str, str]:
        headers = {"anthropic-version": VERSION}
        if target.key and target.is_token:
            headers["Authorization"] = f"Bearer {target.key}"
        elif target.key:
            headers["x-api-key"] = target.key
        if self._native.endpoint.betas:
            headers["anthropic-beta"] = ",".join(self._native.endpoint.betas)
        return headers


def _url(target: NativeTarget) -> str:
    if target.base.endswith("/messages"):
        return target.base
    return target.base + ("/messages" if target.base.endswith("/v1") else "/v1/messages")
