"""One request to a model, and its streamed answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from pygent_ls.agent.events import ModelAnswered, Notice, Text, TextDelta, Thinking, ThinkingDelta, UsageReported
from pygent_ls.agent.model.answer import ModelAnswer
from pygent_ls.agent.model.retry import Failed
from pygent_ls.agent.ports.model import (
    Chunk,
    Model,
    ModelRequest,
    NoticeChunk,
    SearchChunk,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    within_limit,
)
from pygent_ls.agent.telemetry import ModelCallSpan, observed
from pygent_ls.agent.turn.call_drafts import CallDrafts
from pygent_ls.agent.turn.state import TurnState
from pygent_ls.errors import ModelError


@dataclass(kw_only=True)
class Attempt:
    """One request to a model. `item_prefix` is unique to each attempt, so that the items of a failed one can be
    withdrawn."""

    state: TurnState
    model: Model
    item_prefix: str
    answer: ModelAnswer = field(default_factory=ModelAnswer)
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.answer.model = self.model.name
        self._texts: dict[str, list[str]] = {}
        """Pieces of the text of each item. A text that follows a search of the provider is an item of its own."""
        self._n_splits = 0
        self._drafts = CallDrafts(self.item_prefix)

    async def run(self, request: ModelRequest) -> ModelAnswer | Failed:
        """Send the request, emit its deltas, and return the complete answer, which `report` emits. When cancelled, the
        text so far is kept in the history. Known usage is counted however the request ends."""
        began_s, context = self.clock(), self.state.context
        self.answer.family = self.model.facts.family  # known once the model is prepared
        try:
            try:
                span = ModelCallSpan(
                    session_id=context.memory.session_id, model=self.model.name, request=request, answer=self.answer
                )
                with observed(context.environment.telemetry, span):
                    await self._receive(span)
            finally:
                self.state.model_s += self.clock() - began_s
                self.answer.close()
                self.state.usage = self.state.usage.plus(self.answer.usage)
                if self.answer.usage.cost_usd is None and not self.answer.usage.is_nothing:
                    self.state.root.unpriced = self.model.name
        except asyncio.CancelledError:
            self.keep_cut_off()
            raise
        except ModelError as error:
            return self.failed(error)
        return self.answer

    def failed(self, error: ModelError) -> Failed:
        """Return the failure, with the emitted items to withdraw."""
        thinking = (self._thinking_id,) if self.answer.thinking else ()
        return Failed(error=error, withdrawn=(*self._texts, *thinking, *self._drafts.shown))

    async def report(self) -> None:
        """Emit the complete items and the usage: the answer counts."""
        try:
            if self.answer.thinking:
                await self.state.emit(Thinking(item_id=self._thinking_id, content=self.answer.thinking))
            for item_id, pieces in self._texts.items():
                await self.state.emit(Text(item_id=item_id, content="".join(pieces)))
            await self.state.emit(UsageReported(usage=self.state.root.total, answered=self._answered))
        except asyncio.CancelledError:
            self.keep_cut_off()
            raise

    def keep_cut_off(self) -> None:
        """Keep the text so far of a cancelled turn, marked if something is missing."""
        state, answer = self.state, self.answer
        state.say(answer.text)
        cut_off = answer.finish is None or answer.has_calls
        state.keep(answer.message_without_calls(state.spec.turn_id, cut_off=cut_off))

    @property
    def _answered(self) -> ModelAnswered:
        answer = self.answer
        return ModelAnswered(
            model=self.model.name, finish=answer.finish_reason, usage=answer.usage, n_calls=answer.n_calls
        )

    @property
    def _text_id(self) -> str:
        """Item of the text that is written now."""
        return f"{self.item_prefix}-text" + (f"-{self._n_splits}" if self._n_splits else "")

    @property
    def _thinking_id(self) -> str:
        return f"{self.item_prefix}-thinking"

    async def _receive(self, span: ModelCallSpan) -> None:
        async with aclosing(within_limit(self.model.stream(span.request), span.request)) as chunks:
            async for chunk in chunks:
                span.first_chunk_ns = span.first_chunk_ns or time.time_ns()
                self.answer.add(chunk)
                match chunk:
                    case NoticeChunk(content=content):
                        await self.state.emit(Notice(content=content, level="warning"))
                    case SearchChunk():
                        self._n_splits = len(self._texts)
                        await self.state.searches.show(chunk)
                    case TextChunk(text=text) if text:
                        self._texts.setdefault(self._text_id, []).append(text)
                    case _:
                        pass
                await self._emit_delta(chunk)

    async def _emit_delta(self, chunk: Chunk) -> None:
        if not self.state.spec.model_settings.stream:
            return
        match chunk:
            case TextChunk(text=text) if text:
                await self.state.emit(TextDelta(item_id=self._text_id, content=text))
            case ThinkingChunk(thinking=thinking) if thinking:
                await self.state.emit(ThinkingDelta(item_id=self._thinking_id, content=thinking))
            case ToolCallChunk():
                for delta in self._drafts.add(chunk):
                    await self.state.emit(delta)
                self.answer.note_item(chunk.index, self._drafts.item_of(chunk.index))
            case _:
                pass  # nothing to show, shown once complete, or already emitted
