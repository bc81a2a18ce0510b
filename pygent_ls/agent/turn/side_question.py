"""Side questions: answered from a copy of the conversation, which they leave as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from pygent_ls.agent.events import (
    AgentEvent,
    Cancelled,
    EventSink,
    Finished,
    LlmError,
    Notice,
    Stamped,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TurnStarted,
)
from pygent_ls.agent.external_agent import ExternalModel
from pygent_ls.agent.hook_runner import HookRunner
from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.messages import Block, Message, TextBlock, ToolResultBlock, Usage, user_message
from pygent_ls.agent.model.answer import ModelAnswer
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.turn.limits import Allowance, TurnSpent
from pygent_ls.agent.turn.model_calls import ModelCalls
from pygent_ls.agent.turn.state import TurnResult, TurnState
from pygent_ls.agent.turn.turn_hooks import run_prompt_hooks
from pygent_ls.agent.turn_spec import TurnSpec
from pygent_ls.errors import ModelError

HOW_TO_ANSWER = """\
The user asks a side question while you work. Answer it now, briefly, in text, from what this conversation already \
contains. Call no tool: it would not run. If the conversation does not contain the answer, say so. The question and \
your answer are not part of the conversation; afterwards you continue your work as if they had not been asked.

Side question:
"""

PENDING_RESULT = "This call has not finished yet."
"""Result of a call that runs while the side question is asked."""

NO_TOOLS_RESULT = "Not run: a side question is answered without tools. Answer in text now."

MAX_CALLS = 2
"""Maximum number of model calls for one question: a second one if the model called a tool in place of an answer."""


def with_results(history: Sequence[Message], pending: str = PENDING_RESULT) -> list[Message]:
    """Return a copy of the history in which each tool call has a result. Messages that need no change are the same
    objects, so that the beginning of the request stays the same for the provider's cache."""
    found: list[Message] = []
    for place, message in enumerate(history):
        found.append(message)
        following = history[place + 1] if place + 1 < len(history) else None
        given = _result_ids(following) if following is not None and following.role == "user" else set[str]()
        missing = [call for call in message.tool_calls if call.id not in given]
        if missing:
            results = tuple(
                ToolResultBlock(tool_use_id=call.id, content=pending, is_error=False, from_outside=False)
                for call in missing
            )
            found.append(user_message(results, turn_id=message.turn_id))
    return found


def _result_ids(message: Message) -> set[str]:
    return {block.tool_use_id for block in message.blocks if isinstance(block, ToolResultBlock)}


