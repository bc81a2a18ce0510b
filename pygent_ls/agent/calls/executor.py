"""Tool executor: takes one call from the model's answer to its result, in four stages over its record.

`prepare` finds the tool and validates the arguments, `authorize` gets permission, `execute` runs the tool or applies
its edit, and `finalize` makes the result. A stage that fails raises, and `finalize` reports what is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import Any

from msgspec.structs import replace

from pygent_ls.agent.calls.authorization import (
    DeniedError,
    InputChangedError,
    ask_questions,
    ask_user,
    is_sandboxed,
    judge,
    tool_of,
)
from pygent_ls.agent.calls.batches import MyTurn, at_once
from pygent_ls.agent.calls.call_hooks import run_hooks_after, run_hooks_before, take_answered_input
from pygent_ls.agent.calls.call_record import CallRecord
from pygent_ls.agent.calls.edit_checks import check_after, check_before, prepare_checks
from pygent_ls.agent.calls.edit_execution import make_edit
from pygent_ls.agent.calls.edit_formatting import formatted, tidy_files
from pygent_ls.agent.calls.no_processes import NoProcesses
from pygent_ls.agent.calls.results import Outcome, finalize
from pygent_ls.agent.edits.commit import is_being_cancelled
from pygent_ls.agent.edits.diffs import changes_of
from pygent_ls.agent.edits.named_paths import named_by
from pygent_ls.agent.edits.reviewer import ReviewedCall, quotes_of, told
from pygent_ls.agent.events import PlanChanged, PlanEntry, ToolProgress
from pygent_ls.agent.permissions.permissions import judge_url
from pygent_ls.agent.permissions.sandbox_consent import sandbox_for
from pygent_ls.agent.ports.workspace import EditPlan
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.system_limits import limit_reached
from pygent_ls.agent.telemetry import ToolSpan, observed
from pygent_ls.agent.tools.arguments import with_schema
from pygent_ls.agent.tools.cache import CachedResult
from pygent_ls.agent.tools.read_updates import learn_quoted
from pygent_ls.agent.tools.session_secrets import env_file_of
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.errors import ToolError

MAX_INPUTS = 10
"""Maximum number of inputs of one call that are decided on. A `pre_tool_use` hook may change each input that an answer
gives, and an answer that a program gives may change it back."""


async def run_call(context: RunContext, record: CallRecord, my_turn: MyTurn = at_once) -> None:
    """Run the call, whose record then has a result, and emit the result in its turn. Its duration excludes the time
    that the user took to answer. Raises nothing but a cancellation."""
    asked, tool, times = record.asked, record.tool, context.share.user_times
    started, user = times.clock(), times.begin(asked.id, context.spec.parent_tool_id)
    description = tool.definition.description if tool else ""
    span = ToolSpan(session_id=context.memory.session_id, call=asked, description=description)
    with observed(context.environment.telemetry, span):
        outcome = await _outcome(context, record)
        span.is_denied = outcome.is_denied
        seconds = max(0.0, times.clock() - started - user.seconds)
        result = span.result = await finalize(context, record, outcome, seconds)
    if record.runs_hooks_after and not is_being_cancelled():
        with suppress(asyncio.CancelledError):  # it is raised once the result is emitted
            await run_hooks_after(context, record, result)
    with suppress(asyncio.CancelledError):  # a finished call is reported even if the turn is cancelled
        await my_turn()
    await context.emit(result)
    if is_being_cancelled():  # not raised before: the call changed a file, or only waited to be reported
        raise asyncio.CancelledError


async def _outcome(context: RunContext, record: CallRecord) -> Outcome:
    """Return the outcome of the call, whatever its tool does."""
    name = record.asked.name
    try:
        try:
            await prepare(context, record)
        except ToolError as error:
            return Outcome(content=f"Error: {error}", is_error=True, from_outside=False)
        try:
            await authorize(context, record)
            return await execute(context, record)
        except ToolError as error:
            if record.plan is not None:
                await learn_quoted(error, record.plan, context.environment.workspace, context.memory.reads)
            raise
    except ToolError as error:
        return Outcome(content=f"Error: {await context.memory.secrets.masked_error(error)}", is_error=True)
    except DeniedError as denied:
        record.runs_hooks_after = False
        return Outcome(content=str(denied), is_error=True, is_denied=True, from_outside=denied.by == "hook")
    except asyncio.CancelledError:
        if is_being_cancelled():
            raise
        why = "an operation that it was waiting for was cancelled."
        return Outcome(content=f"Error: {name} failed: {why}", is_error=True)
    except (Exception, SystemExit) as error:  # a bug in a tool is reported to the model and does not end the turn
        why = limit_reached(error) or f"{type(error).__name__}: {error}"
        return Outcome(content=f"Error: {name} failed: {why}", is_error=True)


# Prepare


async def prepare(context: RunContext, record: CallRecord) -> None:
    """Validate the call's arguments, and restore secrets in what is to be written.

    Raises `ToolError` for an invalid call, and as `SessionSecrets.restored` does.
    """
    tool, call = record.tool, record.call
    if tool is None:
        known = ", ".join(each.name for each in context.tools.list_all()) or "none"
        why = context.tools.withheld.get(call.name)
        what = f"{call.name} {why}" if why else f"There is no tool named {call.name!r}"
        raise ToolError(f"{what}. Available tools: {known}.")
    if call.problem is not None:
        raise ToolError(with_schema(call.problem, tool.definition.schema))
    tool.check_paths(call.input)
    record.arguments = tool.validate(await context.memory.secrets.restored(call, tool))


async def _prepare_changed(context: RunContext, record: CallRecord, who: str) -> None:
    try:
        await prepare(context, record)
    except ToolError as error:
        raise ToolError(f"{who} changed the input of this call to an invalid one. {error}") from None


# Authorize


async def authorize(context: RunContext, record: CallRecord) -> None:
    """Let the user's hooks, the rules and the user decide whether the call may run. An input that they change is
    decided on like the model's. A tool that edits plans its edit here, so that the decision is about the plan.

    Raises `DeniedError`, and `ToolError` for a call that cannot be made.
    """
    for _ in range(MAX_INPUTS):
        if await run_hooks_before(context, record):
            record.has_users_input = False  # the user has not seen this one
            await _prepare_changed(context, record, "a hook")
        try:
            return await _authorize_input(context, record)
        except InputChangedError as changed:
            record.runs_hooks_after = False
            record.plan, record.changes, record.beside = None, (), ()
            record.has_users_input |= changed.by == "user"
            record.has_hooks_input |= changed.by != "user"
            await take_answered_input(context, record, changed.given, changed.by)
            await _prepare_changed(context, record, "a hook" if changed.by == "hook" else "the user")
    raise ToolError(f"{tool_of(record).name} was not run: a hook and the user's answers changed its input in turn.")


async def _authorize_input(context: RunContext, record: CallRecord) -> None:
    """Decide on the call with its current input. Raises `InputChangedError` if it may run with another input."""
    tool = tool_of(record)
    environment = context.environment
    commands = (environment.remote if tool.runs_commands else None) or environment.processes
    record.sandbox = await sandbox_for(tool, commands)
    verdict = await judge(context, record)
    record.context = _tool_context(context, record)
    if tool.plans_edit:
        record.runs_hooks_after = True  # unless the plan is denied
        plan = await _timed(record, record.context)
        if not isinstance(plan, EditPlan):
            raise TypeError(f"{tool.name} returned {type(plan).__name__}, not an edit plan")
        record.plan = plan = await formatted(context, plan)
        prepare_checks(context.environment, plan)
        verdict = await judge(context, record)
        record.changes = tuple(changes_of(plan, context.environment.workspace.shown))
        await context.memory.secrets.refuse_masks(record.changes)
        if verdict.decision == "ask":  # the user is not asked about an edit that cannot be applied
            await context.environment.workspace.check(plan)
    if verdict.decision == "ask":
        await ask_user(context, record)
    if not tool.plans_edit:
        record.context.sandboxed = await is_sandboxed(context, record)


def _tool_context(context: RunContext, record: CallRecord) -> ToolContext:
    environment, memory, tool, call = context.environment, context.memory, tool_of(record), record.call
    reading = memory.permissions.reading()
    live = record.live = memory.secrets.live(call, tool)

    async def report(content: str) -> None:
        if shown := await live.feed(content):
            await context.emit(ToolProgress(tool_id=call.id, content=shown))

    async def set_plan(entries: Sequence[PlanEntry]) -> None:
        masked = memory.secrets.masked
        kept = tuple([replace(each, content=await masked(each.content)) for each in entries])
        memory.plan.entries = kept
        await context.emit(PlanChanged(entries=kept))

    return ToolContext(
        tool_id=call.id,
        session_id=memory.session_id,
        turn_id=context.spec.turn_id,
        workspace=environment.workspace,
        processes=NoProcesses() if tool.plans_edit else environment.processes,
        remote=environment.remote if tool.runs_commands else None,
        working_directory=environment.working_directory,
        reads=memory.reads,
        report=report,
        outputs=memory.outputs,
        masks=memory.secrets.masks,
        shows_lines_of=env_file_of(call, tool),
        reading=reading,
        cacheable=not reading.rules,  # results are shared with sessions that have other rules
        web=environment.web,
        pictures=environment.pictures,
        search=environment.search,
        templates=environment.templates,
        skills=environment.skills,
        notes=environment.notes,
        symbols=environment.symbols,
        find_tools=context.tools.find,
        editor=environment.editor,
        language=environment.language,
        ask_user=partial(ask_questions, context, call.id),
        run_subagent=partial(context.run_subagent, call.id),
        set_plan=set_plan,
        judge_url=partial(judge_url, memory.permissions, tool),
    )


# Execute


async def execute(context: RunContext, record: CallRecord) -> Outcome:
    """Run the tool, apply its plan, or return its cached result."""
    tool_context = record.context
    assert tool_context is not None, "a call is authorized before"
    if record.plan is not None:
        return await _apply(context, record, record.plan)
    record.runs_hooks_after = True
    return await _cached(context, record, tool_context) or await _run(context, record, tool_context)


async def _cached(context: RunContext, record: CallRecord, tool_context: ToolContext) -> Outcome | None:
    cache, name, key = context.environment.cache, record.call.name, _cache_key(context, record)
    found = cache.get(name, key) if tool_context.cacheable else None
    if found is None:
        return None
    if not await _is_still_true(context, found):
        cache.drop(name, key)
        return None
    for document in found.shown:
        context.memory.reads.record(document)
    return Outcome(content=found.content, cached=True)


def _cache_key(context: RunContext, record: CallRecord) -> Mapping[str, Any]:
    """Return the key of the cached result: the call's input, and what this session masks. Sessions share results, but
    not what they know about secrets."""
    return {**record.call.input, "\0known": context.memory.secrets.masks.knowledge}


async def _is_still_true(context: RunContext, found: CachedResult) -> bool:
    workspace = context.environment.workspace
    for path, stamp in found.dependencies.items():
        if await workspace.stamp(path) != stamp:
            return False
    for folder, stamp in found.trees.items():
        if await workspace.tree_stamp(folder) != stamp:
            return False
    return True


async def _run(context: RunContext, record: CallRecord, tool_context: ToolContext) -> Outcome:
    tool, environment = tool_of(record), context.environment
    if tool.runs_programs:
        async with context.share.asking:  # it may ask the user too, and calls that only read run in parallel
            await environment.workspace.save_changes(tool.name)
    changes_files = tool.runs_programs and not tool.read_only
    if not tool.read_only:
        await context.memory.settle()
    try:
        async with _alone(context, record) if changes_files else nullcontext():
            record.has_begun = True
            content = await _timed(record, tool_context)
    finally:  # a call that failed or was cancelled may have written before
        if not tool.read_only:
            environment.cache.clear()
    if not isinstance(content, str):
        raise TypeError(f"{tool.name} returned {type(content).__name__}, not text")
    if tool.cacheable and tool_context.cacheable:
        result = CachedResult(
            content=content,
            dependencies=dict(tool_context.dependencies),
            trees=dict(tool_context.trees),
            shown=tuple(tool_context.shown),
        )
        environment.cache.set(tool.name, _cache_key(context, record), result, ttl_s=tool.ttl_s)
    record.images = tuple(tool_context.images)
    note = await _changed_note(context) if tool.runs_programs else ""
    return Outcome(content=content + note, exit_code=tool_context.exit_code)


@asynccontextmanager
async def _alone(context: RunContext, record: CallRecord) -> AsyncGenerator[None]:
    """Keep the rest of the turn from changing files meanwhile, and make what this program changes reversible."""
    named = named_by(record.call.input, context.environment.working_directory)
    title = tool_of(record).title_for(record.call.input)
    async with context.share.changing, context.checkpoints.around_program(title, named):
        yield


async def _changed_note(context: RunContext) -> str:
    """Return a note for the model about open documents whose files a program changed."""
    workspace = context.environment.workspace
    names = ", ".join(workspace.shown(path) for path in await workspace.changed_on_disk())
    return f"\n[changed on disk while open in the editor: {names}; read them again]" if names else ""


async def _timed(record: CallRecord, tool_context: ToolContext) -> str | EditPlan:
    tool = tool_of(record)
    limit = asyncio.timeout(tool.timeout_s)
    has_returned = False
    try:
        async with limit:
            returned = await tool.run(tool_context, **record.arguments)
        has_returned = True
        return returned
    except TimeoutError as error:
        if not limit.expired():
            raise ToolError(f"{tool.name} exceeded a time limit: {error}") from error
        raise ToolError(
            f"{tool.name} was stopped after {tool.timeout_s:g} s. Ask for less: a smaller folder or a narrower pattern."
        ) from None
    finally:
        if not has_returned:
            tool_context.take_back_reads()


async def _apply(context: RunContext, record: CallRecord, plan: EditPlan) -> Outcome:
    call, memory, workspace = record.call, context.memory, context.environment.workspace
    before = await check_before(context.environment, plan)
    tidy = await tidy_files(context.environment, plan)
    async with context.share.changing:
        await memory.settle()
        await context.checkpoints.before_change(tool_of(record).title_for(call.input))
        reviewed = ReviewedCall(session_id=memory.session_id, turn_id=context.spec.turn_id, tool_id=call.id)
        record.has_begun = True
        applied, stand = await make_edit(context, plan, record.changes, reviewed, tidy)
    memory.secrets.masks.moved(plan)
    said = await memory.secrets.requoted(told(applied, workspace.shown), quotes_of(applied))
    problems = await check_after(context.environment, applied.stands, before)
    return Outcome(content="\n".join(filter(None, (said, problems))), is_error=applied.is_nothing, changes=stand)
