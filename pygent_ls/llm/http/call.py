"""Requests of our own adapters: one call to one model, repeated only if the model refuses a parameter."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Protocol

from msgspec import Struct, field

from pygent_ls.agent.ports.model import Chunk
from pygent_ls.agent.telemetry import traceparent
from pygent_ls.errors import NoToolsError
from pygent_ls.llm.catalog.known_model import KnownModel
from pygent_ls.llm.errors.answer_errors import AnswerError
from pygent_ls.llm.errors.model_errors import model_error
from pygent_ls.llm.http.refusals import MAX_REPEATS, Learned, forget_history, learn
from pygent_ls.llm.http.resources import HttpResources
from pygent_ls.llm.http.stream import HttpCall, KeepAlive, Progress, WholeAnswer, broken_off
from pygent_ls.llm.http.target import NativeTarget, native_target
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.known_providers import Provider
from pygent_ls.llm.server_sent_events import SentEvent

LIST_MODELS = frozenset({"openrouter"})
"""Providers whose model list includes context windows and prices."""


class Native(Struct, kw_only=True):
    """One model, identified by its provider and its name there."""

    name: str
    """The model string that selected it."""
    provider: Provider
    model: str
    endpoint: Endpoint
    resources: HttpResources
    known: KnownModel = field(default_factory=KnownModel)
    """Prices and limits, known after `prepared`."""
    _target: NativeTarget | None = None

    async def prepared(self) -> NativeTarget:
        """Prepare the model and return its target. Raises `ModelError` for a missing key or an invalid address."""
        if self._target is None:
            target = await asyncio.to_thread(self.target, os.environ)  # a saved key may be read from a file
            listed = await self._listed(target) if self.provider.name in LIST_MODELS else None
            self.known = await self.resources.prices.look_up(
                self.name, self.provider.name, self.model, self.endpoint.own_facts, listed
            )
            await self.resources.connections.prepare()
            self._target = target
        return self._target

    async def _listed(self, target: NativeTarget) -> KnownModel | None:
        """Return the provider's own facts about the model."""
        return await self.resources.catalog.look_up(target.base, target.model, self.resources.connections)

    def target(self, environment: Mapping[str, str]) -> NativeTarget:
        """Return the target without loading anything else; may read a saved key."""
        saved = self.resources.saved_keys
        return native_target(self.name, self.provider, self.model, self.endpoint, environment, saved)

    def learned(self, target: NativeTarget) -> Learned:
        """Return what this model refused or required before."""
        return self.resources.refusals.of(target.base, target.model)

    def has_refused(self, name: str) -> bool:
        """Whether this model refused a parameter, by its name in `refusals.py`."""
        return self._target is not None and name in self.learned(self._target).left_out

    @property
    def has_no_responses(self) -> bool:
        """Whether the server turned out to lack the Responses API."""
        return self._target is not None and self.learned(self._target).has_no_responses

    @property
    def has_no_tools(self) -> bool:
        """Whether the server turned out to lack tools."""
        return self._target is not None and self.learned(self._target).has_no_tools

    def call(
        self,
        target: NativeTarget,
        url: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any],
        is_last: Callable[[SentEvent], bool],
    ) -> HttpCall:
        """Return a request; the user's headers override ours."""
        ours = {"Content-Type": "application/json", "Accept": "text/event-stream", **headers}
        span = traceparent() if self.resources.sends_trace_context and target.called.address else None
        if span:
            ours["traceparent"] = span
        own = {name.lower() for name in self.endpoint.extra_headers}
        kept = {name: value for name, value in ours.items() if name.lower() not in own}
        return HttpCall(
            url=url,
            headers={**kept, **self.endpoint.extra_headers},
            body=body,
            called=target.called,
            first_byte_timeout_s=self.endpoint.first_byte_timeout_s,
            idle_timeout_s=self.endpoint.idle_timeout_s,
            is_last=is_last,
        )


class AnswerStream(Protocol):
    """Translates one answer: event by event with `chunks`, or with `whole` if it was not streamed; then `end`."""

    finish: str | None
    """Why the model stopped; None until it is known."""
    was_closed: bool
    """Whether the provider sent its final event."""

    def chunks(self, event: SentEvent) -> Iterator[Chunk]: ...
    def whole(self, body: Mapping[str, Any]) -> Iterator[Chunk]: ...
    def end(self) -> Iterator[Chunk]: ...


class HttpExchange(Struct, frozen=True, kw_only=True):
    """One request and the reader of its answer."""

    call: HttpCall
    adjustable: Mapping[str, Any]
    """Parameters that may be left out or changed, by their names in `refusals.py`."""
    stream: AnswerStream


async def answered(
    native: Native, target: NativeTarget, exchange: Callable[[Learned], HttpExchange]
) -> AsyncGenerator[Chunk, None]:
    """Yield the chunks of the answer; `exchange` builds the request from what was learned so far.

    Raises `ModelError`. A request is repeated only if the provider refused something that may be left out.
    """
    learned = native.learned(target)
    try:
        async with aclosing(_answered(native, target, exchange, learned)) as chunks:
            async for chunk in chunks:
                yield chunk
    finally:
        forget_history(learned)


async def _answered(
    native: Native, target: NativeTarget, exchange: Callable[[Learned], HttpExchange], learned: Learned
) -> AsyncGenerator[Chunk, None]:
    for _ in range(MAX_REPEATS + 1):
        made = exchange(learned)
        stream = made.stream
        try:
            async with aclosing(native.resources.connections.events(made.call)) as events:
                progress = Progress(made.call)
                async for event in events:
                    says_something = False
                    for chunk in _chunks(stream, event):
                        says_something = True
                        yield chunk
                    progress.check(event, says_something=says_something)
            if stream.finish is None and not stream.was_closed:
                raise broken_off(target.called)
            for chunk in stream.end():
                yield chunk
            return
        except AnswerError as error:
            if not learn(error.status_code, error.body, str(error), made.adjustable, learned):
                failure = model_error(error, target.called)
                learned.has_no_tools |= isinstance(failure, NoToolsError)
                raise failure from None
    message = f"{target.called.provider} rejected too many parameters in a row"
    raise model_error(AnswerError(message, status=400, body={"message": message}), target.called)


def _chunks(stream: AnswerStream, event: SentEvent | KeepAlive | WholeAnswer) -> Iterator[Chunk]:
    match event:
        case SentEvent():
            yield from stream.chunks(event)
        case WholeAnswer(body=body):
            yield from stream.whole(body)
        case KeepAlive():
            pass
