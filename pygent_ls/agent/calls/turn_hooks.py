"""Hooks of one turn: run them on events, apply what they return, and report that they ran."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, cast

from pygent_ls.agent.calls.tool_events import tool_call
from pygent_ls.agent.edits.checkpointer import TurnCheckpoints
from pygent_ls.agent.edits.named_paths import NamedPaths
from pygent_ls.agent.events import AgentEvent, Notice, ToolResult
from pygent_ls.agent.kinds import DecidedBy, StopReason, ToolCategory
from pygent_ls.agent.messages import TextBlock, ToolUseBlock
from pygent_ls.agent.ports.hooks import NOTHING, HookEvent, HookInput, HookOutcome, HookSource
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.truncation import cut
from pygent_ls.errors import ToolError

MAX_SAID_CHARS = 10_000
"""Maximum characters of hook output for one event: about 2 500 tokens, a linter's whole report on a file."""

MAX_STOP_DENIALS = 5
"""Maximum number of times that hooks may keep one turn from ending: enough for a test suite that is fixed step by step.
Each costs at least one model call, and a hook that always denies costs no more than these."""

NO_REASON = "it gave no reason."

NOT_DONE = (
    "A program that the user configured checks whether you are done, and it says that you are not. Its message "
    "follows. Act on it as far as it serves the user's request, then end your turn."
)


class HookFacts(TypedDict, total=False):
    """Fields of `HookInput` that are specific to an event."""

    source: HookSource
    reason: str
    prompt: str
    tool_id: str
    tool_name: str
    tool_input: Mapping[str, Any]
    tool_result: str
    error: str


