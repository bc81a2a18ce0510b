"""What our own adapters have in common as models; what tells them apart is the form of a request and of its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Protocol

from pygent_ls.agent.model import Chunk, Completion, ModelFacts, ModelRequest, ToolDefinition, completed
from pygent_ls.llm.http.call import Native, answered
from pygent_ls.llm.http.refusals import Learned
from pygent_ls.llm.http.server_sent_events import SentEvent
from pygent_ls.llm.http.stream import Call, broken_off
from pygent_ls.llm.http.target import NativeTarget


class AnswerStream(Protocol):
    """Translates one answer, event by event; `end` once the stream is over."""

    finish: str | None
    """Why the model stopped; None until it is said."""
    was_closed: bool
    """The provider said that this was all."""

    def chunks(self, event: SentEvent) -> Iterator[Chunk]: ...
    def end(self) -> Iterator[Chunk]: ...


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
        return replace(self._native.known.facts, family=self.family)

    @property
    @abstractmethod
    def family(self) -> str:
        """Models that read each other's `provider_data`."""

    async def prepare(self) -> None:
        """Load what there is to load. Raises `ModelError`: no key, an address that is none."""
        await self._native.prepared()

    def check(self, environment: Mapping[str, str]) -> None:
        """What can be told of it without a call. Raises `ModelError` as `prepare` does."""
        self._native.target(environment)

    @abstractmethod
    def convert_tools(self, tools: Sequence[ToolDefinition]) -> Sequence[Mapping[str, Any]]:
        """See `Model.convert_tools`."""

    async def complete(self, request: ModelRequest) -> Completion:
        """The whole answer; `Model.complete` says the rest."""
        return await completed(self.stream(request))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Call the model; `Model.stream` says the rest."""
        native = self._native
        target = await native.prepared()
        learned = native.learned(target)
        stream = self._answer_stream(native)

        def call() -> tuple[Call, Mapping[str, Any]]:
            return self._call(native, target, request, learned)

        async with aclosing(answered(native, target, call, stream.chunks)) as chunks:
            async for chunk in chunks:
                yield chunk
        if stream.finish is None and not stream.was_closed:
            raise broken_off(target.called)
        for chunk in stream.end():
            yield chunk

    @abstractmethod
    def _call(
        self, native: Native, target: NativeTarget, request: ModelRequest, learned: Learned
    ) -> tuple[Call, Mapping[str, Any]]:
        """The request as it goes out, and what of it may be left out where the model refuses it."""

    @abstractmethod
    def _answer_stream(self, native: Native) -> AnswerStream:
        """What translates the answer."""
