"""The loop of one turn: ask the model, run its tools, ask again, until it has nothing more to do."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from pygent_ls.agent.calling import ModelCalls
from pygent_ls.agent.events import Cancelled, EventSink, Finished, Notice, StopReason, TurnStarted
from pygent_ls.agent.limits import Stop, after_answer, before_call
from pygent_ls.agent.messages import Message, Usage, user_message
from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.agent.tool_calls import ToolCalls
from pygent_ls.agent.turn import TurnResult, TurnSpec, TurnState
from pygent_ls.errors import ModelError


@dataclass(kw_only=True)
class Turn:
    """One run of the loop over a history that it extends.

    Whatever happens, each tool call in the history has exactly one result afterwards, and the events begin with
    `turn_started` and end with `finished`; those of a subagent have neither (`TurnSpec.parent_tool_id`).
    """

    spec: TurnSpec
    around: Surroundings
    history: list[Message]
    sink: EventSink
    closing: bool = False
    """The outcome is settled; a cancel comes too late."""
    _stop: StopReason = "error"
    _error: ModelError | None = None

    def __post_init__(self) -> None:
        self._state = TurnState(spec=self.spec, around=self.around, history=self.history, sink=self.sink)
        self._model_calls = ModelCalls(state=self._state)
        self._tool_calls = ToolCalls(state=self._state)

    @property
    def usage(self) -> Usage:
        """What the model calls so far took."""
        return self._state.usage

    async def run(self) -> TurnResult:
        """Run to the end. A cancel of the task is an outcome, not an exception, but for a subagent."""
        spec, state = self.spec, self._state
        try:
            self.history.append(user_message(spec.content, turn_id=spec.turn_id))
            await self._begin()
            self._stop = await self._iterate()
        except asyncio.CancelledError:
            self.closing = True
            self._stop = "cancelled"
            if spec.parent_tool_id is not None:
                raise
            _take_cancel()
            with suppress(asyncio.CancelledError):  # one that comes now changes nothing
                await state.emit(Cancelled())
        except ModelError as error:
            self._error = error
        finally:
            self.closing = True
            await self._end()
        return TurnResult(
            stop_reason=self._stop,
            text=state.text,
            usage=state.usage,
            iterations=state.iterations,
            files_changed=self._tool_calls.files_changed,
            error=self._error,
        )

    async def _begin(self) -> None:
        spec = self.spec
        if spec.parent_tool_id is None:
            started = TurnStarted(prompt=spec.prompt, model=spec.model.name, mode=spec.mode, agent=spec.agent)
            await self._state.emit(started)
        for notice in spec.notices:
            await self._state.emit(Notice(content=notice, level="warning"))

    async def _end(self) -> None:
        if self.spec.parent_tool_id is None:
            changed = self._tool_calls.files_changed
            await self._state.emit(Finished(stop_reason=self._stop, usage=self._state.usage, files_changed=changed))

    async def _iterate(self) -> StopReason:
        state, spec = self._state, self.spec
        empty_answers = 0
        while True:
            if stop := before_call(spec.limits, state.iterations):
                return await self._stopped(stop)
            answer = await self._model_calls.ask()
            state.text = answer.text
            if answer.finish_reason in ("length", "refusal"):
                state.keep(answer.message_without_calls(spec.turn_id, cut_off=False))
                return "refusal" if answer.finish_reason == "refusal" else "max_output_tokens"
            if answer.is_empty and answer.finish_reason != "tools":
                empty_answers += 1
                if empty_answers > 1:
                    raise await self._model_calls.failed(_empty_answer(spec.model.name))
                continue
            empty_answers = 0
            message = answer.message(spec.turn_id, state.taken_ids(), state.around.tools.readers)
            state.keep(message if message.text or message.tool_calls else None)
            if not message.tool_calls:
                return "end_turn"
            if stop := after_answer(spec.limits, state.usage):
                await self._tool_calls.refuse(message.tool_calls)
                return await self._stopped(stop)
            await self._tool_calls.run(message.tool_calls)

    async def _stopped(self, stop: Stop) -> StopReason:
        for event in stop.events:
            await self._state.emit(event)
        return stop.reason


def _take_cancel() -> None:
    """The running task's cancel has been answered: what it does next is not cancelled."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()


def _empty_answer(model: str) -> ModelError:
    return ModelError(
        f"{model} answered with nothing, twice. Try again, or choose another model.", type="server", provider=model
    )
