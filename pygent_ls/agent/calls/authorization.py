"""Permission for tool calls: the verdict of the rules, and the user's answer if the rules leave it open."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pygent_ls.agent.calls.turn_hooks import NO_REASON, TurnHooks
from pygent_ls.agent.display_text import on_one_line, one_line, programs_of
from pygent_ls.agent.edits.diffs import touched_by
from pygent_ls.agent.events import AgentEvent, Notice, PermissionDenied, PermissionRequested, PermissionResolved
from pygent_ls.agent.kinds import DecidedBy, Mode
from pygent_ls.agent.messages import TextBlock, ToolUseBlock
from pygent_ls.agent.permissions.answer import with_rules
from pygent_ls.agent.permissions.choices import graded_risk
from pygent_ls.agent.permissions.permissions import (
    EDITS_ACCEPTED,
    Permissions,
    Places,
    Verdict,
    narrowest_rules,
    subjects_of,
)
from pygent_ls.agent.permissions.prefix_rules import prefix_rules
from pygent_ls.agent.permissions.sandbox_consent import SandboxConsent, question_about
from pygent_ls.agent.permissions.shell_reads import reads_of
from pygent_ls.agent.ports.approver import Approver, PermissionAnswer, PermissionRequest
from pygent_ls.agent.ports.questioner import AnswerChoice, AskUser, Question, QuestionAnswer, Questioner
from pygent_ls.agent.ports.subagents import CallScope
from pygent_ls.agent.ports.workspace import EditPlan, FileChange, SandboxState, Workspace
from pygent_ls.agent.rules.read_rules import FileRead
from pygent_ls.agent.telemetry import PermissionSpan, Telemetry, no_telemetry, observed
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.errors import ToolError

MAX_WHY_CHARS = 300
"""Maximum characters of a hook's reason in a prompt: three lines, so that the question itself stays in sight."""


class DeniedError(Exception):
    """The call may not run. The model reads the text; `by` says who denied the call, and so whose words the text
    quotes."""

    def __init__(self, text: str, by: DecidedBy) -> None:
        super().__init__(text)
        self.by = by


class InputChangedError(Exception):
    """The call may run, but with an input that the user or a hook put in place of the model's."""

    def __init__(self, given: Mapping[str, Any], by: DecidedBy) -> None:
        super().__init__()
        self.given = given
        self.by: DecidedBy = by


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prompt:
    action: str
    rules: tuple[str, ...] = ()
    changes: tuple[FileChange, ...] = ()
    verdict: Callable[[], Verdict] | None = None
    """Returns the current verdict of the rules and the mode; None if only the user can decide."""
    confinement: str = ""
    prefix_rules: tuple[str, ...] = ()
    covers_session: str = ""
    offers_accept_edits: bool = False


