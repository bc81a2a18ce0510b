"""Permission for a tool call: the verdict of the rules, and the user's answer if the rules leave it open."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.calls.call_hooks import hooks_answer
from pygent_ls.agent.calls.call_record import CallRecord
from pygent_ls.agent.display_text import on_one_line, one_line, programs_of
from pygent_ls.agent.edits.diffs import touched_by
from pygent_ls.agent.events import Notice, PermissionDenied, PermissionRequested, PermissionResolved
from pygent_ls.agent.hook_runner import NO_REASON
from pygent_ls.agent.kinds import DecidedBy, Mode, ToolRisk
from pygent_ls.agent.permissions.answer import with_rules
from pygent_ls.agent.permissions.choices import graded_risk
from pygent_ls.agent.permissions.permissions import EDITS_ACCEPTED, Places, Verdict, narrowest_rules, subjects_of
from pygent_ls.agent.permissions.prefix_rules import prefix_rules
from pygent_ls.agent.permissions.sandbox_consent import confinement_of, question_about
from pygent_ls.agent.permissions.shell_reads import reads_of
from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionRequest
from pygent_ls.agent.ports.questioner import AnswerChoice, Question, QuestionAnswer
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.agent.rules.read_rules import FileRead
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.telemetry import PermissionSpan, observed
from pygent_ls.agent.tools.tool import Tool, cd_prefix
from pygent_ls.errors import ToolError

MAX_WHY_CHARS = 300
"""Maximum characters of a hook's reason in a prompt: three lines, so that the question itself stays in sight."""


class DeniedError(Exception):
    """The call may not run. The model reads the text; `by` says who denied the call, and so whose words the text
    quotes."""

    def __init__(self, text: str, by: DecidedBy, reason: str, feedback: str = "") -> None:
        super().__init__(text)
        self.by = by
        self.reason = reason
        self.feedback = feedback
        """What the user said."""


class InputChangedError(Exception):
    """The call may run, but with an input that the user or a hook put in place of the model's."""

    def __init__(self, given: Mapping[str, Any], by: DecidedBy) -> None:
        super().__init__()
        self.given = given
        self.by: DecidedBy = by


class _Prompt(Struct, frozen=True, kw_only=True):
    action: str
    rules: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()
    verdict: Callable[[], Verdict] | None = None
    """Returns the current verdict of the rules and the mode; None if only the user can decide."""
    confinement: str = ""
    prefix_rules: tuple[str, ...] = ()
    covers_session: str = ""
    offers_accept_edits: bool = False
    needs_person: bool = False


async def judge(context: RunContext, record: CallRecord) -> Verdict:
    """Return the verdict of the rules alone: allow or ask. With a plan, it covers all that the plan writes: a plan may
    contain files that no argument names. Raises `DeniedError`."""
    if record.plan is not None:
        named = set(_paths(context, record))
        record.beside = tuple(path for path in touched_by(record.plan) if path not in named)
    verdict = _verdict(context, record)
    if verdict.decision == "deny":
        raise await _denied(context, record, verdict.reason, verdict.by)
    return verdict


async def ask_user(context: RunContext, record: CallRecord) -> None:
    """Ask the user whether the call may run, one question at a time. Raises `DeniedError`, and `InputChangedError`."""
    tool = tool_of(record)
    async with context.share.asking:
        verdict = _verdict(context, record)  # the answer to the previous question may settle this one
        if verdict.decision == "allow":
            return
        if verdict.decision == "deny":
            raise await _denied(context, record, verdict.reason, verdict.by)
        if record.has_users_input:
            return
        subjects = _subjects(context, record)
        prompt = _Prompt(
            action=_programs(record) + _action(record) + _why_asked(verdict),
            rules=narrowest_rules(tool, subjects),
            prefix_rules=prefix_rules(tool, subjects),
            changes=record.changes,
            verdict=partial(_verdict, context, record),
            confinement="" if tool.plans_edit else confinement_of(tool, record.sandbox),
            offers_accept_edits=_could_accept_edits(context, record),
            needs_person=verdict.needs_person,
        )
        answer = await _question(context, record, prompt)
        permissions = context.memory.permissions
        permissions.remember(answer.rules or (), answer)
        if answer.accepts_edits and permissions.is_mode_allowed("accept_edits"):
            permissions.set_mode("accept_edits")
            context.memory.mode_changed()
    await _check_allowed(context, record, answer)
    _check_same_input(record, answer)


