"""The user's hooks: commands that receive an event as JSON, and may answer with JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, field

from pygent_ls.agent.ports.hooks import (
    TAKES_INPUT,
    HookDecision,
    HookEvent,
    HookInput,
    HookOutcome,
    HookRan,
    side_by_side,
)
from pygent_ls.agent.ports.processes import Processes, ProcessResult, ProcessSpec
from pygent_ls.agent.tools.arguments import check_can_be_sent
from pygent_ls.agent.truncation import whole_words
from pygent_ls.errors import ToolError

OF_TOOLS: frozenset[HookEvent] = frozenset(
    {"pre_tool_use", "post_tool_use", "post_tool_use_failure", "permission_request"}
)
"""Events of a tool call, whose matcher is compared with the tool's name; other events ignore the matcher."""

READ_BY_THE_MODEL: frozenset[HookEvent] = frozenset(
    {"session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "post_tool_use_failure", "pre_compact"}
)
"""Events whose `context` the model reads."""

ASKING: frozenset[HookEvent] = frozenset({"pre_tool_use", "permission_request"})
"""Events in which a hook may have the user asked."""

OVER: frozenset[HookEvent] = frozenset({"session_start", "session_end"})
"""Events that cannot be denied."""

FIELDS = ("decision", "reason", "tool_input", "context")

DENIES = 2
"""Exit code that denies."""

MAX_OUTPUT_CHARS = 400_000
"""Maximum length of one hook's output; a whole file in `tool_input` fits."""

MAX_SHOWN_CHARS = 200
"""Maximum length of a command, or of its output, in a notice."""


class HookCommand(Struct, frozen=True, kw_only=True):
    """A configured hook."""

    event: HookEvent
    command: str
    matcher: str = ""
    """Valid regular expression that the whole of a tool's name must match; empty matches any."""
    timeout_s: float = 60.0


class CommandHooks(Struct, frozen=True):
    """The `Hooks` port. The commands of one event run concurrently, with the user's own rights, as git's hooks do."""

    commands: Sequence[HookCommand]
    processes: Processes
    _patterns: dict[str, re.Pattern[str]] = field(default_factory=dict[str, re.Pattern[str]])

    def __post_init__(self) -> None:
        for each in self.commands:
            self._patterns[each.matcher] = re.compile(each.matcher)

    def listens(self, event: HookEvent, tool_name: str = "") -> bool:
        """Whether any hook is configured for the event and tool."""
        return any(self._waits(each, event, tool_name) for each in self.commands)

    async def run(self, given: HookInput) -> HookOutcome:
        """Run the hooks of an event and return their combined outcome."""
        waiting = [each for each in self.commands if self._waits(each, given.event, given.tool_name or "")]
        return await side_by_side(self._run(each, given) for each in waiting)

    def _waits(self, hook: HookCommand, event: HookEvent, tool_name: str) -> bool:
        if hook.event != event:
            return False
        return event not in OF_TOOLS or not hook.matcher or bool(self._patterns[hook.matcher].fullmatch(tool_name))

    async def _run(self, hook: HookCommand, given: HookInput) -> HookOutcome:
        try:
            result = await self.processes.run(self._spec(hook, given))
        except ToolError as error:
            return _nothing_but(f"{_named(hook)} did not run and is ignored. {error}", hook, 0.0)
        return said_by(hook, result)

    def _spec(self, hook: HookCommand, given: HookInput) -> ProcessSpec:
        """Return the process of a hook. Raises `ToolError` without a shell."""
        shell = self.processes.find("bash") or self.processes.find("sh")
        if shell is None:
            raise ToolError("Neither bash nor sh is installed on this machine.")
        return ProcessSpec(
            argv=(shell, "-c", hook.command),
            cwd=given.cwd,
            timeout_s=hook.timeout_s,
            env={"PYGENT_PROJECT_DIR": str(given.cwd), "PYGENT_HOOK_EVENT": given.event},
            max_output_chars=MAX_OUTPUT_CHARS,
            stdin_bytes=json.dumps(input_of(given), default=str).encode(),
        )


def input_of(given: HookInput) -> dict[str, object]:
    """Return the object that a hook reads; fields that an event lacks are left out."""
    fields: dict[str, object] = {
        "hook_event": given.event,
        "session_id": given.session_id,
        "turn_id": given.turn_id,
        "cwd": str(given.cwd),
        "source": given.source,
        "reason": given.reason,
        "prompt": given.prompt,
        "tool_id": given.tool_id,
        "tool_name": given.tool_name,
        "tool_input": given.tool_input,
        "tool_result": given.tool_result,
        "error": given.error,
    }
    return {name: value for name, value in fields.items() if value is not None}


def said_by(hook: HookCommand, result: ProcessResult) -> HookOutcome:
    """Return the outcome of a completed hook. Any problem with it becomes a notice and changes nothing."""
    if result.timed_out:
        problem = f"{_named(hook)} was stopped after {hook.timeout_s:g} s and is ignored."
        return _nothing_but(problem, hook, result.duration_s)
    if result.exit_code == DENIES:
        return _heard(hook, _Said(decision="deny", reason=result.stderr.strip()), result.duration_s)
    if result.exit_code != 0:
        wrote = _one_line(result.stderr or result.stdout)
        how = f"ended by signal {-result.exit_code}" if result.exit_code < 0 else f"exited with code {result.exit_code}"
        problem = f"{_named(hook)} {how} and is ignored{': ' if wrote else '.'}{wrote}"
        return _nothing_but(problem, hook, result.duration_s)
    return _outcome(hook, _parsed(result.stdout), result.duration_s)


def said_in(hook: HookCommand, answer: object, duration_s: float) -> HookOutcome:
    """Return the outcome of a hook that answers with a JSON value; None says nothing."""
    try:
        check_can_be_sent(answer)
        if len(json.dumps(answer)) > MAX_OUTPUT_CHARS:
            return _outcome(hook, f"its answer is longer than {MAX_OUTPUT_CHARS:,} characters", duration_s)
    except (ValueError, RecursionError) as error:
        return _outcome(hook, f"its answer cannot be used ({error})", duration_s)
    return _outcome(hook, _Said() if answer is None else _read(answer), duration_s)


def failed(hook: HookCommand, why: str, duration_s: float) -> HookOutcome:
    """Return the outcome of a hook that could not be run, or gave no answer: a notice, and nothing else."""
    return _nothing_but(f"{_named(hook)} {why} and is ignored.", hook, duration_s)


def _outcome(hook: HookCommand, said: _Said | str, duration_s: float) -> HookOutcome:
    if isinstance(said, str):
        return _nothing_but(f"{_named(hook)} is ignored: {said}", hook, duration_s)
    return _heard(hook, said, duration_s)


class _Said(Struct, frozen=True, kw_only=True):
    decision: HookDecision | None = None
    reason: str = ""
    tool_input: Mapping[str, Any] | None = None
    context: str = ""
    unknown: tuple[str, ...] = ()


def _parsed(stdout: str) -> _Said | str:
    """Return the parsed output of a hook, or what is wrong with it, for the user."""
    if not stdout.strip():
        return _Said()
    try:
        raw: Any = json.loads(stdout)
        check_can_be_sent(raw)
    except (ValueError, RecursionError):
        return f"its output is not JSON: {_one_line(stdout)} (write messages for people to standard error)"
    return _read(raw)


def _read(raw: object) -> _Said | str:
    """Return what a JSON value says, or what is wrong with it, for the user."""
    if not isinstance(raw, dict):
        return f"its output is not a JSON object: {_one_line(json.dumps(raw, ensure_ascii=False))}"
    given = cast("dict[str, Any]", raw)
    decision, reason, context = given.get("decision"), given.get("reason"), given.get("context")
    tool_input = given.get("tool_input")
    if decision not in (None, "allow", "ask", "deny"):
        return f'its decision is {_one_line(json.dumps(decision))}, but must be "allow", "ask" or "deny"'
    if not isinstance(reason, str | None) or not isinstance(context, str | None):
        return "its reason and its context must be strings"
    if not isinstance(tool_input, dict | None):
        return "its tool_input must be an object: the complete input of the tool"
    return _Said(
        decision=decision,
        reason=reason or "",
        tool_input=cast("dict[str, Any] | None", tool_input),
        context=context or "",
        unknown=tuple(name for name in given if name not in FIELDS),
    )


def _heard(hook: HookCommand, said: _Said, duration_s: float) -> HookOutcome:
    """Return the parts of the answer that apply to this event; a notice reports the others."""
    event, told = hook.event, list[str]()
    decision, tool_input, context = said.decision, said.tool_input, said.context
    if (decision == "deny" and event in OVER) or (decision == "ask" and event not in ASKING):
        why = f": {_one_line(said.reason)}" if said.reason else "."
        told.append(f"{_named(hook)} decides {decision}, which has no effect for this event{why}")
        decision = None
    if tool_input is not None and event not in TAKES_INPUT:
        told.append(f"{_named(hook)} returns a tool_input, which only {' and '.join(TAKES_INPUT)} accept.")
        tool_input = None
    if tool_input is not None and event == "permission_request" and decision != "allow":
        told.append(f"{_named(hook)} returns a tool_input but does not allow the call, so the input is ignored.")
        tool_input = None
    if context and event not in READ_BY_THE_MODEL:
        told.append(f"{_named(hook)} returns context, which has no effect for this event.")
        context = ""
    if said.unknown:
        names = _one_line(", ".join(said.unknown))
        told.append(f"{_named(hook)} returns unknown fields: {names}. Known fields are {', '.join(FIELDS)}.")
    return HookOutcome(
        decision=decision,
        reason=said.reason,
        tool_input=tool_input,
        context=context,
        notices=tuple(told),
        ran=(_ran(hook, decision, duration_s),),
    )


def _nothing_but(problem: str, hook: HookCommand, duration_s: float) -> HookOutcome:
    return HookOutcome(notices=(problem,), ran=(_ran(hook, None, duration_s),))


def _ran(hook: HookCommand, decision: HookDecision | None, duration_s: float) -> HookRan:
    return HookRan(hook_event=hook.event, command=hook.command, decision=decision or "", duration_s=duration_s)


def _named(hook: HookCommand) -> str:
    return f"The {hook.event} hook `{_one_line(hook.command)}`"


def _one_line(text: str) -> str:
    begun = text[: 4 * MAX_SHOWN_CHARS]
    words = " ".join((begun if begun == text else whole_words(begun)).split())
    return words if len(words) <= MAX_SHOWN_CHARS else whole_words(words[:MAX_SHOWN_CHARS]) + "…"
