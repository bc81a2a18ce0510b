"""A model whose adapter is known once litellm's table was looked into: it is named without its provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from pygent_ls.agent.model import Chunk, Completion, Model, ModelFacts, ModelRequest, ToolDefinition, completed
from pygent_ls.llm.openai.chat_format import chat_tools


class RoutedModel:
    """Asks `route` for its adapter before its first call; `route` raises `ModelError` where there is none."""

    def __init__(self, name: str, route: Callable[[], Awaitable[Model]]) -> None:
        self._name = name
        self._route = route
        self.chosen: Model | None = None
        """The adapter; None before `prepare`."""

    @property
    def name(self) -> str:
        """The string that chose it."""
        return self._name

    @property
    def ready(self) -> bool:
        """As the adapter says."""
        return self.chosen is None or self.chosen.ready

    @property
    def facts(self) -> ModelFacts:
        """As the adapter says; nothing is known before `prepare`."""
        return self.chosen.facts if self.chosen else ModelFacts()

    async def prepare(self) -> None:
        """Choose the adapter, and prepare it. Raises `ModelError`."""
        await (await self.routed()).prepare()

    async def routed(self) -> Model:
        """The adapter. Raises `ModelError`."""
        if self.chosen is None:
            self.chosen = await self._route()
        return self.chosen

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """As the adapter does; before `prepare` as chat completions have them."""
        return self.chosen.convert_tools(tools) if self.chosen else chat_tools(tools)

    async def complete(self, request: ModelRequest) -> Completion:
        """The whole answer; `Model.complete` says the rest."""
        return await completed(self.stream(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Call the model; `Model.stream` says the rest."""
        model = await self.routed()
        async with aclosing(model.stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk
