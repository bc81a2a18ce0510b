"""The `Hooks` port on the program of a stream-json run: callbacks that it registers with `initialize`."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from pygent_ls.agent.ports.hooks import (
    TAKES_INPUT,
    HookDecision,
    HookEvent,
    HookInput,
    HookOutcome,
    HookRan,
    side_by_side,
)
from pygent_ls.editors.scripts.input_lines import BadLineError, Response, words_of
from pygent_ls.editors.scripts.requests import OpenRequests

EVENTS: Mapping[str, HookEvent] = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt_submit",
    "PreToolUse": "pre_tool_use",
    "PostToolUse": "post_tool_use",
    "PostToolUseFailure": "post_tool_use_failure",
    "PermissionRequest": "permission_request",
    "PreCompact": "pre_compact",
    "Stop": "stop",
    "SubagentStop": "subagent_stop",
    "SessionEnd": "session_end",
}
"""Hook events, by the names that programs for Claude Code use."""

NAMES: Mapping[HookEvent, str] = {event: name for name, event in EVENTS.items()}

TIMEOUT_S = 60.0
"""Default timeout of a callback, as for hook commands."""

MAX_CALLBACKS = 1_000
"""Maximum number of callbacks in one `initialize`."""


class Callback(Struct, frozen=True, kw_only=True):
    """One callback of the program."""

    id: str
    event: HookEvent
    pattern: re.Pattern[str] | None
    """Matched against the whole tool name; None matches any."""
    timeout_s: float
    blocks_on_failure: bool


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class _Matcher(_Model):
    matcher: str | None = Field(default=None, max_length=1_000)
    hookCallbackIds: list[str]  # noqa: N815
    timeout: float | None = Field(default=None, gt=0, le=86_400)
    """Timeout in seconds."""
    onFailure: str | None = None  # noqa: N815


class _Specific(_Model):
    permissionDecision: Literal["allow", "deny", "ask"] | None = None  # noqa: N815
    permissionDecisionReason: str | None = None  # noqa: N815
    updatedInput: Mapping[str, Any] | None = None  # noqa: N815
    additionalContext: str | None = None  # noqa: N815
    decision: Mapping[str, Any] | None = None
    """Decision of `PermissionRequest`: `behavior`, `message`, `updatedInput`."""


class _Output(_Model):
    goes_on: bool = Field(default=True, validation_alias=AliasChoices("continue", "continue_"))
    stopReason: str | None = None  # noqa: N815
    decision: Literal["block", "approve"] | None = None
    reason: str | None = None
    systemMessage: str | None = None  # noqa: N815
    hookSpecificOutput: _Specific | None = None  # noqa: N815


def callbacks_of(given: Mapping[str, Any]) -> list[Callback]:
    """Return the callbacks that `initialize` registers. Raises `BadLineError`."""
    found: list[Callback] = []
    for name, matchers in given.items():
        event = EVENTS.get(name)
        if event is None:
            raise BadLineError(f"request.hooks: there is no event {name!r}; use one of {', '.join(EVENTS)}")
        listed = cast("list[object]", matchers) if isinstance(matchers, list) else [matchers]
        for number, raw in enumerate(listed):
            found += _of_matcher(event, f"request.hooks.{name}.{number}", raw)
    if len(found) > MAX_CALLBACKS:
        raise BadLineError(f"request.hooks: {len(found)} callbacks; at most {MAX_CALLBACKS} are allowed")
    return found


def _of_matcher(event: HookEvent, place: str, raw: object) -> list[Callback]:
    try:
        matcher = _Matcher.model_validate(raw)
        pattern = re.compile(matcher.matcher) if matcher.matcher and matcher.matcher != "*" else None
    except ValidationError as error:
        raise BadLineError(words_of(error, place)) from None
    except (re.error, RecursionError, OverflowError) as error:
        raise BadLineError(f"{place}.matcher: not a regular expression: {error}") from None
    return [
        Callback(
            id=each,
            event=event,
            pattern=pattern,
            timeout_s=matcher.timeout or TIMEOUT_S,
            blocks_on_failure=matcher.onFailure not in (None, "continue"),
        )
        for each in matcher.hookCallbackIds
    ]


class ProgramHooks(Struct, kw_only=True):
    """Runs the program's callbacks. Those of one event run concurrently."""

    requests: OpenRequests[Response]
    callbacks: Sequence[Callback] = field(default_factory=tuple[Callback, ...])

    def listens(self, event: HookEvent, tool_name: str = "") -> bool:
        return any(_waits(each, event, tool_name) for each in self.callbacks)

    async def run(self, given: HookInput) -> HookOutcome:
        """Run the callbacks of an event. A callback that fails has no effect, unless it blocks on failure."""
        waiting = [each for each in self.callbacks if _waits(each, given.event, given.tool_name or "")]
        return await side_by_side(self._run(each, given) for each in waiting)

    async def _run(self, callback: Callback, given: HookInput) -> HookOutcome:
        began_s = time.monotonic()
        request = {
            "subtype": "hook_callback",
            "callback_id": callback.id,
            "input": input_of(given),
            "tool_use_id": given.tool_id,
        }
        said = await self._answer(callback, request)
        outcome = _failed(callback, said) if isinstance(said, str) else _outcome(callback, said)
        ran = HookRan(
            hook_event=callback.event,
            command=callback.id,
            decision=outcome.decision or "",
            duration_s=time.monotonic() - began_s,
        )
        return replace(outcome, ran=(ran,))

    async def _answer(self, callback: Callback, request: Mapping[str, Any]) -> _Output | str:
        """Return the callback's output, or the reason why it cannot be used."""
        try:
            async with asyncio.timeout(callback.timeout_s):
                answer = await self.requests.ask(request)
        except TimeoutError:
            return f"it did not answer within {callback.timeout_s:g} s"
        if isinstance(answer, str):
            return answer
        if answer.error is not None:
            return answer.error
        try:
            return _Output.model_validate(answer.body)
        except ValidationError as error:
            return words_of(error)


