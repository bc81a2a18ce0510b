"""Calls of the model: the request goes out, the answer is told as it comes, and what fails is told too."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from pygent_ls.agent.answer import Answer
from pygent_ls.agent.editor_text import background
from pygent_ls.agent.events import LlmError, Notice, Text, TextDelta, Thinking, ThinkingDelta, UsageReported
from pygent_ls.agent.messages import Message
from pygent_ls.agent.model import (
    Chunk,
    FinishChunk,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)
from pygent_ls.agent.turn import TurnState
from pygent_ls.errors import ModelError


@dataclass(kw_only=True)
class ModelCalls:
    """The model calls of one turn."""

    state: TurnState

    async def ask(self) -> Answer:
        """One iteration: the whole answer, which is told, and counted in the turn's usage; not in its history.

        Raises `ModelError` once the failure has been told. When cancelled, the text so far stands in the history.
        """
        state, model = self.state, self.state.spec.model
        state.iterations += 1
        if not model.ready:
            await state.emit(Notice(content=f"Loading the model {model.name}…"))
        answer = Answer()
        text_id, thinking_id = (f"{state.spec.turn_id}-{state.iterations}-{kind}" for kind in ("text", "thinking"))
        try:
            try:
                await self._receive(answer, text_id, thinking_id)
            finally:  # what is known of a call that was cancelled or failed has been spent too
                answer.close()
                state.usage = state.usage.plus(answer.usage)
            await self._report(answer, text_id, thinking_id)
        except asyncio.CancelledError:
            state.text = answer.text
            cut_off = answer.finish is None or answer.has_calls
            state.keep(answer.message_without_calls(state.spec.turn_id, cut_off=cut_off))
            raise
        except ModelError as error:
            withdrawn = [item for item, said in ((text_id, answer.text), (thinking_id, answer.thinking)) if said]
            raise await self.failed(error, withdrawn) from None
        return answer

    async def failed(self, error: ModelError, withdrawn: Sequence[str] = ()) -> ModelError:
        """Tell of a failure that ends the turn; returns it, to be raised."""
        await self.state.emit(
            LlmError(
                error_type=error.type,
                error_message=error.message,
                retryable=error.retryable,
                attempt=1,
                will_retry=False,
                withdrawn=tuple(withdrawn),
            )
        )
        return error

    async def _receive(self, answer: Answer, text_id: str, thinking_id: str) -> None:
        model = self.state.spec.model
        await model.prepare()
        async with aclosing(model.stream(self._request())) as chunks:
            async for chunk in chunks:
                answer.add(chunk)
                await self._emit_delta(chunk, text_id, thinking_id)
        if answer.finish is None and answer.has_calls:  # of the last one, arguments may be missing
            raise ModelError(
                f"The answer of {model.name} broke off in a tool call. Try again.", type="network", provider=model.name
            )

    async def _report(self, answer: Answer, text_id: str, thinking_id: str) -> None:
        if answer.thinking:
            await self.state.emit(Thinking(item_id=thinking_id, content=answer.thinking))
        if answer.text:
            await self.state.emit(Text(item_id=text_id, content=answer.text))
        await self.state.emit(UsageReported(usage=self.state.usage))

    async def _emit_delta(self, chunk: Chunk, text_id: str, thinking_id: str) -> None:
        match chunk:
            case TextChunk(text=text) if text:
                await self.state.emit(TextDelta(item_id=text_id, content=text))
            case ThinkingChunk(thinking=thinking) if thinking:
                await self.state.emit(ThinkingDelta(item_id=thinking_id, content=thinking))
            case TextChunk() | ThinkingChunk() | ToolCallChunk() | UsageChunk() | FinishChunk():
                pass  # nothing to show, or not before it is whole

    # What the model is sent

    def _request(self) -> ModelRequest:
        spec, around = self.state.spec, self.state.around
        return ModelRequest(
            system=around.marks.explained(spec.system),
            messages=tuple(map(around.marks.marked, self._conversation())),
            tools=around.tools.list_definitions(),
            max_output_tokens=spec.max_output_tokens,
            temperature=spec.temperature,
        )

    def _conversation(self) -> list[Message]:
        """The history, and at its end where the user is now: nothing before it is ever another, so that a provider's
        cache of the beginning holds."""
        history, around = self.state.history, self.state.around
        now = background(around.editor, around.workspace.shown)
        if now is None:
            return history
        last = history[-1]
        return [*history[:-1], replace(last, content=(*last.blocks, now))]
