"""The turn that an external agent runs, as its host: conversation, calls, permissions, edits and commands."""

from __future__ import annotations

import asyncio
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from pygent_ls.agent.calls.authorization import DeniedError, judge
from pygent_ls.agent.calls.call_hooks import run_hooks_after, user_feedback
from pygent_ls.agent.calls.call_record import CallRecord, tool_call
from pygent_ls.agent.calls.executor import authorize, prepare
from pygent_ls.agent.calls.results import Outcome, finalize
from pygent_ls.agent.edits.commit import is_being_cancelled, to_its_end
from pygent_ls.agent.edits.named_paths import named_by
from pygent_ls.agent.events import (
    ModelAnswered,
    Notice,
    PlanChanged,
    PlanEntry,
    ToolCall,
    ToolProgress,
    UsageReported,
)
from pygent_ls.agent.external_agent import (
    CHANGES_NO_FILE,
    READS,
    AgentSession,
    ExternalCall,
    ExternalModel,
    ExternalPrompt,
    OutputOfRun,
    ProposedText,
)
from pygent_ls.agent.kinds import StopReason
from pygent_ls.agent.messages import (
    ToolUseBlock,
    Usage,
    user_message,
)
from pygent_ls.agent.permissions.permissions import Verdict
from pygent_ls.agent.ports.processes import ProcessSpec
from pygent_ls.agent.ports.questioner import AnswerChoice, Question, QuestionAnswered
from pygent_ls.agent.ports.workspace import MISSING, EditPlan, FileChange, WriteText
from pygent_ls.agent.tools.tool import ToolContext, ToolFunction
from pygent_ls.agent.turn.external.answer import ExternalAnswer
from pygent_ls.agent.turn.external.conversation import heard
from pygent_ls.agent.turn.external.edits import ExternalEdits
from pygent_ls.agent.turn.external.tools import OUR_OWN, ExternalTool, id_of, input_of, resolved, tool_for
from pygent_ls.agent.turn.limits import Stop
from pygent_ls.agent.turn.pauses import Pauses
from pygent_ls.agent.turn.state import Steering, TurnState
from pygent_ls.agent.turn.tool_calls import CANCELLED_RESULT
from pygent_ls.errors import ToolError

GO_ON = "Continue."
"""Prompt that lets an agent continue that was stopped at a limit."""

MAX_CALLS = 10_000
"""Maximum number of calls of one turn that are shown: an agent that makes more does not stop by itself."""

END_S = 10.0
"""Seconds that the end of a cancelled turn may take: its last changes are recorded, so that they can be undone."""

NOT_ENDED = "The agent's turn ended before it reported the end of this call."

NO_OUTPUT = "(no output)"


class _ShownCall(Struct, kw_only=True, eq=False):
    record: CallRecord
    call: ExternalCall
    began_s: float
    announced: ToolCall | None = None
    seen: str = ""
    """Output that was shown."""
    denied: str = ""
    was_asked: bool = False
    is_sandboxed: bool = True
    granted: dict[Path, str] = field(default_factory=dict[Path, str])
    """Texts that the user permitted to be written, each once."""
    changes: list[FileChange] = field(default_factory=list[FileChange])
    """Edits that were made for it."""