@dataclass(kw_only=True)
class SideQuestion:
    """One side question. It asks the model of `spec` about a copy of the history, and runs no tool.

    Its events are like those of a turn, but of a stream of their own. The request begins like that of a turn, with the
    same system prompt, tools and settings, so that the provider's cache applies: several providers drop the cached
    messages if the choice of tools or the thinking differs.
    """

    question_id: str
    shown: str
    """Question in the user's words, without secrets."""
    content: str | tuple[Block, ...]
    """Question as the model reads it."""
    spec: TurnSpec
    """Specification of the running turn, or of one that would begin now."""
    services: SessionServices
    history: Sequence[Message]
    sink: EventSink
    _stop: StopReason = "error"
    _error: ModelError | None = None
    _state: TurnState = field(init=False)

    def __post_init__(self) -> None:
        spec, memory = self.spec, self.services.memory
        settings = spec.model_settings
        self.spec = spec = replace(
            spec,
            output_schema=None,
            model_settings=replace(
                settings,
                provider_search=False,  # the provider would run it
                compaction=replace(settings.compaction, strategy="off"),  # of a copy that is used once
            ),
        )
        self.services = replace(self.services, memory=replace(memory, window=memory.window.copy()))
        state = self._state = TurnState(history=with_results(self.history), sink=self._publish)
        state.context = RunContext(
            environment=self.services.environment,
            memory=self.services.memory,
            tools=self.services.tools,
            spec=spec,
            emit=state.emit,
            hooks=HookRunner(services=self.services, turn_id=self.question_id, emit=state.tell),
        )

    @property
    def usage(self) -> Usage:
        """Usage of its model calls so far."""
        return self._state.usage

    @property
    def unpriced(self) -> str:
        """Name of the model that answered at an unknown price; empty if none did."""
        return self._state.unpriced

    async def run(self) -> TurnResult:
        """Ask, and return the answer. If cancelled, it ends with the text so far; a further cancellation propagates."""
        state, spec = self._state, self.spec
        await state.emit(TurnStarted(prompt=self.shown, model=spec.model.name, mode=spec.mode, agent=spec.agent))
        try:
            self._stop = await self._ask()
        except ModelError as error:
            self._error = error
        finally:
            state.closing = True
        return await self._finish()

    async def cancelled(self) -> TurnResult:
        """Emit the end of a cancelled question, and return what was answered."""
        self._stop = "cancelled"
        await self._state.emit(Cancelled())
        return await self._finish()

    async def _finish(self) -> TurnResult:
        state = self._state
        await state.emit(Finished(stop_reason=self._stop, usage=state.usage, files_changed=()))
        return TurnResult(
            stop_reason=self._stop,
            text=state.text,
            usage=state.usage,
            iterations=state.iterations,
            files_changed=(),
            error=self._error,
            model_s=state.model_s,
        )

    async def _ask(self) -> StopReason:
        state, spec = self._state, self.spec
        if isinstance(spec.model, ExternalModel):
            raise await self._failed(_no_model_of_its_own(spec.model.name))
        context, denied = await run_prompt_hooks(state.context.hooks, self.shown, None)
        if denied is not None:
            state.text = denied
            await state.emit(Notice(content=denied, level="error"))
            return "refusal"
        question = (*context, TextBlock(text=HOW_TO_ANSWER), *user_message(self.content).blocks)
        state.keep(user_message(question, turn_id=spec.turn_id))
        calls = ModelCalls(state=state)
        allowance = Allowance(spec.limits)
        if allowance.needs_price and not await calls.has_price():
            raise await self._failed(_no_price(spec.model.name))
        while True:
            answer = await calls.ask()
            state.say(answer.text)
            if answer.finish_reason != "tools" and not (answer.has_calls and not answer.text.strip()):
                return _ending(answer)
            spent = TurnSpent(iterations=state.iterations, usage=state.usage)
            if state.iterations >= MAX_CALLS or allowance.after_answer(spent, state.unpriced or state.model.name):
                return await self._give_up(answer)
            message = answer.message(spec.turn_id, state.taken_ids())
            state.keep(message)
            state.history[:] = with_results(state.history, NO_TOOLS_RESULT)

    async def _give_up(self, answer: ModelAnswer) -> StopReason:
        """End with an answer that calls a tool: with its text, or else with an error."""
        if answer.text.strip():
            return "end_turn"
        problem = f"{self._state.model.name} wants to use a tool, which a side question cannot. Ask it as a prompt."
        raise await self._failed(ModelError(problem, type="invalid_request", provider=self._state.model.name))

    async def _failed(self, error: ModelError) -> ModelError:
        """Emit the failure; return it, to be raised."""
        await self._state.emit(
            LlmError(
                error_type=error.type,
                error_message=error.message,
                retryable=False,
                attempt=1,
                will_retry=False,
                retry_in_s=None,
                fallback_model=None,
                withdrawn=(),
            )
        )
        return error

    async def _publish(self, stamped: Stamped) -> None:
        await self.sink(replace(stamped, event=self._own(stamped.event)))

    def _own(self, event: AgentEvent) -> AgentEvent:
        """Return the event with item ids of this question, which differ from those of the turn."""
        match event:
            case TextDelta() | Text() | ThinkingDelta() | Thinking():
                return replace(event, item_id=self._item(event.item_id))
            case LlmError(withdrawn=withdrawn):
                return replace(event, withdrawn=tuple(map(self._item, withdrawn)))
            case _:
                return event

    def _item(self, item_id: str) -> str:
        return f"{self.question_id}{item_id.removeprefix(self.spec.item_prefix)}"


def _ending(answer: ModelAnswer) -> StopReason:
    match answer.finish_reason:
        case "length":
            return "max_output_tokens"
        case "refusal":
            return "refusal"
        case "end_turn" | "tools" | "paused" | "unknown":
            return "end_turn"


def _no_model_of_its_own(name: str) -> ModelError:
    return ModelError(
        f"{name} is an agent of another program that holds its conversation itself, so it cannot be asked beside its "
        "turn. Ask it as a prompt, or choose a model of a provider for this session.",
        type="invalid_request",
        provider=name,
    )


def _no_price(name: str) -> ModelError:
    return ModelError(
        f"The price of {name} is unknown, so the limit in dollars (max_budget_usd) cannot be enforced. Limit tokens "
        "instead (max_tokens).",
        type="invalid_request",
        provider=name,
    )
