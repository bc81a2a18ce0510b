"""What our own adapters have in common as models; what tells them apart is the form of a request and of its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from pygent_ls.agent.model import Chunk, Completion, ModelFacts, ModelRequest, ToolDefinition, completed
from pygent_ls.llm.endpoint import with_effort
from pygent_ls.llm.http.call import Exchange, Native, answered
from pygent_ls.llm.http.refusals import Learned
from pygent_ls.llm.http.target import NativeTarget


class NativeModel(ABC):
    """One model that is called without litellm."""

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
        return replace(self._native.facts, family=self.family)

    @property
    @abstractmethod
    def family(self) -> str:
        """Models that read each other's `provider_data`."""

    async def prepare(self) -> None:
        """Load what there is to load. Raises `ModelError`: no key, an address that is none."""
        await self._native.prepared()

    def check(self, environment: Mapping[str, str]) -> None:
        """What can be told of it without a call. Raises `ModelError` as `prepare` does."""
        self.target(environment)

    def target(self, environment: Mapping[str, str]) -> NativeTarget:
        """Where and with which key it would be called. Raises `ModelError` as `prepare` does."""
        return self._native.target(environment)

    @abstractmethod
    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """See `Model.convert_tools`."""

    async def complete(self, request: ModelRequest) -> Completion:
        """The whole answer; `Model.complete` says the rest."""
        return await completed(self.stream(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Call the model; `Model.stream` says the rest."""
        native = self._native
        target = await native.prepared()
        request = with_effort(request, native.known, native.endpoint)

        def exchange(learned: Learned) -> Exchange:
            return self._exchange(target, request, learned)

        async with aclosing(answered(native, target, exchange)) as chunks:
            async for chunk in chunks:
                yield chunk

    @abstractmethod
    def _exchange(self, target: NativeTarget, request: ModelRequest, learned: Learned) -> Exchange:
        """The request as it goes out, and what reads its answer."""