@dataclass(kw_only=True, eq=False)
class ExternalTurn:
    """Implements `AgentHost` for one prompt."""

    state: TurnState
    pauses: Pauses
    model: ExternalModel
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        self._edits = ExternalEdits(state=self.state, agent=self.model.agent.label)
        self._calls: dict[str, _ShownCall] = {}
        self._ended: set[str] = set()
        self._paths: set[Path] = set()
        self._taken_ids = self.state.taken_ids()
        self._n_calls = self._n_own = 0
        self._answer = ExternalAnswer(state=self.state, model=self.model.name)
        self._usage = Usage()
        self._limit = asyncio.timeout(None)
        self._stop: Stop | None = None
        self._emitting = asyncio.Lock()

    async def run(self) -> StopReason | None:
        """Let the agent answer what was said last; return None if it is to go on. Raises `ModelError`."""
        state = self.state
        state.iterations += 1
        reason: StopReason = "cancelled"
        await self._edits.begin()
        try:
            async with self._limit:
                if (seconds := self.pauses.seconds_left) is not None:
                    self._limit.reschedule(asyncio.get_running_loop().time() + seconds)
                reason = await self.model.agent.prompt(self._prompt(), self)
        except TimeoutError:
            if not self._limit.expired():
                raise
        finally:
            await to_its_end(self._end(is_cancelled=is_being_cancelled()), END_S)
        if is_being_cancelled():
            raise asyncio.CancelledError
        if not self._limit.expired():
            return reason
        stop = self._stop or self.pauses.before_call() or self.pauses.after_answer()
        if stop is None or not await self.pauses.goes_on(stop):
            return stop.reason if stop else "end_turn"
        state.keep(user_message(GO_ON, turn_id=state.spec.turn_id))
        return None

    def _prompt(self) -> ExternalPrompt:
        context = self.state.context
        there = heard(self.state.history, self.model.name, context.memory.session_id)
        return ExternalPrompt(
            session_id=context.memory.session_id,
            folder=context.environment.working_directory,
            content=there.content,
            session=there.session,
            unheard=there.unheard,
            conversation=there.conversation,
            mode=context.memory.permissions.mode,
        )

    async def _end(self, *, is_cancelled: bool) -> None:
        """End what the agent has left open, and keep what it has said."""
        async with self._emitting:
            for call in list(self._calls.values()):
                content = call.denied or (CANCELLED_RESULT if is_cancelled else NOT_ENDED)
                outcome = Outcome(content=content, is_error=True, from_outside=False)
                await self._finish(call, outcome, runs_hooks=not is_cancelled)
            if left := await self._edits.end(self._paths):
                shown = self.state.context.environment.workspace.shown
                names = ", ".join(shown(each.path) for each in left)
                await self.state.emit(Notice(content=f"{self.model.agent.label} changed on the disk: {names}."))
            await self._answer.close_item()
            self._answer.keep()
        usage = self._usage
        if not usage.is_nothing:
            answered = ModelAnswered(model=self.model.name, finish="end_turn", usage=usage, n_calls=self._n_calls)
            await self.state.emit(UsageReported(usage=self.state.root.total, answered=answered))

    # The conversation

    async def joined(self, session: AgentSession) -> None:
        """Implement `AgentHost`."""
        self._answer.session = session

    async def say(self, text: str) -> None:
        """Implement `AgentHost`."""
        async with self._emitting:
            await self._answer.add("text", text)

    async def think(self, text: str) -> None:
        """Implement `AgentHost`."""
        async with self._emitting:
            await self._answer.add("thinking", text)

    async def set_plan(self, entries: Sequence[PlanEntry]) -> None:
        """Implement `AgentHost`."""
        memory = self.state.context.memory
        kept = tuple([replace(each, content=await memory.secrets.masked(each.content)) for each in entries])
        memory.plan.entries = kept
        await self.state.emit(PlanChanged(entries=kept))

    async def count(self, usage: Usage) -> None:
        """Implement `AgentHost`."""
        self._usage = self._usage.plus(usage)
        self.state.usage = self.state.usage.plus(usage)
        if usage.cost_usd is None and usage.total_tokens:
            self.state.root.unpriced = self.model.name
        self._stop = self._stop or self.pauses.after_answer()
        if self._stop is not None:
            self._limit.reschedule(asyncio.get_running_loop().time())

    async def notice(self, text: str) -> None:
        """Implement `AgentHost`."""
        await self.state.emit(Notice(content=await self.state.context.memory.secrets.masked(text)))

    async def choose(self, text: str, choices: Sequence[AnswerChoice]) -> str | None:
        """Implement `AgentHost`."""
        context = self.state.context
        question = Question(
            question_id=f"{context.spec.turn_id}-q{next(context.share.question_ids)}",
            session_id=context.memory.session_id,
            tool_id="",
            text=text,
            choices=tuple(choices),
            from_model=False,
        )
        async with context.share.asking:
            with context.share.user_times.waiting():
                answer = await context.environment.questioner.ask(question)
        return answer.choice if isinstance(answer, QuestionAnswered) else None

    # Calls

    async def show(self, call: ExternalCall) -> None:
        """Implement `AgentHost`."""
        async with self._emitting:
            if call.id not in self._calls and (
                call.id in self._ended or (call.status == "pending" and not _is_known(call))
            ):
                return  # agents announce a call before they know its arguments, and report its end twice
            known = await self._known(call)
            await self._progress(known, call.output)
            if call.status in ("done", "failed"):
                await self._report(known)

    async def permit(self, call: ExternalCall) -> bool:
        """Implement `AgentHost`."""
        async with self._emitting:
            known = await self._known(call)
        plan = await self._edits.proposed(call.changes) if call.kind == "edit" else None
        announced = await self._edits.announced(call.changes) if plan is not None else {}
        if not await self._allowed(known, call, plan):
            return False
        known.granted |= announced
        try:
            if call.kind == "execute":
                await self._save_changes()
        except ToolError as error:  # the user does not want to
            known.denied = f"Error: {error}"
            return False
        return True

    async def _allowed(
        self, known: _ShownCall, call: ExternalCall, plan: EditPlan | None, *, is_run_here: bool = False
    ) -> bool:
        """Return whether the rules, the mode, the hooks and the user allow a call as it is now, which belongs to a
        known one. `plan` is the edit that it would make; `is_run_here`: its command runs in our sandbox."""
        context = self.state.context

        async def planned(_context: ToolContext) -> str | EditPlan:
            assert plan is not None
            return plan

        tool, asked = self._asked(call, known.record.asked.id, planned if plan else None)
        record = CallRecord(asked=asked, tool=replace(tool, sandboxed=is_run_here))
        known.was_asked = True
        try:
            if (why := self._withheld(tool.name)) is not None:
                raise ToolError(why)
            if tool.runs_programs and not is_run_here and (await context.environment.processes.sandbox()).required:
                raise ToolError(
                    "The settings require the sandbox, and this agent runs its commands outside of it. Only a command "
                    "in a terminal of the editor can run in it."
                )
            await prepare(context, record)
            await authorize(context, record)
            if record.call.input != asked.input:
                raise ToolError("The input of this call was changed, which its agent cannot take, so it was not run.")
        except DeniedError as denied:
            known.denied = str(denied)
            if denied.feedback:
                self._steer(record, f"The user rejected this call and said: {denied.feedback}")
            return False
        except ToolError as error:
            known.denied = f"Error: {await context.memory.secrets.masked_error(error)}"
            return False
        finally:
            known.record.remarks += record.remarks
        known.denied = ""
        known.is_sandboxed = record.context is not None and record.context.sandboxed
        if record.feedback:
            self._steer(record, f"The user allowed this call and said: {record.feedback}")
        return True

    async def _save_changes(self) -> None:
        """Save what was edited, since the agent's command reads the disk. Raises `ToolError`."""
        async with self.state.context.share.asking:
            await self.state.context.environment.workspace.save_changes(self.model.agent.label)

    def _withheld(self, name: str) -> str | None:
        """Return why the session's agent may not use this tool; None if it may."""
        tools = self.state.context.tools
        if name in OUR_OWN or tools.get(name) is not None:
            return None
        return f"{name} {tools.withheld.get(name, 'is not available in this session')}"

    def _steer(self, record: CallRecord, text: str) -> None:
        """Tell the agent what the user said about a call, once its answer ends: it takes nothing before."""
        block = user_feedback(record.asked.name, text)
        self.state.steering.append(Steering(shown=text, content=(block,)))

    async def _known(self, call: ExternalCall) -> _ShownCall:
        """Return the call with what is known of it now; announce what is new."""
        known = self._calls.get(call.id)
        if known is None:
            return await self._begin(call)
        was, known.call = known.call, call
        if replace(was, status=call.status, output=call.output) != call:
            self._name_paths(call)
            await self._edits.note(call)
            known.record.tool, asked = self._asked(call, known.record.asked.id)
            known.record.asked = known.record.call = asked
            known.record.paths = tuple(self._paths_of(call))
            await self._announce(known)
        return known

    async def _begin(self, call: ExternalCall) -> _ShownCall:
        self._n_calls += 1
        if self._n_calls > MAX_CALLS:
            raise ToolError(f"The agent was stopped after {MAX_CALLS:,} calls.")
        await self._answer.close_item()
        share = self.state.context.share
        free = (each for each in _ids(id_of(call.id)) if each not in self._taken_ids and each not in share.tool_ids)
        tool_id = next(free)
        share.tool_ids.add(tool_id)
        tool, asked = self._asked(call, tool_id)
        record = CallRecord(asked=asked, tool=tool, paths=tuple(self._paths_of(call)), is_announced=True)
        self.state.context.share.user_times.begin(tool_id, self.state.spec.parent_tool_id)
        known = self._calls[call.id] = _ShownCall(record=record, call=call, began_s=self.clock())
        self._name_paths(call)
        await self._edits.note(call)
        await self._announce(known)
        return known

    def _asked(
        self, call: ExternalCall, tool_id: str, plan: ToolFunction | None = None
    ) -> tuple[ExternalTool, ToolUseBlock]:
        """Return the tool and the call of it that stand for a call of the agent."""
        environment = self.state.context.environment
        tool = tool_for(call, self.model.agent.label, environment.workspace, plan)
        return tool, ToolUseBlock(id=tool_id, name=tool.name, input=input_of(call, environment))

    async def _judged(self, tool: ExternalTool, asked: ToolUseBlock) -> Verdict:
        """Return what the rules say of a call. Raises `ToolError` if a rule, the mode or the protection of a place
        denies it."""
        try:
            return await judge(self.state.context, CallRecord(asked=asked, tool=tool))
        except DeniedError as denied:
            raise ToolError(str(denied)) from None

    async def _announce(self, known: _ShownCall) -> None:
        event = tool_call(self.state.context, known.record)
        if event != known.announced:
            known.announced = event
            await self.state.emit(event)

    def _name_paths(self, call: ExternalCall) -> None:
        if call.kind not in READS:
            self._paths.update(self._paths_of(call))
            self._edits.tool_id = self._calls[call.id].record.asked.id
        if call.command:
            folder = self.state.context.environment.working_directory
            self._paths |= named_by({"command": call.command}, folder).paths

    def _paths_of(self, call: ExternalCall) -> list[Path]:
        workspace = self.state.context.environment.workspace
        paths = (*call.paths, *(each.path for each in call.changes))
        found = (resolved(each, workspace) for each in paths)
        return [path for path in dict.fromkeys(found) if path is not None]

    async def _progress(self, known: _ShownCall, output: str) -> None:
        """Show what is new of the output, which an agent sends as a whole."""
        if not output.startswith(known.seen) or output == known.seen or known.call.status in ("done", "failed"):
            return
        new, known.seen = output[len(known.seen) :], output
        await self._show_piece(known, new)

    async def _show_piece(self, known: _ShownCall, piece: str) -> None:
        record = known.record
        if record.live is None:
            assert record.tool is not None
            record.live = self.state.context.memory.secrets.live(record.call, record.tool)
        if shown := await record.live.feed(piece):
            await self.state.emit(ToolProgress(tool_id=record.asked.id, content=shown))

    async def _report(self, known: _ShownCall) -> None:
        """End a call that the agent reports as ended."""
        call = known.call
        if call.kind not in CHANGES_NO_FILE:
            known.changes += await self._edits.changes(self._paths)
        if not known.was_asked:
            await self._check_rules(known)
        content = known.denied or call.output or _summary(known.changes) or NO_OUTPUT
        is_error = call.status == "failed" or bool(known.denied)
        await self._finish(known, Outcome(content=content, is_error=is_error, is_denied=bool(known.denied)))

    async def _check_rules(self, known: _ShownCall) -> None:
        """Tell the user of a call that the agent made without asking, although a rule denies it."""
        record = known.record
        try:
            await judge(self.state.context, record)
        except DeniedError as denied:
            await self.notice(f"{self.model.agent.label} did not ask before this call. {denied.reason}")
        except ToolError:
            return

    async def _finish(self, known: _ShownCall, outcome: Outcome, *, runs_hooks: bool = True) -> None:
        self._calls.pop(known.call.id, None)
        self._ended.add(known.call.id)
        context, record = self.state.context, known.record
        seconds = max(0.0, self.clock() - known.began_s)
        changes = tuple({each.path: each for each in known.changes}.values())
        result = await finalize(context, record, replace(outcome, changes=changes), seconds)
        if not outcome.is_denied and runs_hooks:
            await run_hooks_after(context, record, result)
        await self.state.emit(result)
        assert record.result is not None
        await self._answer.close_item()
        self._answer.keep(record.asked)
        self.state.keep(user_message((record.result, *record.remarks), turn_id=self.state.spec.turn_id))

    # Files and commands

    async def read(self, path: str) -> str:
        """Implement `AgentHost`."""
        workspace = self.state.context.environment.workspace
        found = workspace.resolve(path)
        self._n_own += 1
        call = ExternalCall(
            id=f"{OWN_READ}{self._n_own}", title=f"Read {path}", kind="read", status="pending", paths=(path,)
        )
        tool, asked = self._asked(call, "")
        if (why := self._withheld(tool.name)) is not None:
            raise ToolError(why)
        verdict = await self._judged(tool, asked)
        if verdict.decision == "ask" and not await self._asked_for(call):
            raise ToolError(f"Permission denied: {workspace.shown(found)} was not read.")
        if await workspace.stamp(found) == MISSING:
            raise FileNotFoundError(path)
        document = await workspace.read(found)
        self._edits.known[document.path] = document.text
        return document.text

    async def _asked_for(self, call: ExternalCall) -> bool:
        """Show a call that the agent makes of us, and return whether it is permitted."""
        is_allowed = await self.permit(call)
        await self.show(replace(call, status="done" if is_allowed else "failed"))
        return is_allowed

    async def write(self, path: str, text: str) -> None:
        """Implement `AgentHost`."""
        found = self.state.context.environment.workspace.resolve(path)
        self._n_own += 1
        number, base = self._n_own, await self._edits.base_of(found, text)
        plan = await self._edits.plan(found, text, base)
        if plan is None:
            self._edits.known[found] = text
            return
        owner, call = self._owner_of(found), self._write_call(number, path, found, plan)
        is_own = owner is None
        if owner is None:
            async with self._emitting:
                owner = await self._known(call)
        try:
            if owner.granted.pop(found, None) == text:
                await self._judged(*self._asked(call, ""))  # the user permitted it, and a rule may still deny it
            elif not await self._allowed(owner, call, plan):
                raise ToolError(owner.denied)
            owner.changes += await self._edits.write(found, text, base, owner.record.asked.id)
        except ToolError as error:
            owner.denied = owner.denied or f"Error: {error}"
            raise
        finally:
            if is_own:
                await self.show(replace(call, status="failed" if owner.denied else "done", output=plan.result))

    def _write_call(self, number: int, path: str, found: Path, plan: EditPlan) -> ExternalCall:
        """Return a write as a call: what the rules judge, whatever call it belongs to."""
        name = self.state.context.environment.workspace.shown(found)
        writes = [each for each in plan.operations if isinstance(each, WriteText) and each.before is None]
        return ExternalCall(
            id=f"{OWN_WRITE}{number}",
            title=f"Write {name}",
            kind="edit",
            status="running",
            paths=(path,),
            changes=tuple(ProposedText(path=path, old=None, new=each.text) for each in writes),
        )

    def _owner_of(self, path: Path) -> _ShownCall | None:
        """Return the running call that edits this file."""
        editing = (each for each in self._calls.values() if each.call.kind in ("edit", "move", "delete", "other"))
        return next((each for each in editing if path in self._paths_of(each.call)), None)

    async def execute(self, argv: Sequence[str], folder: str, env: Mapping[str, str], output: OutputOfRun) -> int:
        """Implement `AgentHost`."""
        context = self.state.context
        command = shlex.join((*(("env",) if env else ()), *(f"{name}={value}" for name, value in env.items()), *argv))
        cwd = context.environment.workspace.resolve(folder) if folder else context.environment.working_directory
        self._n_own += 1
        call = ExternalCall(
            id=f"{OWN_RUN}{self._n_own}",
            title=shlex.join(argv),
            kind="execute",
            status="running",
            command=command,
            folder=str(cwd),
        )
        async with self._emitting:
            known = await self._known(call)
        code, result = -1, None
        try:
            if not await self._allowed(known, call, None, is_run_here=True):
                raise ToolError(known.denied)
            await self._save_changes()

            async def take(piece: str) -> None:
                await output(piece)
                await self._show_piece(known, piece)

            spec = ProcessSpec(
                argv=tuple(argv), cwd=cwd, timeout_s=math.inf, env=env, sandboxed=known.is_sandboxed, was_allowed=True
            )
            result = await context.environment.processes.run(spec, take)
            code = result.exit_code
        finally:
            status = "failed" if known.denied else "done"
            said = f"{result.stdout if result else ''}\n[exit code {code}]"
            await self.show(replace(call, status=status, output=said))
        return code


def _is_known(call: ExternalCall) -> bool:
    """Whether it is known what a call acts on."""
    return bool(call.paths or call.command or call.url or call.changes)


def _summary(changes: Sequence[FileChange]) -> str:
    return "\n".join(f"{each.path.name}: +{each.added} −{each.removed}" for each in changes)


OWN_READ, OWN_WRITE, OWN_RUN = "\0read-", "\0write-", "\0run-"
"""Beginnings of the ids of requests that belong to none of the agent's calls; no id of an agent begins so."""


def _ids(first: str) -> Iterator[str]:
    yield first
    at = 2
    while True:
        yield f"{first}_{at}"
        at += 1