@dataclass(kw_only=True)
class TurnHooks:
    """Runs the hooks of one turn, or of one of its subagents. Their output is redacted and bounded in length."""

    around: RunContext
    turn_id: str
    emit: Callable[[AgentEvent], Awaitable[None]]
    told: set[str] = field(default_factory=set[str])
    """Problems with hooks that were reported, each once per turn; the turn and its subagents share the set."""
    _calls: dict[str, ToolUseBlock] = field(default_factory=dict[str, ToolUseBlock])
    """Calls whose input a hook or the user changed, as they run."""
    _words: dict[str, HookOutcome] = field(default_factory=dict[str, HookOutcome])
    """Outcomes of the `pre_tool_use` hooks, by call id."""
    _beside: dict[str, list[TextBlock]] = field(default_factory=dict[str, list[TextBlock]])
    """Text for the model beside the results of calls, by call id."""
    _stop_denials: int = 0

    def __post_init__(self) -> None:
        async def warn(problem: str) -> None:
            await self.emit(Notice(content=problem, level="warning"))

        self._keeper = TurnCheckpoints(checkpointer=self.around.checkpointer, turn_id=self.turn_id, warn=warn)

    async def fire(self, event: HookEvent, facts: HookFacts) -> HookOutcome:
        """Run the hooks of an event, and report that they ran."""
        if not self.around.hooks.listens(event, facts.get("tool_name", "")):
            return NOTHING
        around = self.around
        given = HookInput(
            event=event,
            session_id=around.session_id,
            turn_id=self.turn_id,
            cwd=around.working_directory,
            **facts,
        )
        said = await around.hooks.run(given)
        masked = around.secrets.masked
        for ran in said.ran:
            await self.emit(replace(ran, command=await masked(ran.command)))
        for problem in said.notices:
            if problem not in self.told:
                self.told.add(problem)
                await self.emit(Notice(content=await masked(problem), level="warning"))
        return replace(
            said,
            reason=cut(await masked(said.reason), event, MAX_SAID_CHARS)[0],
            context=cut(await masked(said.context), event, MAX_SAID_CHARS)[0],
            tool_input=None if said.tool_input is None else await self._masked_input(said.tool_input),
        )

    # The turn

    async def prompted(self, prompt: str, source: HookSource | None) -> tuple[tuple[TextBlock, ...], str | None]:
        """Run the hooks on a prompt, with which the session may start. Return the context that precedes the prompt, and
        why the prompt may not be sent; None if it may."""
        started = NOTHING if source is None else await self.fire("session_start", {"source": source})
        said = await self.fire("user_prompt_submit", {"prompt": prompt})
        if said.decision == "deny":
            return (), f"A hook that you configured denied this prompt, so it was not sent: {said.reason or NO_REASON}"
        both: tuple[tuple[HookEvent, str], ...] = (
            ("session_start", started.context),
            ("user_prompt_submit", said.context),
        )
        return tuple(_block(event, context) for event, context in both if context), None

    async def stopping(self, reason: StopReason, event: HookEvent, changing: asyncio.Lock) -> tuple[TextBlock, ...]:
        """Return what has to be done before the turn may end; empty if it may end. Only a turn with the stop reason
        `end_turn` is kept from ending, at most `MAX_STOP_DENIALS` times. Hooks may change files, as in `after`."""
        if not self.around.hooks.listens(event):
            return ()
        try:
            async with changing:
                said = await self._saved_and_fired(event, {"reason": reason}, ())
        finally:
            self.around.cache.clear()
        if said.decision != "deny" or reason != "end_turn":
            return ()
        if self._stop_denials >= MAX_STOP_DENIALS:
            problem = f"A {event} hook has prevented the turn from ending {MAX_STOP_DENIALS} times; the turn ends now."
            await self.emit(Notice(content=problem, level="warning"))
            return ()
        self._stop_denials += 1
        return TextBlock(text=NOT_DONE), _block(event, said.reason or NO_REASON)

    # A call

    async def before(self, call: ToolUseBlock) -> ToolUseBlock:
        """Let hooks judge a call and change its input. Return the call as it is to run."""
        said = await self.fire("pre_tool_use", _facts_of(call))
        if said is NOTHING:
            return call
        self._words[call.id] = said
        if said.context:
            self._remark(call, "pre_tool_use", said.context)
        if said.tool_input is None or said.tool_input == call.input or said.decision == "deny":
            return call
        changed, shown = await self._changed(call, said.tool_input)
        self._remark(call, "pre_tool_use", f"The input of this call was changed before it ran. The new input: {shown}")
        return changed

    async def changed_by_answer(self, call: ToolUseBlock, given: Mapping[str, Any], by: DecidedBy) -> ToolUseBlock:
        """Return the call with the input that the user or a hook put in place of the model's."""
        changed, shown = await self._changed(call, await self._masked_input(given))
        if by == "hook":
            self._remark(
                call, "permission_request", f"The input of this call was changed before it ran. The new input: {shown}"
            )
            return changed
        text = f"The user allowed this call but changed its input before it ran. The new input: {shown}"
        block = TextBlock(text=f'<user-feedback about="{call.name}">\n{text}\n</user-feedback>')
        self._beside.setdefault(call.id, []).append(block)
        return changed

    async def _changed(self, call: ToolUseBlock, given: Mapping[str, Any]) -> tuple[ToolUseBlock, str]:
        """Return the call with that input, which is reported to the client, and the input as text for the model."""
        changed = self._calls[call.id] = replace(call, input=given)
        await self.emit(tool_call(changed, self.around))
        return changed, cut(json.dumps(given, ensure_ascii=False), call.name, MAX_SAID_CHARS)[0]

    def as_it_runs(self, call: ToolUseBlock) -> ToolUseBlock:
        """Return the call with the input that hooks or the user gave it."""
        return self._calls.get(call.id, call)

    def word_on(self, call: ToolUseBlock) -> HookOutcome:
        """Return the outcome of the `pre_tool_use` hooks of the call."""
        return self._words.get(call.id, NOTHING)

    async def asked(self, call: ToolUseBlock) -> HookOutcome:
        """Return what the `permission_request` hooks answer, before the user is asked whether the call may run."""
        return await self.fire("permission_request", _facts_of(call))

    async def after(self, call: ToolUseBlock, result: ToolResult, changing: asyncio.Lock) -> None:
        """Run hooks after a call; their output stands beside its result. They may change files if the tool may, while
        `changing` keeps the rest of the turn from it."""
        event: HookEvent = "post_tool_use_failure" if result.is_error else "post_tool_use"
        if not self.around.hooks.listens(event, call.name):
            return
        facts = _facts_of(call)
        if result.is_error:
            facts["error"] = result.content
        else:
            facts["tool_result"] = result.content
        tool = self.around.tools.get(call.name)
        if tool is None or tool.read_only or tool.category is ToolCategory.AGENT:
            self._hear(call, event, await self.fire(event, facts))
            return
        workspace = self.around.workspace
        stamps = {change.path: await workspace.stamp(change.path) for change in result.changes}
        try:
            async with changing:
                self._hear(call, event, await self._saved_and_fired(event, facts, stamps))
        finally:
            self.around.cache.clear()
        changed = [path for path, stamp in stamps.items() if await workspace.stamp(path) != stamp]
        if names := ", ".join(map(workspace.shown, dict.fromkeys((*changed, *await workspace.changed_on_disk())))):
            self._remark(call, event, f"It changed {names}. Read what you need again before you edit.")

    def remarks_on(self, calls: Sequence[ToolUseBlock]) -> Iterator[TextBlock]:
        """Yield what hooks said about these calls, for the model to read beside their results."""
        for call in calls:
            yield from self._beside.pop(call.id, ())

    def _hear(self, call: ToolUseBlock, event: HookEvent, said: HookOutcome) -> None:
        if said.decision == "deny":
            self._remark(call, event, said.reason or "It objects to this call, but gave no reason.")
        if said.context:
            self._remark(call, event, said.context)

    def _remark(self, call: ToolUseBlock, event: HookEvent, text: str) -> None:
        self._beside.setdefault(call.id, []).append(_block(event, text, f' about="{call.name}"'))

    async def _saved_and_fired(self, event: HookEvent, facts: HookFacts, about: Iterable[Path]) -> HookOutcome:
        """Fire an event whose hooks read files on the disk: what the agent wrote is saved first. Changes to the files
        of `about` are attributed to the hooks."""
        try:
            await self.around.workspace.save_changes(f"the {event} hook")
        except ToolError as error:
            await self.emit(Notice(content=f"The {event} hooks were not run. {error}", level="warning"))
            return NOTHING
        named = NamedPaths(folder=self.around.working_directory, paths=frozenset(about))
        async with self._keeper.around_program(f"the {event} hook", named):
            return await self.fire(event, facts)

    async def _masked_input(self, value: Any) -> Any:
        if isinstance(value, str):
            return await self.around.secrets.masked(value)
        if isinstance(value, list):
            return [await self._masked_input(each) for each in cast("list[Any]", value)]
        if isinstance(value, Mapping):
            return {name: await self._masked_input(each) for name, each in cast("Mapping[str, Any]", value).items()}
        return value


def _facts_of(call: ToolUseBlock) -> HookFacts:
    return {"tool_id": call.id, "tool_name": call.name, "tool_input": call.input}


def _block(event: HookEvent, text: str, about: str = "") -> TextBlock:
    """Return hook output as a block from outside: the user's program may quote files, or text that anybody wrote."""
    return TextBlock(text=f'<hook event="{event}"{about}>\n{text}\n</hook>', from_outside=True)
