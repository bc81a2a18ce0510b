"""Loop of one turn: call the model, run its tools, repeat until it has nothing more to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pygent_ls.agent.events import (
    AgentEvent,
    Cancelled,
    EventSink,
    Finished,
    Notice,
    Stamped,
    Steered,
    Text,
    ToolCall,
    TurnStarted,
)
from pygent_ls.agent.external_agent import ExternalModel
from pygent_ls.agent.hook_runner import HookRunner
from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.messages import Message, TextBlock, ToolUseBlock, Usage, user_message
from pygent_ls.agent.model.answer import ModelAnswer
from pygent_ls.agent.model.retry import RetryController, WaitingRetries
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.ports.subagents import TurnShare
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.system_limits import limit_reached
from pygent_ls.agent.telemetry import TurnSpan, observed
from pygent_ls.agent.tools.arguments import readers_of
from pygent_ls.agent.tools.structured_output import STRUCTURED_OUTPUT
from pygent_ls.agent.turn.model_calls import ModelCalls
from pygent_ls.agent.turn.pauses import Pauses
from pygent_ls.agent.turn.state import Delegate, DelegateTo, Steering, TurnResult, TurnState
from pygent_ls.agent.turn.structured_answer import StructuredAnswer
from pygent_ls.agent.turn.subagents import Keep, Subagents
from pygent_ls.agent.turn.turn_hooks import run_prompt_hooks, run_stop_hooks
from pygent_ls.agent.turn_spec import TurnSpec
from pygent_ls.agent.user_time import UserTimes
from pygent_ls.errors import ModelError

if TYPE_CHECKING:
    from pygent_ls.agent.turn.tool_calls import ToolCalls

GO_ON = (
    "Your answer reached the output limit and was cut off. Continue exactly where it ended, without repeating anything."
)
"""Prompt that continues an answer whose text reached the output limit."""


@dataclass(kw_only=True)
class Turn:
    """One run of the loop over a history that it extends.

    However the turn ends, each tool call in the history has exactly one result, and the events begin with
    `turn_started` and end with `finished`; those of a subagent have neither (`TurnSpec.parent_tool_id`).
    """

    spec: TurnSpec
    services: SessionServices
    history: list[Message]
    sink: EventSink
    delegate: DelegateTo | None = None
    """Makes its subagents; None if it may have none."""
    retries: RetryController = field(default_factory=WaitingRetries)
    """Waits between two attempts of a model call; the user can end the wait early, or give up."""
    clock: Callable[[], float] = time.monotonic
    parent: Turn | None = None
    """Turn whose subagent this is."""
    detached: bool = False
    """Whether the subagent runs in the background."""
    _stop: StopReason = "error"
    _error: ModelError | None = None
    _empty_answers: int = 0
    _stop_denials: int = 0
    _began_s: float = 0.0
    _switch: Callable[[], Awaitable[tuple[TurnSpec, SessionServices]]] | None = None

    def __post_init__(self) -> None:
        parent, spec = self.parent, self.spec
        state = self._state = TurnState(
            history=self.history,
            sink=self.sink,
            structured=StructuredAnswer.to(spec.output_schema),
            parent=parent._state if parent else None,
        )
        times = UserTimes(clock=self.clock)
        share = parent._state.context.share if parent else TurnShare(locks=self.services.memory.locks, user_times=times)
        if self.detached:
            share = replace(share, user_times=times)
        subagents = Subagents(
            state=state, delegate=self.delegate, run_turn=self._run_subagent, run_detached=self._run_detached
        )
        state.context = RunContext(
            environment=self.services.environment,
            memory=self.services.memory,
            tools=state.structured.offered(self.services.tools),
            spec=spec,
            emit=state.emit,
            hooks=HookRunner(services=self.services, turn_id=spec.turn_id, emit=state.tell, told=share.told),
            share=share,
            run_subagent=subagents.run,
        )
        self._model_calls = ModelCalls(state=state, retries=self.retries, clock=self.clock)
        self._pauses = Pauses(state=state, clock=self.clock, outer=parent._pauses if parent else None)

    @cached_property
    def _tool_calls(self) -> ToolCalls:
        from pygent_ls.agent.turn.tool_calls import ToolCalls  # after the first request, which does not wait for it

        return ToolCalls(state=self._state)

    @property
    def context(self) -> RunContext:
        """Run context from the next model call on."""
        return self._state.context

    @property
    def closing(self) -> bool:
        """Whether the outcome is settled: a cancellation or steering comes too late."""
        return self._state.closing

    @property
    def usage(self) -> Usage:
        """Usage of all model calls so far, including those of subagents."""
        return self._state.total

    @property
    def limit_reached(self) -> StopReason | None:
        """Limit on tokens or cost that the turn has reached and the user has not extended; None without one."""
        stop = None if self.usage.is_nothing else self._pauses.after_answer()
        return stop.reason if stop else None

    def spend(self, usage: Usage, unpriced: str = "") -> None:
        """Count the usage of a request beside the loop, which the limits of the turn include. `unpriced` names its
        model if its price is unknown."""
        self._state.spend(usage)
        self._state.root.unpriced = unpriced or self._state.root.unpriced

    def use(self, model: Model) -> None:
        """Use this model from the next call on."""
        self._state.use(model)

    def switch_agent(self, make: Callable[[], Awaitable[tuple[TurnSpec, SessionServices]]]) -> None:
        """Switch to the agent that `make` returns, before the next call; the limits stay."""
        self._switch = make

    def steer(self, steering: Steering) -> bool:
        """Add this to the conversation before the next model call, making one if none would follow. Return False if it
        comes too late."""
        if self.closing:
            return False
        self._state.steering.append(steering)
        return True

    def remark(self, text: str) -> bool:
        """Add text that the model reads with its next request, in this turn or the next one. Return False if it comes
        too late."""
        if self.closing:
            return False
        self._state.remarks.append(text)
        return True

    def report(self, text: str) -> bool:
        """Add the report of a subagent in the background before the next model call, making one if none would follow.
        Return False if it comes too late."""
        if not self.remark(text):
            return False
        self._state.has_report = True
        return True

    def withdraw(self, text: str) -> bool:
        """Take a remark or a report back; return False if it is in the conversation already."""
        if text not in self._state.remarks:
            return False
        self._state.remarks.remove(text)
        return True

    @property
    def has_subagents(self) -> bool:
        """Whether subagents run, in the background or not."""
        return bool(self._state.children)

    async def tell(self, event: AgentEvent) -> None:
        """Emit an event from outside the loop; ignored once the outcome is settled."""
        await self._state.tell(event)

    async def run(self) -> TurnResult:
        """Run to the end. A cancellation of the task is an outcome, not an exception, except for a subagent."""
        spec, state = self.spec, self._state
        span = TurnSpan(
            session_id=self.services.memory.session_id,
            agent=spec.agent,
            turn_id=spec.turn_id,
            model=spec.model.name,
            mode=spec.mode,
            is_subagent=spec.parent_tool_id is not None,
            prompt=spec.prompt,
        )
        with observed(self.services.environment.telemetry, span):
            try:
                return await self._run()
            finally:
                span.stop_reason, span.error, span.text = self._stop, self._error, state.text
                span.usage, span.iterations = state.total, state.iterations

    async def _run(self) -> TurnResult:
        spec, state = self.spec, self._state
        self._began_s = self.clock()
        try:
            self._pauses.begin()
            self.history.append(user_message(spec.content, turn_id=spec.turn_id))
            await self._begin()
            self._stop = await self._work()
        except asyncio.CancelledError:
            state.closing = True
            self._stop = "cancelled"
            if spec.parent_tool_id is not None:
                raise
            _take_cancel()
            for last_words in (state.searches.end(), self._take_steering(), state.emit(Cancelled())):
                with suppress(asyncio.CancelledError):  # a further cancellation changes nothing
                    await last_words
        except ModelError as error:
            self._error = error
        except OSError as error:
            problem = limit_reached(error)
            if problem is None:
                raise
            self._error = ModelError(problem)
            await state.emit(Notice(content=problem, level="error"))
        finally:
            state.closing = True
            await self._end()
        return TurnResult(
            stop_reason=self._stop,
            text=state.text,
            usage=state.total,
            iterations=state.iterations,
            files_changed=state.files_changed,
            error=self._error,
            structured=state.structured.given if self._stop == "end_turn" else None,
            model_s=state.model_s,
        )

    async def _begin(self) -> None:
        spec = self.spec
        if spec.parent_tool_id is None:
            started = TurnStarted(
                prompt=spec.prompt,
                model=spec.model.name,
                mode=spec.mode,
                agent=spec.agent,
                attachments=spec.attachments,
            )
            await self._state.emit(started)
        self._state.context.share.told.update(spec.notices)
        for notice in spec.notices:
            await self._state.emit(Notice(content=notice, level="warning"))

    async def _end(self) -> None:
        await self._state.searches.end()
        await self._take_steering()  # steering that could not be answered stays in the history for the next turn
        if self.spec.parent_tool_id is None:
            changed = self._state.files_changed
            finished = Finished(
                stop_reason=self._stop,
                usage=self._state.total,
                files_changed=changed,
                duration_s=max(0.0, self.clock() - self._began_s - self._state.context.share.user_times.turn.seconds),
            )
            await self._state.emit(finished)

    async def _work(self) -> StopReason:
        """Run the turn between its first and last events: hooks may deny its prompt, and keep it from ending."""
        state, spec = self._state, self.spec
        if spec.parent_tool_id is None and not await self._may_begin():
            return "refusal"
        while True:
            stop = await self._iterate()
            more = await run_stop_hooks(state.context, stop, self._stop_denials)
            if more:
                self._stop_denials += 1
                state.keep(user_message(more, turn_id=spec.turn_id))
            elif stop != "end_turn" or not state.has_news:
                return stop

    async def _may_begin(self) -> bool:
        """Whether hooks let the prompt be sent. It stays in the history with the context that they add, or is
        removed."""
        prompt = self.history[-1]
        context, denied = await run_prompt_hooks(self._state.context.hooks, self.spec.prompt, self.spec.session_source)
        if denied is not None:
            del self.history[-1]
            self._state.text = denied
            await self._state.emit(Notice(content=denied, level="error"))
        elif context:
            self.history[-1] = replace(prompt, content=(*context, *prompt.blocks))
        return denied is None

    async def _iterate(self) -> StopReason:
        while True:
            if stopped := await self._stopped_before_call():
                return stopped
            await self._take_agent()
            if stopped := await self._stopped_unpriced():
                return stopped
            await self._take_steering()
            self._state.structured.forget()
            model = self._state.model
            if isinstance(model, ExternalModel):
                outcome = await self._ask_agent(model)
            else:
                outcome = await self._take(await self._model_calls.ask())
            if outcome is not None and not (outcome == "end_turn" and self._state.has_news):
                return outcome

    async def _ask_agent(self, model: ExternalModel) -> StopReason | None:
        """Let another program's agent answer. Raises `ModelError` after the failure has been emitted."""
        if self._state.structured.schema is not None:
            problem = f"{model.name} is an agent of another program, and cannot answer with a value of a schema."
            raise await self._model_calls.failed(ModelError(problem, type="invalid_request", provider=model.name))
        from pygent_ls.agent.turn.external.turn import ExternalTurn  # few turns are another program's

        turn = ExternalTurn(state=self._state, pauses=self._pauses, model=model, clock=self.clock)
        try:
            return await turn.run()
        except ModelError as error:
            raise await self._model_calls.failed(error) from None

    async def _take_agent(self) -> None:
        """Switch to the agent that was chosen meanwhile."""
        make, self._switch = self._switch, None
        if make is not None:
            state = self._state
            spec, services = await make()
            state.context = replace(state.context, spec=spec, tools=state.structured.offered(services.tools))
            await state.emit(Notice(content=f"The agent is now {spec.agent}."))

    async def _take_steering(self) -> None:
        """Add remarks and what the user said meanwhile to the conversation."""
        state = self._state
        remarks, state.remarks, state.has_report = state.remarks, [], False
        for text in remarks:
            state.keep(user_message((TextBlock(text=text, from_outside=True),), turn_id=self.spec.turn_id))
        taken, state.steering = state.steering, []
        for each in taken:
            state.keep(user_message(each.content, turn_id=self.spec.turn_id))
        for each in taken:
            await state.emit(Steered(content=each.shown, attachments=each.attachments))

    # Limits

    async def _stopped_before_call(self) -> StopReason | None:
        while stop := self._pauses.before_call():
            if not await self._pauses.goes_on(stop):
                return stop.reason
        return None

    async def _stopped_unpriced(self) -> StopReason | None:
        if self._pauses.needs_price and not await self._model_calls.has_price():
            return await self._pauses.stops_unpriced(self._state.model.name)
        return None

    async def _stopped_after_answer(self) -> StopReason | None:
        while stop := self._pauses.after_answer():
            if not await self._pauses.goes_on(stop):
                return stop.reason
        return None

    async def _stopped_before_tools(self, tool_calls: ToolCalls, calls: tuple[ToolUseBlock, ...]) -> StopReason | None:
        from pygent_ls.agent.turn.tool_calls import LIMIT_RESULT, NOT_BEGUN_RESULT

        stopped: StopReason | None = "cancelled"
        try:
            stopped = await self._stopped_after_answer()
        finally:  # providers reject a history with an unanswered call
            if stopped:
                await tool_calls.refuse(calls, NOT_BEGUN_RESULT if stopped == "cancelled" else LIMIT_RESULT)
        return stopped

    async def _run_subagent(self, made: Delegate, history: list[Message]) -> TurnResult:
        turn = Turn(
            spec=made.spec,
            services=made.services,
            history=history,
            sink=self.sink,
            delegate=self.delegate,
            retries=self.retries,
            clock=self.clock,
            parent=self,
        )
        self._state.children.append(turn._state)
        try:
            return await turn.run()
        finally:
            self._state.end_subagent(turn._state)

    async def _run_detached(self, made: Delegate, history: list[Message], keep: Keep) -> TurnResult:
        """Run a subagent in the background. It shares the limits of this turn, also after its end."""

        async def sink(stamped: Stamped) -> None:
            if stamped.parent_tool_id == made.spec.parent_tool_id:
                match stamped.event:
                    case ToolCall(title=title):
                        await keep(f"> {title}\n")
                    case Text(content=content):
                        await keep(f"{content}\n")
                    case _:
                        pass
            await self.sink(stamped)

        turn = Turn(
            spec=made.spec,
            services=made.services,
            history=history,
            sink=sink,
            delegate=self.delegate,
            clock=self.clock,
            parent=self,
            detached=True,
        )
        self._state.children.append(turn._state)
        try:
            return await turn.run()
        finally:
            self._state.end_subagent(turn._state)

    # Answers

    async def _take(self, answer: ModelAnswer) -> StopReason | None:
        """Store an answer and run its calls. Return the stop reason if the turn ends."""
        state, spec = self._state, self.spec
        state.say(answer.text)
        if answer.finish_reason == "length":
            return self._cut_off(answer)
        state.text_before = ""
        if answer.finish_reason == "paused":
            return await self._resume(answer)
        if answer.finish_reason == "refusal":
            state.keep(answer.message_without_calls(spec.turn_id, cut_off=False))
            return "refusal"
        if answer.is_empty and answer.finish_reason != "tools" and state.structured.schema is None:
            self._empty_answers += 1
            if self._empty_answers > 1:
                raise await self._model_calls.failed(_empty_answer(state.model.name))
            return None
        self._empty_answers = 0
        readers = readers_of(state.context.tools) - {STRUCTURED_OUTPUT}  # a cut-off answer is of no use
        message = answer.message(spec.turn_id, state.taken_ids(), readers)
        if not message.tool_calls:
            state.keep(message if message.text else None)
            return await self._take_words()
        tool_calls = self._tool_calls  # its import may fail, and calls in the history need results
        state.call_items = dict(answer.items)
        state.keep(message)
        return await self._run_tools(tool_calls, message.tool_calls)

    async def _resume(self, answer: ModelAnswer) -> StopReason | None:
        """Keep an answer in which the provider paused: sent back as it is, it goes on."""
        self._state.keep(answer.message(self.spec.turn_id, self._state.taken_ids()))
        return await self._stopped_after_answer()

    async def _take_words(self) -> StopReason | None:
        """Finish with an answer without calls, or ask for the structured answer if one is required."""
        state = self._state
        wanted = state.structured.after_text(state.text, state.model.name)
        if isinstance(wanted, ModelError):
            raise await self._model_calls.failed(wanted)
        if wanted is None:
            return "end_turn"
        if stopped := await self._stopped_after_answer():
            return stopped
        state.keep(user_message(wanted, turn_id=self.spec.turn_id))
        return None

    def _cut_off(self, answer: ModelAnswer) -> StopReason | None:
        """Continue the text of an answer that reached the output limit, once, unless it would never end. A tool call
        that is cut off never runs."""
        state, turn_id = self._state, self.spec.turn_id
        state.keep(answer.message_without_calls(turn_id, cut_off=False))
        if answer.is_endless or state.text_before or answer.has_calls or not answer.text.strip():
            return "max_output_tokens"
        state.keep(user_message(GO_ON, turn_id=turn_id))
        state.text_before = state.text
        return None

    async def _run_tools(self, tool_calls: ToolCalls, calls: tuple[ToolUseBlock, ...]) -> StopReason | None:
        structured = self._state.structured
        is_last = structured.is_all_of(calls)  # as with text that ends a turn, limits are checked only after it
        if not is_last and (stopped := await self._stopped_before_tools(tool_calls, calls)):
            return stopped
        stop = await tool_calls.run(calls)
        if structured.given is not None:
            return "end_turn"
        if (error := structured.failed(self._state.model.name)) is not None:
            raise await self._model_calls.failed(error)
        if is_last and (stopped := await self._stopped_after_answer()):
            return stopped
        if stop is None:
            return None
        if not await self._pauses.goes_on(stop):
            return stop.reason
        tool_calls.loops.reset()
        return None


def _take_cancel() -> None:
    """Clear the cancellation of the running task, which has been handled: what follows is not cancelled."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()


def _empty_answer(model: str) -> ModelError:
    return ModelError(
        f"{model} returned an empty answer twice. Try again, or choose another model.", type="server", provider=model
    )