async def is_sandboxed(context: RunContext, record: CallRecord) -> bool:
    """Whether the call runs in the sandbox. If the sandbox fails, the user is asked. Raises as `ask_user` does."""
    consent = context.environment.consent
    if record.sandbox.kind == "failed" and not consent.given:
        async with context.share.asking:
            prompt = _Prompt(
                action=question_about(record.sandbox, tool_of(record).action_for(record.call.input)),
                confinement="not sandboxed",
                covers_session="every command in this session that would be sandboxed",
            )
            answer = await _question(context, record, prompt)
        await _check_allowed(context, record, answer)
        consent.given = answer.outcome != "allow_once"
        _check_same_input(record, answer)
    return record.sandbox.kind == "on"


async def ask_questions(
    context: RunContext, tool_id: str, text: str, choices: Sequence[AnswerChoice]
) -> QuestionAnswer:
    """Ask the user a question of a call's own, one at a time across all calls."""
    share, source = context.share, context.spec.source
    question = Question(
        question_id=f"{context.spec.turn_id}-q{next(share.question_ids)}",
        session_id=context.memory.session_id,
        tool_id=tool_id,
        text=text + (f" ({source})" if source else ""),
        choices=tuple(choices),
    )
    async with share.asking:
        with share.user_times.waiting(tool_id):
            return await context.environment.questioner.ask(question)


def tool_of(record: CallRecord) -> Tool:
    """Return the tool of a prepared call."""
    assert record.tool is not None, "a call without a tool is refused before"
    return record.tool


# The verdict of the rules


def _could_accept_edits(context: RunContext, record: CallRecord) -> bool:
    """Whether the mode `accept_edits` would allow the call, and the current mode, the next stricter one, asks."""
    permissions = context.memory.permissions
    is_edit = record.call.name in EDITS_ACCEPTED and permissions.mode == "default"
    return (
        is_edit
        and permissions.is_mode_allowed("accept_edits")
        and _verdict(context, record, as_if="accept_edits").decision == "allow"
    )


def _verdict(context: RunContext, record: CallRecord, as_if: Mode | None = None) -> Verdict:
    tool, given = tool_of(record), record.call.input
    folder = context.environment.working_directory.as_posix()
    paths = _paths(context, record)
    places = Places(
        paths=tuple(path.as_posix() for path in paths),
        spelled=tuple(posixpath.normpath(path) for path in tool.paths_in(given) if tool.name != "shell"),
        folder=folder,
        reads=_reads(context, record),
        are_held=record.sandbox.kind == "on",
    )
    decide = partial(context.memory.permissions.decide, ceiling=context.spec.ceiling, as_if=as_if)
    verdict = decide(tool, _subjects(context, record, paths), places, record.hook)
    for path in record.beside:
        name = context.environment.workspace.shown(path)
        verdict = _stricter(verdict, decide(tool, (name,), Places(paths=(path.as_posix(),), folder=folder)), name)
    if tool.command_argument and (line := str(given.get(tool.command_argument, ""))):
        line = cd_prefix(given) + line
        runs = replace(tool, name="shell", risk=ToolRisk.HIGH, read_only=False)
        places = Places(folder=folder, reads=_reads_of(context, line))
        verdict = _stricter(verdict, decide(runs, (line,), places), "its command")
    return verdict


def _reads(context: RunContext, record: CallRecord) -> tuple[FileRead, ...]:
    """Return what a command may show of files, if any rule is about reading them."""
    if record.call.name != "shell":
        return ()
    (line,) = _subjects(context, record)
    return _reads_of(context, line)


def _reads_of(context: RunContext, line: str) -> tuple[FileRead, ...]:
    if not context.memory.permissions.reading().rules:
        return ()
    return reads_of(line, context.environment.working_directory, context.environment.workspace)


def _paths(context: RunContext, record: CallRecord) -> list[Path]:
    tool = tool_of(record)
    follow = tool.kind not in ("delete", "move")
    found: list[Path] = []
    for path in tool.paths_in(record.call.input):
        try:
            found.append(context.environment.workspace.resolve(path, follow=follow))
        except ToolError:
            if tool.stays_in_workspace:
                raise
            found.append(Path(posixpath.normpath(context.environment.working_directory / path)))
    return found


def _subjects(context: RunContext, record: CallRecord, paths: Sequence[Path] | None = None) -> tuple[str, ...]:
    """Return what rules about the call match; `paths` are its paths if they are resolved already."""
    paths = _paths(context, record) if paths is None else paths
    names = [context.environment.workspace.shown(path) for path in paths]
    return subjects_of(tool_of(record), record.call.input, names)


def _stricter(verdict: Verdict, of_file: Verdict, name: str) -> Verdict:
    """Return the verdict for a call that also writes this file. A rule that allows the call covers its files; a mode
    that allows the call may still ask about the file. A rule that asks about the file also replaces a question of the
    mode, which a hook could answer."""
    needs_person = verdict.needs_person or of_file.needs_person
    match of_file.decision:
        case "deny":
            return verdict if verdict.decision == "deny" else replace(of_file, reason=f"{name}: {of_file.reason}")
        case "ask" if verdict.decision != "deny" and verdict.by == "mode":
            return replace(of_file, needs_person=needs_person)
        case "ask" if verdict.decision == "allow" and of_file.by == "rule":
            return replace(of_file, needs_person=needs_person)
        case "ask" | "allow":
            return replace(verdict, needs_person=needs_person)


# The answer of the user or of a hook


async def _question(context: RunContext, record: CallRecord, prompt: _Prompt) -> PermissionAnswer:
    """Ask the user one question, and emit events when it is asked and when it is answered."""
    tool, call = tool_of(record), record.call
    permission_id = f"{context.spec.turn_id}-p{next(context.share.permission_ids)}"
    await context.emit(PermissionRequested(permission_id=permission_id, tool_id=call.id))
    span = PermissionSpan(session_id=context.memory.session_id, call=call)
    try:
        with observed(context.environment.telemetry, span):
            given = await _hooks_permission(context, record, prompt.verdict)
            given = given or await _users_permission(
                context, await _request(context, record, prompt, permission_id), prompt.verdict
            )
            span.answer, problem = with_rules(given, prompt.rules, tool, _subjects(context, record))
            if problem:
                await context.emit(Notice(content=problem, level="warning"))
            if span.answer.allowed and span.answer.feedback:
                record.feedback = await context.memory.secrets.masked(span.answer.feedback)
    finally:  # every request is resolved, even if the turn is cancelled
        outcome, by = span.answer.outcome, span.answer.by
        await context.emit(PermissionResolved(permission_id=permission_id, tool_id=call.id, outcome=outcome, by=by))
    return span.answer


async def _request(context: RunContext, record: CallRecord, prompt: _Prompt, permission_id: str) -> PermissionRequest:
    tool, call, masked = tool_of(record), record.call, context.memory.secrets.masked
    return PermissionRequest(
        permission_id=permission_id,
        session_id=context.memory.session_id,
        turn_id=context.spec.turn_id,
        tool_id=call.id,
        tool_name=tool.name,
        input=call.input,
        risk=tool.risk,
        action=await masked(prompt.action),
        rules=prompt.rules,
        source=context.spec.source,
        changes=await context.memory.secrets.masked_changes(prompt.changes, with_texts=True),
        title=tool.title_for(call.input),
        kind=tool.kind,
        read_only=tool.read_only,
        paths=tuple(_paths(context, record)),
        description=await masked(_description(record)),
        confinement=prompt.confinement,
        severity=graded_risk(tool, _subjects(context, record)),
        prefix_rules=prompt.prefix_rules,
        covers_session=prompt.covers_session,
        offers_accept_edits=prompt.offers_accept_edits,
        needs_person=prompt.needs_person,
    )


async def _hooks_permission(
    context: RunContext, record: CallRecord, verdict: Callable[[], Verdict] | None
) -> PermissionAnswer | None:
    """Return the hooks' answer in place of the user's; None if the user is to be asked. Hooks may deny anything, but
    allow only a call that the mode alone asks about: no rule, no earlier hook, and not the sandbox. An input that they
    give is judged like the model's."""
    said = await hooks_answer(context, record)
    if said.decision == "deny":
        return PermissionAnswer(outcome="reject_once", feedback=said.reason, by="hook")
    if said.decision == "allow" and verdict is not None and _is_open_by_mode(verdict()):
        given = None if record.has_hooks_input else said.tool_input
        return PermissionAnswer(outcome="allow_once", input=given, by="hook")
    return None


