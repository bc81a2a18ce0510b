"""Model named without its provider, whose adapter is chosen after a lookup in litellm's table."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from pygent_ls.agent.ports.model import Chunk, Completion, Model, ModelFacts, ModelRequest, ToolDefinition, completed
from pygent_ls.llm.openai.chat_format import chat_tools


class RoutedModel:
    """Model that asks `route` for its adapter before the first call; `route` raises `ModelError` if it finds none."""

    def __init__(self, name: str, route: Callable[[], Awaitable[Model]]) -> None:
        self._name = name
        self._route = route
        self.chosen: Model | None = None
        """The adapter; None before `prepare`."""

    @property
    def name(self) -> str:
        """The model string that selected it."""
        return self._name

    @property
    def ready(self) -> bool:
        """Whether the adapter is ready; True before `prepare`."""
        return self.chosen is None or self.chosen.ready

    @property
    def facts(self) -> ModelFacts:
        """The adapter's facts; nothing is known before `prepare`."""
        return self.chosen.facts if self.chosen else ModelFacts()

    async def prepare(self) -> None:
        """Choose and prepare the adapter. Raises `ModelError`."""
        await (await self.routed()).prepare()

    async def routed(self) -> Model:
        """Return the adapter. Raises `ModelError`."""
        if self.chosen is None:
            self.chosen = await self._route()
        return self.chosen

    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return the tools in the adapter's format, before `prepare` in that of chat completions."""
        return self.chosen.convert_tools(tools) if self.chosen else chat_tools(tools)

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the whole answer, as `Model.complete` describes."""
        return await completed(self.stream(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Call the model, as `Model.stream` describes."""
        model = await self.routed()
        async with aclosing(model.stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk
