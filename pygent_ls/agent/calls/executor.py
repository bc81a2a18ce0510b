"""Tool executor: takes one call from the model's answer to its result, through arguments, permission, cache, tool and
edit."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pygent_ls.agent.calls.authorization import Authorization, DeniedError, InputChangedError
from pygent_ls.agent.calls.batches import MyTurn, at_once
from pygent_ls.agent.calls.edit_execution import EditExecution
from pygent_ls.agent.calls.no_processes import NoProcesses
from pygent_ls.agent.calls.tool_results import Emit, Outcome, ToolResults
from pygent_ls.agent.calls.turn_hooks import TurnHooks
from pygent_ls.agent.edits.checkpointer import TurnCheckpoints
from pygent_ls.agent.edits.commit import is_being_cancelled
from pygent_ls.agent.edits.diffs import changes_of
from pygent_ls.agent.edits.named_paths import named_by
from pygent_ls.agent.edits.reviewer import ReviewedCall, quotes_of, told
from pygent_ls.agent.events import Notice, PlanChanged, PlanEntry
from pygent_ls.agent.messages import TextBlock, ToolResultBlock, ToolUseBlock
from pygent_ls.agent.permissions.permissions import Verdict, judge_url
from pygent_ls.agent.permissions.sandbox_consent import confinement_of, sandbox_for
from pygent_ls.agent.ports.subagents import CallScope
from pygent_ls.agent.ports.workspace import EditPlan, FileChange
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.telemetry import ToolSpan, observed
from pygent_ls.agent.tools.arguments import with_schema
from pygent_ls.agent.tools.cache import CachedResult
from pygent_ls.agent.tools.read_updates import learn_quoted
from pygent_ls.agent.tools.session_secrets import env_file_of
from pygent_ls.agent.tools.tool import Tool, ToolContext
from pygent_ls.errors import ToolError


@dataclass(kw_only=True)
class ToolExecutor:
    """Runs the calls of one turn. Whatever a tool does, its call has exactly one result, and the turn goes on."""

    around: RunContext
    turn_id: str
    emit: Emit
    hooks: TurnHooks
    results: dict[str, ToolResultBlock] = field(default_factory=dict[str, ToolResultBlock])
    standing: CallScope = field(default_factory=CallScope)
    begun: set[str] = field(default_factory=set[str])
    """Ids of the calls that may have had an effect: their tools ran, or their edits were about to be made."""

    @property
    def files_changed(self) -> dict[Path, FileChange]:
        """What the turn has changed so far, including its subagents; one entry per file."""
        return self.standing.share.files_changed

    def __post_init__(self) -> None:
        async def warn(problem: str) -> None:
            await self.emit(Notice(content=problem, level="warning"))

        self._asking = Authorization(
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
            hooks=self.hooks,
            standing=self.standing,
            telemetry=self.around.telemetry,
            mode_changed=self.around.mode_changed,
        )
        self._changing = EditExecution(
            workspace=self.around.workspace,
            reviewer=self.around.reviewer,
            checkpointer=self.around.checkpointer,
            cache=self.around.cache,
            reads=self.around.reads,
            files_changed=self.files_changed,
            user_times=self.standing.share.user_times,
        )
        self._finishing = ToolResults(around=self.around, emit=self.emit, results=self.results)
        self._kept = TurnCheckpoints(checkpointer=self.around.checkpointer, turn_id=self.turn_id, warn=warn)
        self._has_run: set[str] = set()

    def use(self, around: RunContext) -> None:
        """Use the tools of this run context from now on; everything else in it is the same as before."""
        self.around = self._finishing.around = around

    def remarks_on(self, calls: Sequence[ToolUseBlock]) -> Iterator[TextBlock]:
        """Return what the user and hooks said about these calls, for the model to read with their results."""
        return itertools.chain(self._asking.remarks_on(calls), self.hooks.remarks_on(calls))

    async def run(self, call: ToolUseBlock, my_turn: MyTurn = at_once) -> None:
        """Run the call, keep its result in `results`, and emit it in its turn. Its duration excludes the time that the
        user took to answer. Raises nothing but a cancellation."""
        times = self.standing.share.user_times
        started, user = times.clock(), times.begin(call.id, self.standing.parent_tool_id)
        tool = self.around.tools.get(call.name)
        description = tool.definition.description if tool else ""
        span = ToolSpan(session_id=self.around.session_id, call=call, description=description)
        with observed(self.around.telemetry, span):
            outcome = await self._ended(call)
            call = self.hooks.as_it_runs(call)
            span.is_denied = outcome.is_denied
            result = span.result = await self._finishing.keep(
                call, outcome, max(0.0, times.clock() - started - user.seconds)
            )
        if call.id in self._has_run and not is_being_cancelled():
            with suppress(asyncio.CancelledError):  # it is raised once the result is emitted
                await self.hooks.after(call, result, self.standing.share.changing)
        await self._finishing.tell(result, my_turn)

    async def _ended(self, call: ToolUseBlock) -> Outcome:
        """Return the outcome of the call, whatever its tool does."""
        try:
            return await self._outcome(call)
        except ToolError as error:
            said = await self.around.secrets.masked_error(error)
            return Outcome(content=f"Error: {said}", is_error=True)
        except DeniedError as denied:
            self._has_run.discard(call.id)
            return Outcome(content=str(denied), is_error=True, is_denied=True, from_outside=denied.by == "hook")
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            why = "an operation that it was waiting for was cancelled."
            return Outcome(content=f"Error: {call.name} failed: {why}", is_error=True)
        except (Exception, SystemExit) as error:  # a bug in a tool is reported to the model and does not end the turn
            return Outcome(content=f"Error: {call.name} failed: {type(error).__name__}: {error}", is_error=True)

    async def _outcome(self, call: ToolUseBlock) -> Outcome:
        try:
            tool, arguments = await self._called(call)
        except ToolError as error:
            return Outcome(content=f"Error: {error}", is_error=True, from_outside=False)
        call, arguments = await self._as_hooks_want(call, arguments)
        while True:
            try:
                return await self._permitted(tool, call, arguments)
            except InputChangedError as changed:
                call, arguments = await self._with_input(call, changed)

    async def _permitted(self, tool: Tool, call: ToolUseBlock, arguments: Mapping[str, Any]) -> Outcome:
        """Run the call if it may run. Raises `InputChangedError` if it may run with another input."""
        sandbox = await sandbox_for(tool, self.around.processes)
        verdict = await self._asking.judged(tool, call, sandbox)
        context = self._context(call, tool)
        context.judge_url = partial(judge_url, self.around.permissions, tool)
        if tool.plans_edit:
            return await self._edit(tool, call, arguments, context)
        if verdict.decision == "ask":
            await self._asking.ask(
                tool, call, action=tool.action_for(call.input), confinement=confinement_of(tool, sandbox)
            )
        context.sandboxed = await self._asking.is_sandboxed(tool, call, sandbox)
        self._has_run.add(call.id)
        return await self._cached(call, context) or await self._run(tool, call, arguments, context)

    async def _called(self, call: ToolUseBlock) -> tuple[Tool, Mapping[str, Any]]:
        """Return the tool and the validated arguments, with secrets restored in what is to be written.

        Raises `ToolError` for an invalid call, and as `SessionSecrets.restored` does.
        """
        tool = self.around.tools.get(call.name)
        if tool is None:
            known = ", ".join(each.name for each in self.around.tools.list_all()) or "none"
            why = self.around.tools.withheld.get(call.name)
            what = f"{call.name} {why}" if why else f"There is no tool named {call.name!r}"
            raise ToolError(f"{what}. Available tools: {known}.")
        if call.problem is not None:
            raise ToolError(with_schema(call.problem, tool.definition.schema))
        tool.check_paths(call.input)
        return tool, tool.validate(await self.around.secrets.restored(call, tool))

    async def _as_hooks_want(
        self, call: ToolUseBlock, arguments: Mapping[str, Any]
    ) -> tuple[ToolUseBlock, Mapping[str, Any]]:
        """Return the call and its arguments after the hooks. Raises `ToolError` for an invalid input."""
        changed = await self.hooks.before(call)
        if changed is call:
            return call, arguments
        try:
            return changed, (await self._called(changed))[1]
        except ToolError as error:
            raise ToolError(f"a hook changed the input of this call to an invalid one. {error}") from None

    async def _with_input(
        self, call: ToolUseBlock, change: InputChangedError
    ) -> tuple[ToolUseBlock, Mapping[str, Any]]:
        """Return the call and its arguments with the input from an answer, which hooks judge like any other. Raises
        `ToolError`."""
        self._has_run.discard(call.id)
        changed = await self.hooks.changed_by_answer(call, change.given, change.by)
        try:
            _, arguments = await self._called(changed)
        except ToolError as error:
            who = "a hook" if change.by == "hook" else "the user"
            raise ToolError(f"{who} changed the input of this call to an invalid one. {error}") from None
        return await self._as_hooks_want(changed, arguments)

    # Reading and running

    async def _cached(self, call: ToolUseBlock, context: ToolContext) -> Outcome | None:
        found = self.around.cache.get(call.name, self._cached_as(call)) if context.cacheable else None
        if found is None:
            return None
        if not await self._still_true(found):
            self.around.cache.drop(call.name, self._cached_as(call))
            return None
        for document in found.shown:
            self.around.reads.record(document)
        return Outcome(content=found.content, cached=True)

    def _cached_as(self, call: ToolUseBlock) -> Mapping[str, Any]:
        """Return the key of the cached result: the call's input, and what this session masks. Sessions share results,
        but not what they know about secrets."""
        return {**call.input, "\0known": self.around.secrets.masks.knowledge}

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
            async with self._asking.one_at_a_time:  # it may ask the user too, and calls that only read run in parallel
                await self.around.workspace.save_changes(tool.name)
        changes_files = tool.runs_programs and not tool.read_only
        if not tool.read_only:
            await self.around.settle()
        try:
            async with self._alone(tool, call) if changes_files else nullcontext():
                self.begun.add(call.id)
                content = await self._timed(tool, arguments, context)
        finally:  # a call that failed or was cancelled may have written before
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
            self.around.cache.set(call.name, self._cached_as(call), result, ttl_s=tool.ttl_s)
        note = await self._changed_note() if tool.runs_programs else ""
        return Outcome(content=content + note, exit_code=context.exit_code)

    @asynccontextmanager
    async def _alone(self, tool: Tool, call: ToolUseBlock) -> AsyncGenerator[None]:
        """Keep the rest of the turn from changing files meanwhile, and make what this program changes reversible."""
        named = named_by(call.input, self.around.working_directory)
        async with self.standing.share.changing, self._kept.around_program(tool.title_for(call.input), named):
            yield

    async def _changed_note(self) -> str:
        """Return a note for the model about open documents whose files a program changed."""
        workspace = self.around.workspace
        names = ", ".join(workspace.shown(path) for path in await workspace.changed_on_disk())
        return f"\n[changed on disk while open in the editor: {names}; read them again]" if names else ""

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
                raise ToolError(f"{tool.name} exceeded a time limit: {error}") from error
            raise ToolError(
                f"{tool.name} was stopped after {tool.timeout_s:g} s. Ask for less: a smaller folder or a "
                "narrower pattern."
            ) from None
        finally:
            if not has_returned:
                context.take_back_reads()

    def _context(self, call: ToolUseBlock, tool: Tool) -> ToolContext:
        reading = self.around.permissions.reading()
        return ToolContext(
            tool_id=call.id,
            session_id=self.around.session_id,
            workspace=self.around.workspace,
            processes=NoProcesses() if tool.plans_edit else self.around.processes,
            working_directory=self.around.working_directory,
            reads=self.around.reads,
            report=self._finishing.live(call, tool),
            outputs=self.around.outputs,
            masks=self.around.secrets.masks,
            shows_lines_of=env_file_of(call, tool),
            reading=reading,
            cacheable=not reading.rules,  # results are shared with sessions that have other rules
            web=self.around.web,
            templates=self.around.templates,
            editor=self.around.editor,
            ask_user=self._asking.questions_of(call.id),
            run_subagent=partial(self.standing.run_subagent, call.id),
            set_plan=self._set_plan,
        )

    async def _set_plan(self, entries: Sequence[PlanEntry]) -> None:
        masked = self.around.secrets.masked
        kept = tuple([replace(each, content=await masked(each.content)) for each in entries])
        self.around.plan.entries = kept
        await self.emit(PlanChanged(entries=kept))

    # Editing

    async def _edit(
        self, tool: Tool, call: ToolUseBlock, arguments: Mapping[str, Any], context: ToolContext
    ) -> Outcome:
        self._has_run.add(call.id)  # unless the plan is denied
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
            await workspace.check(plan)  # the user is not asked about an edit that cannot be applied
            await self._asking.ask(tool, call, action=_action(tool, call, changes), changes=changes)
        async with self.standing.share.changing:
            await self.around.settle()
            await self._kept.before_change(tool.title_for(call.input))
            reviewed = ReviewedCall(session_id=self.around.session_id, turn_id=self.turn_id, tool_id=call.id)
            self.begun.add(call.id)
            applied, stand = await self._changing.make(plan, changes, reviewed)
        self.around.secrets.masks.moved(plan)
        said = await self.around.secrets.requoted(told(applied, workspace.shown), quotes_of(applied))
        return Outcome(content=said, is_error=applied.is_nothing, changes=stand)


def _action(tool: Tool, call: ToolUseBlock, changes: Sequence[FileChange]) -> str:
    counts = f" (+{sum(c.added for c in changes)} −{sum(c.removed for c in changes)})"
    return tool.action_for(call.input) + counts