@dataclass(kw_only=True)
class Authorization:
    """Judges the calls of one turn, and asks the user about those that the rules leave open."""

    session_id: str
    turn_id: str
    emit: Callable[[AgentEvent], Awaitable[None]]
    workspace: Workspace
    approver: Approver
    permissions: Permissions
    consent: SandboxConsent
    questioner: Questioner
    secrets: SessionSecrets
    working_directory: Path
    hooks: TurnHooks
    standing: CallScope = field(default_factory=CallScope)
    telemetry: Telemetry = no_telemetry
    mode_changed: Callable[[], None]
    _held_in: set[str] = field(default_factory=set[str])
    """Ids of the calls that run in the sandbox."""
    _said: dict[str, str] = field(default_factory=dict[str, str])
    """What the user said when they allowed a call, by the call's id."""
    _granted: set[str] = field(default_factory=set[str])
    """Ids of calls whose input the user replaced; the user is not asked about them again."""
    _changed_by_hooks: set[str] = field(default_factory=set[str])
    """Ids of calls whose input a hook replaced in place of the user. A hook may do so once per call, which bounds the
    rounds."""
    _beside: dict[str, tuple[Path, ...]] = field(default_factory=dict[str, tuple[Path, ...]])
    """Files of a call's plan that its arguments do not name, by the call's id."""

    @property
    def one_at_a_time(self) -> asyncio.Lock:
        """Lock held while the user is asked anything: calls and subagents run in parallel, questions do not."""
        return self.standing.share.asking

    async def judged(self, tool: Tool, call: ToolUseBlock, sandbox: SandboxState) -> Verdict:
        """Return the verdict of the rules alone: allow or ask. Raises `DeniedError`."""
        if sandbox.kind == "on":
            self._held_in.add(call.id)
        verdict = self._verdict(tool, call)
        if verdict.decision == "deny":
            raise await self._denied(call, verdict.reason, verdict.by)
        return verdict

    async def ask(
        self,
        tool: Tool,
        call: ToolUseBlock,
        *,
        action: str,
        changes: Sequence[FileChange] = (),
        confinement: str = "",
    ) -> None:
        """Ask the user, one question at a time. Raises `DeniedError`, and `InputChangedError`."""
        async with self.one_at_a_time:
            verdict = self._verdict(tool, call)  # the answer to the previous question may settle this one
            if verdict.decision == "allow":
                return
            if verdict.decision == "deny":
                raise await self._denied(call, verdict.reason, verdict.by)
            if call.id in self._granted:
                return
            subjects = self._subjects(tool, call.input)
            prompt = _Prompt(
                action=_programs(tool, call) + action + _why_asked(verdict),
                rules=narrowest_rules(tool, subjects),
                prefix_rules=prefix_rules(tool, subjects),
                changes=tuple(changes),
                verdict=partial(self._verdict, tool, call),
                confinement=confinement,
                offers_accept_edits=self._could_accept_edits(tool, call),
            )
            answer = await self._question(tool, call, prompt)
            self.permissions.remember(answer.rules or (), answer)
            if answer.accepts_edits:
                self.permissions.set_mode("accept_edits")
                self.mode_changed()
        if not answer.allowed:
            raise await self._denied(call, _why_rejected(answer), answer.by)
        self._check_same(call, answer)

    def _could_accept_edits(self, tool: Tool, call: ToolUseBlock) -> bool:
        """Whether the mode `accept_edits` would allow the call, and the current mode, the next stricter one, asks."""
        is_edit = tool.name in EDITS_ACCEPTED and self.permissions.mode == "default"
        return is_edit and self._verdict(tool, call, as_if="accept_edits").decision == "allow"

    def _check_same(self, call: ToolUseBlock, answer: PermissionAnswer) -> None:
        if answer.input is not None and dict(answer.input) != dict(call.input):
            (self._granted if answer.by == "user" else self._changed_by_hooks).add(call.id)
            raise InputChangedError(answer.input, answer.by)

    async def is_sandboxed(self, tool: Tool, call: ToolUseBlock, state: SandboxState) -> bool:
        """Whether the call runs in the sandbox. If the sandbox fails, the user is asked. Raises as `ask` does."""
        if state.kind == "failed" and not self.consent.given:
            async with self.one_at_a_time:
                prompt = _Prompt(
                    action=question_about(state, tool.action_for(call.input)),
                    confinement="not sandboxed",
                    covers_session="every command in this session that would be sandboxed",
                )
                answer = await self._question(tool, call, prompt)
            if not answer.allowed:
                raise await self._denied(call, _why_rejected(answer), answer.by)
            self.consent.given = answer.outcome != "allow_once"
            self._check_same(call, answer)
        return state.kind == "on"

    async def judged_plan(self, tool: Tool, call: ToolUseBlock, plan: EditPlan) -> Verdict:
        """Judge a call again, by all that it writes: a plan may hold files that no argument names.

        Raises `DeniedError`.
        """
        named = set(self._paths(tool, call.input))
        self._beside[call.id] = tuple(path for path in touched_by(plan) if path not in named)
        verdict = self._verdict(tool, call)
        if verdict.decision == "deny":
            raise await self._denied(call, verdict.reason, verdict.by)
        return verdict

    def questions_of(self, tool_id: str) -> AskUser:
        """Return the function with which one call asks the user its own questions, one at a time across all calls."""

        async def ask(text: str, choices: Sequence[AnswerChoice]) -> QuestionAnswer:
            question = Question(
                question_id=f"{self.turn_id}-q{next(self.standing.share.question_ids)}",
                session_id=self.session_id,
                tool_id=tool_id,
                text=text + self._who,
                choices=tuple(choices),
            )
            async with self.one_at_a_time:
                with self.standing.share.user_times.waiting(tool_id):
                    return await self.questioner.ask(question)

        return ask

    @property
    def _who(self) -> str:
        """Suffix of a question that names the subagent that asks; empty for the turn itself."""
        return f" ({self.standing.source})" if self.standing.source else ""

    def remarks_on(self, calls: Sequence[ToolUseBlock]) -> Iterator[TextBlock]:
        """Yield what the user said when they allowed these calls, for the model to read with their results."""
        for call in calls:
            if said := self._said.pop(call.id, ""):
                text = f"The user allowed this call and said: {said}"
                yield TextBlock(text=f'<user-feedback about="{call.name}">\n{text}\n</user-feedback>')

    def _verdict(self, tool: Tool, call: ToolUseBlock, as_if: Mode | None = None) -> Verdict:
        given = call.input
        places = Places(
            paths=tuple(path.as_posix() for path in self._paths(tool, given)),
            spelled=tuple(posixpath.normpath(path) for path in tool.paths_in(given) if tool.name != "shell"),
            folder=self.working_directory.as_posix(),
            reads=self._reads(tool, given),
            are_held=call.id in self._held_in,
        )
        decide = partial(self.permissions.decide, ceiling=self.standing.ceiling, as_if=as_if)
        verdict = decide(tool, self._subjects(tool, given), places, self.hooks.word_on(call))
        for path in self._beside.get(call.id, ()):
            name, place = self.workspace.shown(path), Places(paths=(path.as_posix(),), folder=places.folder)
            verdict = _stricter(verdict, decide(tool, (name,), place), name)
        return verdict

    def _reads(self, tool: Tool, given: Mapping[str, Any]) -> tuple[FileRead, ...]:
        """Return what a command may show of files, if any rule is about reading them."""
        if tool.name != "shell" or not self.permissions.reading().rules:
            return ()
        (line,) = self._subjects(tool, given)
        return reads_of(line, self.working_directory, self.workspace)

    def _paths(self, tool: Tool, given: Mapping[str, Any]) -> list[Path]:
        follow = tool.kind not in ("delete", "move")
        return [self.workspace.resolve(path, follow=follow) for path in tool.paths_in(given)]

    def _subjects(self, tool: Tool, given: Mapping[str, Any]) -> tuple[str, ...]:
        return subjects_of(tool, given, [self.workspace.shown(path) for path in self._paths(tool, given)])

    async def _question(self, tool: Tool, call: ToolUseBlock, prompt: _Prompt) -> PermissionAnswer:
        """Ask the user one question, and emit events when it is asked and when it is answered."""
        permission_id = f"{self.turn_id}-p{next(self.standing.share.permission_ids)}"
        await self.emit(PermissionRequested(permission_id=permission_id, tool_id=call.id))
        span = PermissionSpan(session_id=self.session_id, call=call)
        try:
            with observed(self.telemetry, span):
                given = await self._given(tool, call, prompt, permission_id)
                span.answer, problem = with_rules(given, prompt.rules, tool, self._subjects(tool, call.input))
                if problem:
                    await self.emit(Notice(content=problem, level="warning"))
                if span.answer.allowed and span.answer.feedback:
                    self._said[call.id] = await self.secrets.masked(span.answer.feedback)
        finally:  # every request is resolved, even if the turn is cancelled
            outcome, by = span.answer.outcome, span.answer.by
            await self.emit(PermissionResolved(permission_id=permission_id, tool_id=call.id, outcome=outcome, by=by))
        return span.answer

    async def _given(self, tool: Tool, call: ToolUseBlock, prompt: _Prompt, permission_id: str) -> PermissionAnswer:
        """Return the answer of the hooks, or else of the user."""
        request = PermissionRequest(
            permission_id=permission_id,
            session_id=self.session_id,
            turn_id=self.turn_id,
            tool_id=call.id,
            tool_name=tool.name,
            input=call.input,
            risk=tool.risk,
            action=await self.secrets.masked(prompt.action),
            rules=prompt.rules,
            source=self.standing.source,
            changes=await self.secrets.masked_changes(prompt.changes, with_texts=True),
            title=tool.title_for(call.input),
            kind=tool.kind,
            read_only=tool.read_only,
            paths=tuple(self._paths(tool, call.input)),
            description=await self.secrets.masked(_description(tool, call)),
            confinement=prompt.confinement,
            severity=graded_risk(tool, self._subjects(tool, call.input)),
            prefix_rules=prompt.prefix_rules,
            covers_session=prompt.covers_session,
            offers_accept_edits=prompt.offers_accept_edits,
        )
        if said := await self._hooks_answer(call, prompt.verdict):
            return said
        with self.standing.share.user_times.waiting(call.id):
            return await self._answer(request, prompt.verdict)

    async def _hooks_answer(self, call: ToolUseBlock, verdict: Callable[[], Verdict] | None) -> PermissionAnswer | None:
        """Return the hooks' answer in place of the user's; None if the user is to be asked. Hooks may deny anything,
        but allow only a call that the mode alone asks about: no rule, no earlier hook, and not the sandbox. An input
        that they give is judged like the model's."""
        said = await self.hooks.asked(call)
        if said.decision == "deny":
            return PermissionAnswer(outcome="reject_once", feedback=said.reason, by="hook")
        if said.decision == "allow" and verdict is not None and _is_open_by_mode(verdict()):
            given = None if call.id in self._changed_by_hooks else said.tool_input
            return PermissionAnswer(outcome="allow_once", input=given, by="hook")
        return None

    async def _answer(self, request: PermissionRequest, verdict: Callable[[], Verdict] | None) -> PermissionAnswer:
        """Return the user's answer. If a change of the mode or the rules settles the question meanwhile, it is
        withdrawn, and their verdict is the answer."""
        while verdict is not None:
            settled = verdict()  # mode and rules may also have changed while hooks ran
            if settled.decision != "ask":
                outcome = "allow_once" if settled.decision == "allow" else "reject_once"
                return PermissionAnswer(outcome=outcome, feedback=settled.reason, by=settled.by)
            is_settled = asyncio.timeout(None)
            try:
                async with is_settled:
                    with self.permissions.watched(partial(_look_again, is_settled, verdict)):
                        return await self.approver.approve(request)
            except TimeoutError:
                if not is_settled.expired():
                    raise
        return await self.approver.approve(request)

    async def _denied(self, call: ToolUseBlock, reason: str, by: DecidedBy) -> DeniedError:
        if by == "hook":
            reason = f"a hook configured by the user denied it: {reason or NO_REASON}"
        await self.emit(PermissionDenied(tool_id=call.id, tool_name=call.name, reason=reason))
        text = (
            f"Permission denied: {reason.rstrip('.')}. {call.name} was not run and nothing was changed. Do not "
            "attempt the same thing another way. Continue without it, or ask what to do instead."
        )
        return DeniedError(text, by)


