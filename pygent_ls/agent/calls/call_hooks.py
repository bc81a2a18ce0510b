"""Hooks of a tool call: before it, when the user would be asked, and after it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pygent_ls.agent.calls.call_record import CallRecord, tool_call
from pygent_ls.agent.edits.named_paths import NamedPaths
from pygent_ls.agent.events import Notice, ToolResult
from pygent_ls.agent.hook_runner import MAX_SAID_CHARS, HookFacts, hook_block, masked_input
from pygent_ls.agent.kinds import DecidedBy, ToolCategory
from pygent_ls.agent.messages import TextBlock, ToolUseBlock
from pygent_ls.agent.ports.hooks import NOTHING, HookEvent, HookOutcome
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.truncation import cut
from pygent_ls.errors import ToolError


async def run_hooks_before(context: RunContext, record: CallRecord) -> bool:
    """Let hooks judge a call and change its input. Return whether they changed it."""
    call = record.call
    said = await context.hooks.fire("pre_tool_use", _facts_of(call))
    if said is NOTHING:
        return False
    record.hook = said
    if said.context:
        _remark(record, "pre_tool_use", said.context)
    if said.tool_input is None or said.tool_input == call.input or said.decision == "deny":
        return False
    await _change_input(context, record, said.tool_input, "pre_tool_use")
    return True


async def take_answered_input(context: RunContext, record: CallRecord, given: Mapping[str, Any], by: DecidedBy) -> None:
    """Give the call the input that the user or a hook put in place of the model's."""
    event: HookEvent | None = "permission_request" if by == "hook" else None
    await _change_input(context, record, await masked_input(context, given), event)


async def _change_input(
    context: RunContext, record: CallRecord, given: Mapping[str, Any], event: HookEvent | None
) -> None:
    """Change the input, report it to the client, and tell the model. Without an `event`, the user changed it."""
    call = record.call
    record.call = replace(call, input=given)
    await context.emit(tool_call(context, record))
    shown = cut(json.dumps(given, ensure_ascii=False), call.name, MAX_SAID_CHARS)[0]
    if event is not None:
        _remark(record, event, f"The input of this call was changed before it ran. The new input: {shown}")
    else:
        record.remarks.append(
            user_feedback(
                call.name, f"The user allowed this call but changed its input before it ran. The new input: {shown}"
            )
        )


async def hooks_answer(context: RunContext, record: CallRecord) -> HookOutcome:
    """Return what the `permission_request` hooks answer, before the user is asked whether the call may run."""
    return await context.hooks.fire("permission_request", _facts_of(record.call))


async def run_hooks_after(context: RunContext, record: CallRecord, result: ToolResult) -> None:
    """Run hooks after a call; their output stands beside its result. They may change files if the tool may, while the
    rest of the turn changes none."""
    call, tool = record.call, record.tool
    event: HookEvent = "post_tool_use_failure" if result.is_error else "post_tool_use"
    if not context.hooks.listens(event, call.name):
        return
    facts = _facts_of(call)
    if result.is_error:
        facts["error"] = result.content
    else:
        facts["tool_result"] = result.content
    if tool is None or tool.read_only or tool.category is ToolCategory.AGENT:
        _hear(record, event, await context.hooks.fire(event, facts))
        return
    workspace = context.environment.workspace
    stamps = {change.path: await workspace.stamp(change.path) for change in result.changes}
    _hear(record, event, await fire_on_saved_files(context, event, facts, stamps))
    changed = [path for path, stamp in stamps.items() if await workspace.stamp(path) != stamp]
    if names := ", ".join(map(workspace.shown, dict.fromkeys((*changed, *await workspace.changed_on_disk())))):
        _remark(record, event, f"It changed {names}. Read what you need again before you edit.")


async def fire_on_saved_files(
    context: RunContext, event: HookEvent, facts: HookFacts, about: Iterable[Path] = ()
) -> HookOutcome:
    """Fire an event whose hooks may read and change files: what the agent wrote is saved first, and the rest of the
    turn changes nothing meanwhile. Changes to the files of `about` are attributed to the hooks."""
    environment = context.environment
    try:
        async with context.share.changing:
            try:
                await environment.workspace.save_changes(f"the {event} hook")
            except ToolError as error:
                await context.emit(Notice(content=f"The {event} hooks were not run. {error}", level="warning"))
                return NOTHING
            named = NamedPaths(folder=environment.working_directory, paths=frozenset(about))
            async with context.checkpoints.around_program(f"the {event} hook", named):
                return await context.hooks.fire(event, facts)
    finally:
        environment.cache.clear()


def user_feedback(tool_name: str, text: str) -> TextBlock:
    """Return a block on what the user said about a call of that tool."""
    return TextBlock(text=f'<user-feedback about="{tool_name}">\n{text}\n</user-feedback>')


def _hear(record: CallRecord, event: HookEvent, said: HookOutcome) -> None:
    if said.decision == "deny":
        _remark(record, event, said.reason or "It objects to this call, but gave no reason.")
    if said.context:
        _remark(record, event, said.context)


def _remark(record: CallRecord, event: HookEvent, text: str) -> None:
    record.remarks.append(hook_block(event, text, f' about="{record.call.name}"'))


def _facts_of(call: ToolUseBlock) -> HookFacts:
    return {"tool_id": call.id, "tool_name": call.name, "tool_input": call.input}