async def _users_permission(
    context: RunContext, request: PermissionRequest, verdict: Callable[[], Verdict] | None
) -> PermissionAnswer:
    """Return the user's answer. If a change of the mode or the rules settles the question meanwhile, it is withdrawn,
    and their verdict is the answer."""
    approver = context.environment.approver
    with context.share.user_times.waiting(request.tool_id):
        while verdict is not None:
            settled = verdict()  # mode and rules may also have changed while hooks ran
            if settled.decision != "ask":
                outcome = "allow_once" if settled.decision == "allow" else "reject_once"
                return PermissionAnswer(outcome=outcome, feedback=settled.reason, by=settled.by)
            is_settled = asyncio.timeout(None)
            try:
                async with is_settled:
                    with context.memory.permissions.watched(partial(_look_again, is_settled, verdict)):
                        return await approver.approve(request)
            except TimeoutError:
                if not is_settled.expired():
                    raise
        return await approver.approve(request)


def _look_again(is_settled: asyncio.Timeout, verdict: Callable[[], Verdict]) -> None:
    """End the wait for the user if the mode and the rules have settled the question."""
    with suppress(ToolError):  # a path that now leads elsewhere: the user decides, and the tool reports it
        if not is_settled.expired() and is_settled.when() is None and verdict().decision != "ask":
            is_settled.reschedule(asyncio.get_running_loop().time())


async def _check_allowed(context: RunContext, record: CallRecord, answer: PermissionAnswer) -> None:
    """Raise `DeniedError` if the answer is no."""
    if not answer.allowed:
        said = answer.feedback if answer.by == "user" else ""
        raise await _denied(context, record, _why_rejected(answer), answer.by, said)


def _check_same_input(record: CallRecord, answer: PermissionAnswer) -> None:
    """Raise `InputChangedError` if the answer has another input."""
    if answer.input is not None and dict(answer.input) != dict(record.call.input):
        raise InputChangedError(answer.input, answer.by)


def _is_open_by_mode(verdict: Verdict) -> bool:
    return verdict.decision == "ask" and verdict.by == "mode"


async def _denied(
    context: RunContext, record: CallRecord, reason: str, by: DecidedBy, feedback: str = ""
) -> DeniedError:
    call = record.call
    if by == "hook":
        reason = f"a hook configured by the user denied it: {reason or NO_REASON}"
    await context.emit(PermissionDenied(tool_id=call.id, tool_name=call.name, reason=reason))
    text = (
        f"Permission denied: {reason.rstrip('.')}. {call.name} was not run and nothing was changed. Do not "
        "attempt the same thing another way. Continue without it, or ask what to do instead."
    )
    return DeniedError(text, by, reason, feedback)


# What the user reads


def _action(record: CallRecord) -> str:
    """Return what the user is asked to allow; an edit with the number of its lines."""
    action, changes = tool_of(record).action_for(record.call.input), record.changes
    if record.plan is None:
        return action
    return action + f" (+{sum(c.added for c in changes)} −{sum(c.removed for c in changes)})"


def _description(record: CallRecord) -> str:
    """Return the purpose that the model states for a command, on one line."""
    return one_line(record.call.input.get("description", "")) if record.call.name == "shell" else ""


def _programs(record: CallRecord) -> str:
    return programs_of(str(record.call.input.get("command", ""))) if record.call.name == "shell" else ""


def _why_asked(verdict: Verdict) -> str:
    """Return the note that a hook requires confirmation; empty if the rules or the mode ask."""
    if verdict.by != "hook":
        return ""
    why = on_one_line(verdict.reason)[:MAX_WHY_CHARS]
    return f" [a hook requires your confirmation{': ' if why else ''}{why}]"


def _why_rejected(answer: PermissionAnswer) -> str:
    if answer.by != "user":
        return answer.feedback
    return "the user rejected it." + (f" They said: {answer.feedback}" if answer.feedback else "")
