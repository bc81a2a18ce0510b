"""One tool call from the model's words to its result: arguments, permission, cache, tool, edit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from pygent_ls.agent.approver import Approver
from pygent_ls.agent.asker import NobodyToAsk, Questioner
from pygent_ls.agent.asking import Asking, DeniedError
from pygent_ls.agent.batches import MyTurn, at_once
from pygent_ls.agent.cache import CachedResult, ToolCache
from pygent_ls.agent.changing import Changing
from pygent_ls.agent.checkpointer import Checkpointer, NoCheckpoints, TurnKeeper
from pygent_ls.agent.committing import is_being_cancelled, to_its_end
from pygent_ls.agent.cutting import cut
from pygent_ls.agent.diffs import changes_of
from pygent_ls.agent.editor_state import EditorState, NoEditor
from pygent_ls.agent.events import (
    AgentEvent,
    Notice,
    ToolProgress,
    ToolResult,
)
from pygent_ls.agent.learning import learn_quoted
from pygent_ls.agent.messages import TextBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.agent.outputs import READER, Outputs
from pygent_ls.agent.permissions import Permissions, Verdict
from pygent_ls.agent.read_log import ReadLog
from pygent_ls.agent.review import NoReviewer, ReviewedCall, Reviewer, told
from pygent_ls.agent.sandboxing import SandboxConsent, note_on, sandbox_for
from pygent_ls.agent.scaffolding import Templates
from pygent_ls.agent.secret_keeping import Secrets
from pygent_ls.agent.secrets import LiveRedactor
from pygent_ls.agent.tool import Tool, ToolContext, ToolRegistry
from pygent_ls.agent.untrusted import OWN_WORDS, Marks
from pygent_ls.agent.web import Web, judge_url
from pygent_ls.agent.workspace import (
    EditPlan,
    FileChange,
    Processes,
    Workspace,
)
from pygent_ls.errors import ToolError

Emit = Callable[[AgentEvent], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a session gives its turns: the ports, and the session's own memory."""

    session_id: str
    tools: ToolRegistry
    workspace: Workspace
    processes: Processes
    approver: Approver
    permissions: Permissions
    cache: ToolCache
    reads: ReadLog
    max_tool_result_chars: int
    web: Web | None = None
    templates: Templates | None = None
    questioner: Questioner = field(default_factory=NobodyToAsk)
    editor: EditorState = field(default_factory=NoEditor)
    consent: SandboxConsent = field(default_factory=SandboxConsent)
    checkpointer: Checkpointer = field(default_factory=NoCheckpoints)
    reviewer: Reviewer = field(default_factory=NoReviewer)
    working_directory: Path = Path()
    """Where commands run that name no folder; the daemon's own where the session names none."""
    outputs: Outputs = field(default_factory=Outputs)
    marks: Marks = field(default_factory=Marks)
    """What stands around text from outside in the session's requests."""
    secrets: Secrets = field(default_factory=Secrets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a call ended."""

    content: str
    is_error: bool = False
    cached: bool = False
    changes: tuple[FileChange, ...] = ()
    from_outside: bool = True
    """As of `ToolResultBlock`."""


@dataclass(kw_only=True)
class ToolGuard:
    """Runs the calls of one turn. Whatever a tool does, its call has one result, and the turn goes on."""

    around: Surroundings
    turn_id: str
    emit: Emit
    results: dict[str, ToolResultBlock] = field(default_factory=dict[str, ToolResultBlock])
    files_changed: dict[Path, FileChange] = field(default_factory=dict[Path, FileChange])

    def __post_init__(self) -> None:
        async def warn(problem: str) -> None:
            await self.emit(Notice(content=problem, level="warning"))

        self._asking = Asking(
            session_id=self.around.session_id,
            turn_id=self.turn_id,
            emit=self.emit,
            workspace=self.around.workspace,
            approver=self.around.approver,
            permissions=self.around.permissions,
            consent=self.around.consent,
            questioner=self.around.questioner,
            secrets=self.around.secrets,
            working_directory=self.around.working_directory,
        )
        self._changing = Changing(
            workspace=self.around.workspace,
            reviewer=self.around.reviewer,
            checkpointer=self.around.checkpointer,
            cache=self.around.cache,
            reads=self.around.reads,
            files_changed=self.files_changed,
        )
        self._live: dict[str, LiveRedactor] = {}
        self._kept = TurnKeeper(checkpointer=self.around.checkpointer, turn_id=self.turn_id, warn=warn)

    def remarks_on(self, calls: Sequence[ToolUseBlock]) -> Iterator[TextBlock]:
        """See `Asking.remarks_on`."""
        return self._asking.remarks_on(calls)

    async def run(self, call: ToolUseBlock, my_turn: MyTurn = at_once) -> None:
        """Run the call, keep its result in `results`, and tell of it in its turn. Raises nothing but a cancel."""
        started = perf_counter()
        try:
            outcome = await self._outcome(call)
        except ToolError as error:
            outcome = Outcome(content=f"Error: {error}", is_error=True)
        except DeniedError as denied:
            outcome = Outcome(content=str(denied), is_error=True, from_outside=False)
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            why = "something that it waited for was cancelled."
            outcome = Outcome(content=f"Error: {call.name} failed: {why}", is_error=True)
        except (Exception, SystemExit) as error:  # a tool's bug is the model's to read, not the turn's end
            outcome = Outcome(content=f"Error: {call.name} failed: {type(error).__name__}: {error}", is_error=True)
        outcome = await to_its_end(self._without_secrets(call, outcome))
        content, truncated = cut(outcome.content, call.name, self.around.max_tool_result_chars)
        if truncated and self.around.tools.get(READER):
            content += "\n" + self.around.outputs.keep(call.id, call.name, outcome.content)
        self.results[call.id] = ToolResultBlock(
            tool_use_id=call.id,
            content=content,
            is_error=outcome.is_error,
            from_outside=outcome.from_outside and call.name not in OWN_WORDS,
        )
        duration_s = perf_counter() - started
        with suppress(asyncio.CancelledError):  # what is over is told of, also when the turn is cancelled
            await my_turn()
        await self.emit(
            ToolResult(
                tool_id=call.id,
                tool_name=call.name,
                content=content,
                is_error=outcome.is_error,
                cached=outcome.cached,
                truncated=truncated,
                duration_s=duration_s,
                changes=outcome.changes,
            )
        )
        if is_being_cancelled():  # the call was not cut off where it changed a file, or only waited to be told of
            raise asyncio.CancelledError

    async def _outcome(self, call: ToolUseBlock) -> Outcome:
        try:
            tool, arguments = await self._called(call)
        except ToolError as error:
            return Outcome(content=f"Error: {error}", is_error=True, from_outside=False)
        sandbox = await sandbox_for(tool, self.around.processes)
        verdict = await self._asking.judged(tool, call, sandbox)
        context = self._context(call, tool)
        context.judge_url = partial(judge_url, self.around.permissions, tool)
        if tool.plans_edit:
            return await self._edit(tool, call, arguments, context)
        if verdict.decision == "ask":
            await self._asking.ask(tool, call, action=tool.action_for(call.input) + note_on(sandbox), changes=())
        context.sandboxed = await self._asking.is_sandboxed(tool, call, sandbox)
        return await self._cached(call, context) or await self._run(tool, call, arguments, context)

    async def _called(self, call: ToolUseBlock) -> tuple[Tool, Mapping[str, Any]]:
        """The tool and the validated arguments, with secrets in what is to be written.

        Raises `ToolError` for what is no call at all, and as `Secrets.restored` does.
        """
        tool = self.around.tools.get(call.name)
        if tool is None:
            known = ", ".join(each.name for each in self.around.tools.list_all())
            raise ToolError(f"There is no tool named {call.name!r}. The tools are: {known}.")
        if call.problem is not None:
            raise ToolError(call.problem)
        return tool, tool.validate(await self.around.secrets.restored(call, tool))

    async def _without_secrets(self, call: ToolUseBlock, outcome: Outcome) -> Outcome:
        """The outcome as the model and the front ends see it; before it, what was held back of its live output."""
        live = self._live.pop(call.id, None)
        if live and (rest := await live.close()):
            await self.emit(ToolProgress(tool_id=call.id, content=rest))
        secrets = self.around.secrets
        content = await secrets.masked_result(call, self.around.tools.get(call.name), outcome.content)
        return replace(outcome, content=content, changes=await secrets.masked_changes(outcome.changes))

    # Reading and running

    async def _cached(self, call: ToolUseBlock, context: ToolContext) -> Outcome | None:
        found = self.around.cache.get(call.name, call.input) if context.cacheable else None
        if found is None:
            return None
        if not await self._still_true(found):
            self.around.cache.drop(call.name, call.input)
            return None
        for document in found.shown:
            self.around.reads.record(document)
        return Outcome(content=found.content, cached=True)

    async def _still_true(self, found: CachedResult) -> bool:
        workspace = self.around.workspace
        for path, stamp in found.dependencies.items():
            if await workspace.stamp(path) != stamp:
                return False
        for folder, stamp in found.trees.items():
            if await workspace.tree_stamp(folder) != stamp:
                return False
        return True

    async def _run(self, tool: Tool, call: ToolUseBlock, arguments: Mapping[str, Any], context: ToolContext) -> Outcome:
        if tool.runs_programs:
            async with self._asking.one_at_a_time:  # it may ask the user too, and calls that only read run side by side
                await self.around.workspace.save_changes(tool.name)
        changes_files = tool.runs_programs and not tool.read_only
        try:
            async with self._kept.around_program(tool.title_for(call.input)) if changes_files else nullcontext():
                content = await self._timed(tool, arguments, context)
        finally:  # also what failed, or was cancelled, may have written before
            if not tool.read_only:
                self.around.cache.clear()
        if not isinstance(content, str):
            raise TypeError(f"{tool.name} returned {type(content).__name__}, not text")
        if tool.cacheable and context.cacheable:
            result = CachedResult(
                content=content,
                dependencies=dict(context.dependencies),
                trees=dict(context.trees),
                shown=tuple(context.shown),
            )
            self.around.cache.set(call.name, call.input, result, ttl_s=tool.ttl_s)
        note = await self._changed_note() if tool.runs_programs else ""
        return Outcome(content=content + note)

    async def _changed_note(self) -> str:
        """What the model must know of open documents whose files a program changed."""
        workspace = self.around.workspace
        names = ", ".join(workspace.shown(path) for path in await workspace.changed_on_disk())
        return f"\n[changed on the disk while open in the editor: {names}; read them again]" if names else ""

    async def _timed(self, tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> str | EditPlan:
        limit = asyncio.timeout(tool.timeout_s)
        has_returned = False
        try:
            async with limit:
                returned = await tool.run(context, **arguments)
            has_returned = True
            return returned
        except TimeoutError as error:
            if not limit.expired():
                raise ToolError(f"{tool.name} ran into a time limit: {error}") from error
            raise ToolError(
                f"{tool.name} was ended after {tool.timeout_s:g} s. Ask for less: a smaller folder, a narrower pattern."
            ) from None
        finally:
            if not has_returned:
                context.take_back_reads()

    def _context(self, call: ToolUseBlock, tool: Tool) -> ToolContext:
        reading = self.around.permissions.reading()
        live = self._live[call.id] = self.around.secrets.live(call, tool)

        async def report(content: str) -> None:
            if shown := await live.feed(content):
                await self.emit(ToolProgress(tool_id=call.id, content=shown))

        return ToolContext(
            tool_id=call.id,
            session_id=self.around.session_id,
            workspace=self.around.workspace,
            processes=self.around.processes,
            working_directory=self.around.working_directory,
            reads=self.around.reads,
            report=report,
            outputs=self.around.outputs,
            reading=reading,
            cacheable=not reading.rules,  # results are shared with sessions that have other rules
            web=self.around.web,
            templates=self.around.templates,
            editor=self.around.editor,
            ask_user=self._asking.questions_of(call.id),
        )

    # Editing

    async def _edit(
        self, tool: Tool, call: ToolUseBlock, arguments: Mapping[str, Any], context: ToolContext
    ) -> Outcome:
        plan = await self._timed(tool, arguments, context)
        if not isinstance(plan, EditPlan):
            raise TypeError(f"{tool.name} returned {type(plan).__name__}, not an edit plan")
        verdict = await self._asking.judged_plan(tool, call, plan)
        try:
            return await self._applied(tool, call, plan, verdict)
        except ToolError as error:
            await learn_quoted(error, plan, self.around.workspace, self.around.reads)
            raise

    async def _applied(self, tool: Tool, call: ToolUseBlock, plan: EditPlan, verdict: Verdict) -> Outcome:
        workspace = self.around.workspace
        changes = changes_of(plan, workspace.shown)
        await self.around.secrets.refuse_masks(changes)
        if verdict.decision == "ask":
            await workspace.check(plan)  # nobody is asked for what cannot happen
            await self._asking.ask(tool, call, action=_action(tool, call, changes), changes=changes)
        await self._kept.before_change(tool.title_for(call.input))
        reviewed = ReviewedCall(session_id=self.around.session_id, turn_id=self.turn_id, tool_id=call.id)
        applied, stand = await self._changing.make(plan, changes, reviewed)
        return Outcome(content=told(applied, workspace.shown), is_error=applied.is_nothing, changes=stand)


def _action(tool: Tool, call: ToolUseBlock, changes: Sequence[FileChange]) -> str:
    counts = f" (+{sum(c.added for c in changes)} −{sum(c.removed for c in changes)})"
    return tool.action_for(call.input) + counts
