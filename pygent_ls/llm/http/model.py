"""Base class of our own adapters, which differ in the format of requests and answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from msgspec.structs import replace

from pygent_ls.agent.ports.model import Chunk, Completion, ModelFacts, ModelRequest, ToolDefinition, completed
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.http.call import HttpExchange, Native, answered
from pygent_ls.llm.http.refusals import Learned
from pygent_ls.llm.http.target import NativeTarget
from pygent_ls.llm.providers.endpoint import with_effort


class NativeModel(ABC):
    """One model that is called without litellm."""

    def __init__(self, native: Native) -> None:
        self._native = native
        self._facts: tuple[KnownModel, tuple[bool, ...], ModelFacts] | None = None
        """Facts as last returned, and what they were made from: a turn asks for them ten times a call."""

    @property
    def native(self) -> Native:
        """The model at its provider."""
        return self._native

    @property
    def name(self) -> str:
        """The model string that selected it."""
        return self._native.name

    @property
    def ready(self) -> bool:
        """Always True: nothing heavy is loaded."""
        return True

    @property
    def facts(self) -> ModelFacts:
        """Facts from litellm's table, which `prepare` reads, from the settings, and from what the model refused."""
        native = self._native
        known = native.known
        calls_tools = known.has_native_tools and not native.has_no_tools
        formats = known.formats_output and not native.has_refused("response_format")
        searches = self.searches_web and not native.has_refused("web_search")
        made_from = (calls_tools, formats, searches)
        if self._facts is None or self._facts[0] is not known or self._facts[1] != made_from:
            facts = replace(
                known.facts,
                has_native_tools=calls_tools,
                formats_output=formats,
                family=self.family,
                searches_web=searches,
            )
            self._facts = known, made_from, facts
        return self._facts[2]

    @property
    @abstractmethod
    def family(self) -> str:
        """Family of models that can read each other's `provider_data`."""

    @property
    def searches_web(self) -> bool:
        """Whether its provider can search the web while it answers, as far as known without calling it."""
        return False

    async def prepare(self) -> None:
        """Load what a call needs. Raises `ModelError` for a missing key or an invalid address."""
        await self._native.prepared()

    def check(self, environment: Mapping[str, str]) -> None:
        """Check the model without a call. Raises `ModelError` as `prepare` does."""
        self.target(environment)

    def target(self, environment: Mapping[str, str]) -> NativeTarget:
        """Return the address and key that a call would use. Raises `ModelError` as `prepare` does."""
        return self._native.target(environment)

    @abstractmethod
    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """Return the tools in the provider's format, as `Model.convert_tools` describes."""

    async def complete(self, request: ModelRequest) -> Completion:
        """Return the whole answer, as `Model.complete` describes."""
        return await completed(self.stream(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Call the model, as `Model.stream` describes."""
        native = self._native
        target = await native.prepared()
        request = with_effort(request, native.known, native.endpoint)

        def exchange(learned: Learned) -> HttpExchange:
            return self._exchange(target, request, learned)

        async with aclosing(answered(native, target, exchange)) as chunks:
            async for chunk in chunks:
                yield chunk

    @abstractmethod
    def _exchange(self, target: NativeTarget, request: ModelRequest, learned: Learned) -> HttpExchange:
        """Return the request in the provider's format and the reader of its answer."""
