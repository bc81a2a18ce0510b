"""The loop of one turn: ask the model, run its tools, ask again, until it has nothing more to do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pygent_ls.agent.answer import Answer
from pygent_ls.agent.batches import PlannedCall, run_batches
from pygent_ls.agent.editor_text import background
from pygent_ls.agent.events import (
    AgentEvent,
    Cancelled,
    EventSink,
    Finished,
    LlmError,
    Location,
    Notice,
    Stamped,
    StopReason,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    TurnStarted,
    UsageReported,
)
from pygent_ls.agent.guard import Surroundings, ToolGuard
from pygent_ls.agent.limits import Stop, TurnLimits, after_answer, before_call
from pygent_ls.agent.messages import Block, Message, ToolResultBlock, ToolUseBlock, Usage, user_message
from pygent_ls.agent.model import (
    Chunk,
    FinishChunk,
    Model,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    UsageChunk,
)
from pygent_ls.agent.tool import Tool, ToolRisk, path_arguments
from pygent_ls.agent.workspace import FileChange
from pygent_ls.errors import ModelError, ToolError

CANCELLED_RESULT = (
    "Cancelled: the turn was stopped before this call was finished. What it had done by then stands, so look before "
    "you rely on it."
)

LIMIT_RESULT = "Not run: the turn reached its limit before this call."


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSpec:
    """What one turn is to do; the values stay as they were when it began."""

    turn_id: str
    prompt: str
    """The prompt as the user wrote it."""
    content: str | tuple[Block, ...]
    """The prompt as the model reads it."""
    model: Model
    mode: str
    agent: str
    system: str
    limits: TurnLimits
    max_output_tokens: int
    temperature: float
    notices: tuple[str, ...] = ()
    """What the user is told when the turn begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """How the turn ended; `text` is the last answer's."""

    stop_reason: StopReason
    text: str
    usage: Usage
    iterations: int
    files_changed: tuple[FileChange, ...]
    error: ModelError | None = None