def input_of(given: HookInput) -> dict[str, Any]:
    """Return the input of a callback, with the fields that callbacks of programs for Claude Code read."""
    fields: dict[str, Any] = {
        "hook_event_name": NAMES[given.event],
        "session_id": given.session_id,
        "transcript_path": "",
        "cwd": str(given.cwd),
        "tool_name": given.tool_name,
        "tool_input": None if given.tool_input is None else dict(given.tool_input),
        "tool_use_id": given.tool_id,
        "tool_response": given.tool_result,
        "error": given.error,
        "prompt": given.prompt,
        "source": given.source,
        "reason": given.reason,
    }
    if given.event == "pre_compact":
        fields |= {"trigger": "manual" if given.reason == "manual" else "auto", "custom_instructions": ""}
    if given.event in ("stop", "subagent_stop"):
        fields["stop_hook_active"] = False
    return {name: value for name, value in fields.items() if value is not None}


def _waits(callback: Callback, event: HookEvent, tool_name: str) -> bool:
    if callback.event != event:
        return False
    return not tool_name or callback.pattern is None or bool(callback.pattern.fullmatch(tool_name))


def _outcome(callback: Callback, said: _Output) -> HookOutcome:
    specific = said.hookSpecificOutput or _Specific()
    permission = specific.decision or {}
    decision: HookDecision | None = specific.permissionDecision
    if decision is None and permission.get("behavior") in ("allow", "deny"):
        decision = permission["behavior"]
    if said.decision is not None and decision is None:
        decision = "deny" if said.decision == "block" else "allow"
    reason = specific.permissionDecisionReason or str(permission.get("message") or "") or said.reason or ""
    if not said.goes_on:
        decision, reason = "deny", said.stopReason or reason or "The program ended the turn."
    updated = specific.updatedInput if specific.updatedInput is not None else permission.get("updatedInput")
    if decision == "ask" and callback.event not in ("pre_tool_use", "permission_request"):
        decision = None
    takes_input = callback.event in TAKES_INPUT and isinstance(updated, Mapping)
    return HookOutcome(
        decision=decision,
        reason=reason,
        tool_input=cast("Mapping[str, Any]", updated) if takes_input else None,
        context=specific.additionalContext or "",
        notices=(said.systemMessage,) if said.systemMessage else (),
    )


def _failed(callback: Callback, why: str) -> HookOutcome:
    name = NAMES[callback.event]
    if callback.blocks_on_failure:
        return HookOutcome(decision="deny", reason=f"The {name} hook {callback.id} failed: {why}")
    return HookOutcome(notices=(f"The {name} hook {callback.id} failed and was ignored: {why}",))