def _look_again(is_settled: asyncio.Timeout, verdict: Callable[[], Verdict]) -> None:
    """End the wait for the user if the mode and the rules have settled the question."""
    with suppress(ToolError):  # a path that now leads elsewhere: the user decides, and the tool reports it
        if not is_settled.expired() and is_settled.when() is None and verdict().decision != "ask":
            is_settled.reschedule(asyncio.get_running_loop().time())


def _is_open_by_mode(verdict: Verdict) -> bool:
    return verdict.decision == "ask" and verdict.by == "mode"


def _stricter(verdict: Verdict, of_file: Verdict, name: str) -> Verdict:
    """Return the verdict for a call that also writes this file. A rule that allows the call covers its files; a mode
    that allows the call may still ask about the file."""
    match of_file.decision:
        case "deny":
            return verdict if verdict.decision == "deny" else replace(of_file, reason=f"{name}: {of_file.reason}")
        case "ask" if verdict.decision == "allow" and (of_file.by == "rule" or verdict.by == "mode"):
            return of_file
        case "ask" | "allow":
            return verdict


def _description(tool: Tool, call: ToolUseBlock) -> str:
    """Return the purpose that the model states for a command, on one line."""
    return one_line(call.input.get("description", "")) if tool.name == "shell" else ""


def _programs(tool: Tool, call: ToolUseBlock) -> str:
    return programs_of(str(call.input.get("command", ""))) if tool.name == "shell" else ""


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