@dataclass(kw_only=True)
class Turn:
    """One run of the loop over a history that it extends.

    Whatever happens, each tool call in the history has exactly one result afterwards, and the events begin with
    `turn_started` and end with `finished`.
    """

    spec: TurnSpec
    around: Surroundings
    history: list[Message]
    sink: EventSink
    closing: bool = False
    """The outcome is settled; a cancel comes too late."""
    iterations: int = 0
    usage: Usage = field(default_factory=Usage)
    text: str = ""
    _stop: StopReason = "error"
    _error: ModelError | None = None
    _announced: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self._guard = ToolGuard(around=self.around, turn_id=self.spec.turn_id, emit=self._emit)

    async def run(self) -> TurnResult:
        """Run to the end. A cancel of the task is an outcome, not an exception."""
        spec = self.spec
        try:
            self.history.append(user_message(spec.content, turn_id=spec.turn_id))
            await self._emit(TurnStarted(prompt=spec.prompt, model=spec.model.name, mode=spec.mode, agent=spec.agent))
            for notice in spec.notices:
                await self._emit(Notice(content=notice, level="warning"))
            self._stop = await self._iterate()
        except asyncio.CancelledError:
            self.closing = True
            self._stop = "cancelled"
            _take_cancel()
            with suppress(asyncio.CancelledError):  # one that comes now changes nothing
                await self._emit(Cancelled())
        except ModelError as error:
            self._error = error
        finally:
            self.closing = True
            await self._emit(Finished(stop_reason=self._stop, usage=self.usage, files_changed=self._files_changed()))
        return TurnResult(
            stop_reason=self._stop,
            text=self.text,
            usage=self.usage,
            iterations=self.iterations,
            files_changed=self._files_changed(),
            error=self._error,
        )

    async def _iterate(self) -> StopReason:
        empty_answers = 0
        while True:
            if stop := before_call(self.spec.limits, self.iterations):
                return await self._stopped(stop)
            answer = await self._ask_model()
            self.text = answer.text
            if answer.finish_reason in ("length", "refusal"):
                self._keep(answer.message_without_calls(self.spec.turn_id, cut_off=False))
                return "refusal" if answer.finish_reason == "refusal" else "max_output_tokens"
            if answer.is_empty and answer.finish_reason != "tools":
                empty_answers += 1
                if empty_answers > 1:
                    raise await self._failed(_empty_answer(self.spec.model.name), ())
                continue
            empty_answers = 0
            message = answer.message(self.spec.turn_id, self._taken_ids())
            self._keep(message if message.text or message.tool_calls else None)
            if not message.tool_calls:
                return "end_turn"
            if stop := after_answer(self.spec.limits, self.usage):
                await self._refuse_tools(message.tool_calls)
                return await self._stopped(stop)
            await self._run_tools(message.tool_calls)

    async def _stopped(self, stop: Stop) -> StopReason:
        for event in stop.events:
            await self._emit(event)
        return stop.reason

    def _keep(self, message: Message | None) -> None:
        if message is not None:
            self.history.append(message)

    def _taken_ids(self) -> set[str]:
        return {call.id for message in self.history for call in message.tool_calls}

    # Asking the model

    async def _ask_model(self) -> Answer:
        model = self.spec.model
        self.iterations += 1
        if not model.ready:
            await self._emit(Notice(content=f"Loading the model {model.name}…"))
        answer = Answer()
        text_id, thinking_id = (f"{self.spec.turn_id}-{self.iterations}-{kind}" for kind in ("text", "thinking"))
        try:
            try:
                await self._receive(answer, text_id, thinking_id)
            finally:  # what is known of a call that was cancelled or failed has been spent too
                answer.close()
                self.usage = self.usage.plus(answer.usage)
            await self._report(answer, text_id, thinking_id)
        except asyncio.CancelledError:
            self.text = answer.text
            cut_off = answer.finish is None or answer.has_calls
            self._keep(answer.message_without_calls(self.spec.turn_id, cut_off=cut_off))
            raise
        except ModelError as error:
            withdrawn = [item for item, said in ((text_id, answer.text), (thinking_id, answer.thinking)) if said]
            raise await self._failed(error, withdrawn) from None
        return answer

    async def _receive(self, answer: Answer, text_id: str, thinking_id: str) -> None:
        model = self.spec.model
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
            await self._emit(Thinking(item_id=thinking_id, content=answer.thinking))
        if answer.text:
            await self._emit(Text(item_id=text_id, content=answer.text))
        await self._emit(UsageReported(usage=self.usage))

    def _request(self) -> ModelRequest:
        return ModelRequest(
            system=self.around.marks.explained(self.spec.system),
            messages=tuple(map(self.around.marks.marked, self._conversation())),
            tools=self.around.tools.list_definitions(),
            max_output_tokens=self.spec.max_output_tokens,
            temperature=self.spec.temperature,
        )

    def _conversation(self) -> list[Message]:
        """The history, and at its end where the user is now: nothing before it is ever another, so that a provider's
        cache of the beginning holds."""
        now = background(self.around.editor, self.around.workspace.shown)
        if now is None:
            return self.history
        last = self.history[-1]
        return [*self.history[:-1], replace(last, content=(*last.blocks, now))]

    async def _emit_delta(self, chunk: Chunk, text_id: str, thinking_id: str) -> None:
        match chunk:
            case TextChunk(text=text) if text:
                await self._emit(TextDelta(item_id=text_id, content=text))
            case ThinkingChunk(thinking=thinking) if thinking:
                await self._emit(ThinkingDelta(item_id=thinking_id, content=thinking))
            case TextChunk() | ThinkingChunk() | ToolCallChunk() | UsageChunk() | FinishChunk():
                pass  # nothing to show, or not before it is whole

    async def _failed(self, error: ModelError, withdrawn: Sequence[str]) -> ModelError:
        await self._emit(
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

    # Running tools

    async def _run_tools(self, calls: Sequence[ToolUseBlock]) -> None:
        try:
            await self._announce(calls)
            await run_batches([self._planned(call) for call in calls], self._guard.run)
        finally:  # providers reject a history with an unanswered call
            await self._answer_all(calls, CANCELLED_RESULT)

    async def _refuse_tools(self, calls: Sequence[ToolUseBlock]) -> None:
        try:
            await self._announce(calls)
        finally:
            await self._answer_all(calls, LIMIT_RESULT)

    async def _announce(self, calls: Sequence[ToolUseBlock]) -> None:
        for call in calls:
            self._announced.add(call.id)
            await self._emit(self._tool_call(call))

    async def _answer_all(self, calls: Sequence[ToolUseBlock], otherwise: str) -> None:
        """Append every call's result to the history; `otherwise` for a call that has none."""
        results = self._guard.results
        missing = {
            call.id: ToolResultBlock(tool_use_id=call.id, content=otherwise, is_error=True, from_outside=False)
            for call in calls
            if call.id not in results
        }
        answered = tuple(results.get(call.id) or missing[call.id] for call in calls)
        remarks = tuple(self._guard.remarks_on(calls))
        self.history.append(user_message((*answered, *remarks), turn_id=self.spec.turn_id))
        for call in calls:
            if call.id in missing and call.id in self._announced:
                await self._emit(_not_run(call, otherwise))

    def _tool_call(self, call: ToolUseBlock) -> ToolCall:
        tool = self.around.tools.get(call.name)
        return ToolCall(
            tool_id=call.id,
            tool_name=call.name,
            input=call.input,
            title=tool.title_for(call.input) if tool else call.name,
            kind=tool.kind if tool else "other",
            risk=tool.risk if tool else ToolRisk.LOW,
            read_only=tool.read_only if tool else False,
            locations=tuple(Location(path=path) for path in self._paths(call, tool)),
        )

    def _planned(self, call: ToolUseBlock) -> PlannedCall:
        tool = self.around.tools.get(call.name)
        return PlannedCall(
            call=call,
            read_only=tool.read_only if tool else True,
            paths=tuple(path.as_posix() for path in self._paths(call, tool)),
        )

    def _paths(self, call: ToolUseBlock, tool: Tool | None) -> list[Path]:
        """The places that the arguments name; what leads outside is left out here, and refused when it runs."""
        follow = tool is None or tool.kind not in ("delete", "move")
        found: list[Path] = []
        for path in tool.paths_in(call.input) if tool else path_arguments(call.input):
            try:
                found.append(self.around.workspace.resolve(path, follow=follow))
            except ToolError:
                continue
        return found

    # Events

    async def _emit(self, event: AgentEvent) -> None:
        await self.sink(Stamped(event=event, iteration=self.iterations, total_tokens=self.usage.total_tokens))

    def _files_changed(self) -> tuple[FileChange, ...]:
        return tuple(self._guard.files_changed.values())


def _take_cancel() -> None:
    """The running task's cancel has been answered: what it does next is not cancelled."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()


def _not_run(call: ToolUseBlock, content: str) -> ToolResult:
    return ToolResult(
        tool_id=call.id,
        tool_name=call.name,
        content=content,
        is_error=True,
        cached=False,
        truncated=False,
        duration_s=0.0,
    )


def _empty_answer(model: str) -> ModelError:
    return ModelError(
        f"{model} answered with nothing, twice. Try again, or choose another model.", type="server", provider=model
    )
