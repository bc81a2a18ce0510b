"""Hooks around a tool call: what they see, what they may decide, and what the model reads of it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pygent_ls.agent.events import (
    Notice,
    PermissionDenied,
    PermissionRequested,
    PermissionResolved,
    ToolCall,
    ToolResult,
)
from pygent_ls.agent.hook_runner import MAX_SAID_CHARS
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.messages import TextBlock, ToolUseBlock
from pygent_ls.agent.permissions.permissions import Rule
from pygent_ls.agent.ports.hooks import HookEvent, HookInput, HookOutcome, HookRan
from pygent_ls.agent.ports.processes import ProcessResult
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.errors import ToolError
from pygent_ls.secrets.redactor import Redactor
from tests.agent.abilities import FILE_TOOLS, raising, saying
from tests.agent.calls.test_secrets import SECRET, finder
from tests.agent.executor import Executor
from tests.fakes import FOLDER, FakeApprover, FakeProcesses, Gate, Rig, bounded, make_rig, with_parts
from tests.hooks import Answer, FakeHooks, deny

EDIT = {"path": "a.txt", "old": "one", "new": "two"}
ALLOW = HookOutcome(decision="allow")
ASK = HookOutcome(decision="ask", reason="it is Friday")


def ended(stdout: str) -> ProcessResult:
    return ProcessResult(exit_code=0, stdout=stdout, stderr="", omitted_chars=0, timed_out=False, duration_s=0.0)


class Hooked:
    """An executor with hooks, and what comes of its calls."""

    def __init__(self, answers: Mapping[HookEvent, Answer], rig: Rig | None = None, **made: Any) -> None:
        rig = rig or make_rig(*FILE_TOOLS, files={"a.txt": "one\n", "b.txt": "uno\n"}, **made)
        self.hooks = FakeHooks(answers)
        processes = FakeProcesses({"sh": lambda spec: ended(f"ran {spec.argv[-1]}\n")})
        services = with_parts(rig.services, hooks=self.hooks, processes=processes, working_directory=FOLDER)
        self.rig = replace(rig, services=services, processes=processes)
        self.executor = Executor(services, self.rig.events.emit)

    async def run(self, name: str, **arguments: Any) -> ToolResult:
        """Run one call; returns the event that ends it."""
        await bounded(self.executor.run(call_of(name, arguments)))
        return self.rig.events.of(ToolResult)[-1]

    def beside(self, name: str) -> Sequence[TextBlock]:
        """What stands beside the result."""
        return self.executor.beside("call_1")


def call_of(name: str, arguments: Mapping[str, Any]) -> ToolUseBlock:
    return ToolUseBlock(id="call_1", name=name, input=arguments)


def block(event: str, about: str, text: str) -> TextBlock:
    return TextBlock(text=f'<hook event="{event}" about="{about}">\n{text}\n</hook>', from_outside=True)


# The order


async def test_hooks_run_before_the_permission_and_after_the_tool() -> None:
    made = Hooked(
        {"pre_tool_use": HookOutcome(), "permission_request": HookOutcome(), "post_tool_use": HookOutcome()},
        approver=FakeApprover("allow_once"),
    )
    told = await made.run("edit_file", **EDIT)

    assert not told.is_error
    assert made.rig.events.types == [
        "hook",
        "permission_requested",
        "hook",
        "permission_resolved",
        "hook",
        "tool_result",
    ]
    common = {"session_id": "session-1", "turn_id": "turn-1", "cwd": FOLDER}
    call: Any = {**common, "tool_id": "call_1", "tool_name": "edit_file", "tool_input": EDIT}
    assert made.hooks.given == [
        HookInput(event="pre_tool_use", **call),
        HookInput(event="permission_request", **call),
        HookInput(event="post_tool_use", **call, tool_result=told.content),
    ]


async def test_a_call_that_failed_has_the_hook_of_failures_with_its_error() -> None:
    made = Hooked({"post_tool_use": HookOutcome(), "post_tool_use_failure": HookOutcome(context="look at the path")})
    told = await made.run("read_file", path="nowhere.txt")

    assert [(each.event, each.error) for each in made.hooks.given] == [("post_tool_use_failure", told.content)]
    assert made.beside("read_file") == (block("post_tool_use_failure", "read_file", "look at the path"),)


@pytest.mark.parametrize("arguments", [{"pth": "a.txt"}, {}])
async def test_a_call_that_is_none_has_no_hooks(arguments: dict[str, str]) -> None:
    made = Hooked(dict.fromkeys(("pre_tool_use", "post_tool_use", "post_tool_use_failure"), HookOutcome()))
    assert (await made.run("read_file", **arguments)).is_error
    assert made.hooks.given == []


async def test_a_call_that_was_denied_has_no_hook_afterwards() -> None:
    events: list[HookEvent] = ["post_tool_use", "post_tool_use_failure"]
    for name, arguments in (("edit_file", EDIT), ("shell", {"command": "make"})):
        made = Hooked(dict.fromkeys(events, HookOutcome()), approver=FakeApprover("reject_once"))
        assert (await made.run(name, **arguments)).is_error
        assert made.hooks.given == []


async def test_a_result_from_the_cache_has_its_hook_too() -> None:
    made = Hooked({"post_tool_use": HookOutcome()})
    await made.run("read_file", path="a.txt")
    assert (await made.run("read_file", path="a.txt")).cached
    assert made.hooks.events == ["post_tool_use", "post_tool_use"]


# What a hook decides


async def test_a_denied_call_does_not_run_and_the_model_reads_why() -> None:
    made = Hooked({"pre_tool_use": deny("not on my machine")}, approver=FakeApprover(otherwise="allow_once"))
    told = await made.run("shell", command="make")

    assert told.content == (
        "Permission denied: a hook configured by the user denied it: not on my machine. shell was not run and "
        "nothing was changed. Do not attempt the same thing another way. Continue without it, or ask what to do "
        "instead."
    )
    assert made.rig.processes.specs == []
    assert made.rig.approver.requests == []
    assert [each.decision for each in made.rig.events.of(HookRan)] == ["deny"]
    assert len(made.rig.events.of(PermissionDenied)) == 1
    assert made.executor.results["call_1"].from_outside, "it quotes what a program said"


async def test_an_allow_passes_what_would_have_been_asked() -> None:
    made = Hooked({"pre_tool_use": ALLOW})
    assert not (await made.run("shell", command="make")).is_error
    assert made.rig.approver.requests == []


async def test_an_ask_asks_also_for_what_would_have_passed_and_says_who_wants_it() -> None:
    made = Hooked({"pre_tool_use": ASK}, approver=FakeApprover("allow_once"), mode="trust")
    assert not (await made.run("edit_file", **EDIT)).is_error
    (asked,) = made.rig.approver.requests
    assert asked.action == "Edit a.txt (+1 −1) [a hook requires your confirmation: it is Friday]"


@pytest.mark.parametrize("hook", ["pre_tool_use", "permission_request"])
@pytest.mark.parametrize(
    ("rules", "mode", "path"),
    [
        (["deny"], "default", "a.txt"),
        ([], "plan", "a.txt"),
        ([], "default", ".git/hooks/pre-commit"),
    ],
)
async def test_an_allow_lifts_no_deny_rule_no_plan_mode_and_no_refusal(
    hook: HookEvent, rules: list[Any], mode: Mode, path: str
) -> None:
    given = [Rule(text="create_file", decision=each, origin="user") for each in rules]
    made = Hooked({hook: ALLOW}, rules=given, mode=mode, approver=FakeApprover(otherwise="allow_once"))
    told = await made.run("create_file", path=path, content="x")
    assert told.is_error
    assert "Permission denied" in told.content
    assert made.rig.workspace.text(path) in ("one\n", None)


@pytest.mark.parametrize("hook", ["pre_tool_use", "permission_request"])
async def test_an_allow_does_not_answer_what_an_ask_rule_asks(hook: HookEvent) -> None:
    rule = Rule(text="edit_file", decision="ask", origin="user")
    made = Hooked({hook: ALLOW}, rules=[rule], approver=FakeApprover("reject_once"))
    assert (await made.run("edit_file", **EDIT)).is_error
    assert len(made.rig.approver.requests) == 1


async def test_a_hook_answers_in_place_of_the_user_and_the_event_says_so() -> None:
    for said, outcome, runs in ((ALLOW, "allow_once", True), (deny(), "reject_once", False)):
        made = Hooked({"permission_request": said}, approver=FakeApprover(otherwise="reject_once"))
        told = await made.run("shell", command="make")

        assert (not told.is_error) == runs
        assert ("not today" in told.content) != runs
        assert made.rig.approver.requests == []
        resolved = made.rig.events.of(PermissionResolved)
        assert [(each.outcome, each.by) for each in resolved] == [(outcome, "hook")]
        assert len(made.rig.events.of(PermissionRequested)) == 1


async def test_a_later_allow_does_not_answer_what_an_earlier_hook_asks() -> None:
    made = Hooked({"pre_tool_use": ASK, "permission_request": ALLOW}, approver=FakeApprover("reject_once"))
    assert (await made.run("edit_file", **EDIT)).is_error
    assert len(made.rig.approver.requests) == 1


@pytest.mark.parametrize("said", [ALLOW, HookOutcome()])
async def test_what_the_user_changes_while_a_hook_thinks_about_a_question_counts(said: HookOutcome) -> None:
    modes: Mapping[Mode, bool] = {"plan": False, "accept_edits": True}
    for mode, runs in modes.items():
        made = Hooked({"permission_request": said}, approver=FakeApprover("allow_once"))
        gate = made.hooks.gates["permission_request"] = Gate()
        call = asyncio.ensure_future(made.run("edit_file", **EDIT))
        await gate.reached()
        made.rig.services.memory.permissions.set_mode(mode)
        gate.open()

        assert (not (await bounded(call)).is_error) == runs
        assert made.rig.approver.requests == []
        assert [each.by for each in made.rig.events.of(PermissionResolved)] == ["mode"]


async def test_a_hook_that_allows_a_call_may_give_it_another_input() -> None:
    changed = {"path": "b.txt", "old": "uno", "new": "due"}
    made = Hooked({"permission_request": HookOutcome(decision="allow", tool_input=changed)})
    assert not (await made.run("edit_file", **EDIT)).is_error

    assert (made.rig.workspace.text("a.txt"), made.rig.workspace.text("b.txt")) == ("one\n", "due\n")
    assert made.rig.approver.requests == []
    assert made.hooks.events == ["permission_request", "permission_request"]
    said = f"The input of this call was changed before it ran. The new input: {json.dumps(changed)}"
    assert made.beside("edit_file") == (block("permission_request", "edit_file", said),)


@pytest.mark.parametrize(
    ("decision", "asks", "reads"), [("ask", 1, "The user rejected it"), ("deny", 0, "Permission denied")]
)
async def test_the_input_of_an_allowing_hook_is_judged_by_the_rules(decision: Any, asks: int, reads: str) -> None:
    changed = {"path": "b.txt", "old": "uno", "new": "due"}
    made = Hooked(
        {"permission_request": HookOutcome(decision="allow", tool_input=changed)},
        rules=[Rule(text="edit_file(b.txt)", decision=decision, origin="user")],
        approver=FakeApprover(otherwise="reject_once"),
    )
    told = await made.run("edit_file", **EDIT)

    assert reads.lower() in told.content.lower()
    assert len(made.rig.approver.requests) == asks
    assert (made.rig.workspace.text("a.txt"), made.rig.workspace.text("b.txt")) == ("one\n", "uno\n")


async def test_a_hook_that_gives_ever_new_inputs_gives_one() -> None:
    numbers = itertools.count()

    def another(_: HookInput) -> HookOutcome:
        return HookOutcome(decision="allow", tool_input={"command": f"echo {next(numbers)}"})

    made = Hooked({"permission_request": another})
    assert (await made.run("shell", command="make")).content.count("ran") == 1
    assert next(numbers) == 2


# A changed input


async def test_a_changed_input_runs_is_asked_about_and_is_told() -> None:
    changed = {**EDIT, "new": "three"}
    made = Hooked({"pre_tool_use": HookOutcome(tool_input=changed)}, approver=FakeApprover("allow_once"))
    await made.run("edit_file", **EDIT)

    assert made.rig.workspace.text("a.txt") == "three\n"
    assert [each.input for each in made.rig.approver.requests] == [changed]
    (again,) = made.rig.events.of(ToolCall)
    assert (again.tool_id, again.input) == ("call_1", changed)
    (beside,) = made.beside("edit_file")
    assert "was changed" in beside.text
    assert '"new": "three"' in beside.text


async def test_a_changed_input_is_checked_against_the_rules_again() -> None:
    rule = Rule(text="edit_file(b.txt)", decision="deny", origin="user")
    said = HookOutcome(decision="allow", tool_input={**EDIT, "path": "b.txt", "old": "uno"})
    made = Hooked({"pre_tool_use": said}, rules=[rule], approver=FakeApprover(otherwise="allow_once"))
    told = await made.run("edit_file", **EDIT)
    assert told.is_error
    assert "the rule edit_file(b.txt) denies it" in told.content
    assert made.rig.workspace.text("b.txt") == "uno\n"


@pytest.mark.parametrize("wrong", [{"path": "a.txt"}, {**EDIT, "old": 3}, {}])
async def test_a_changed_input_that_the_tool_does_not_take_is_an_error(wrong: dict[str, Any]) -> None:
    made = Hooked({"pre_tool_use": HookOutcome(tool_input=wrong)}, approver=FakeApprover(otherwise="allow_once"))
    told = await made.run("edit_file", **EDIT)
    assert told.is_error
    assert "a hook changed the input of this call to an invalid one" in told.content
    assert made.rig.approver.requests == []


async def test_an_input_that_a_hook_gives_back_unchanged_is_no_change() -> None:
    made = Hooked({"pre_tool_use": HookOutcome(tool_input=dict(EDIT))}, approver=FakeApprover("allow_once"))
    await made.run("edit_file", **EDIT)
    assert made.rig.events.of(ToolCall) == []
    assert made.beside("edit_file") == ()


# What the model reads


async def test_context_stands_beside_the_result_as_text_from_outside() -> None:
    made = Hooked(
        {
            "pre_tool_use": HookOutcome(context="mind the gap"),
            "post_tool_use": HookOutcome(decision="deny", reason="2 lint errors", context="line 3"),
        }
    )
    told = await made.run("read_file", path="a.txt")
    assert (told.content, told.is_error) == ("one\n", False)
    assert made.beside("read_file") == (
        block("pre_tool_use", "read_file", "mind the gap"),
        block("post_tool_use", "read_file", "2 lint errors"),
        block("post_tool_use", "read_file", "line 3"),
    )


async def test_what_a_hook_says_is_bounded() -> None:
    made = Hooked({"post_tool_use": HookOutcome(context="x" * 100_000)})
    await made.run("read_file", path="a.txt")
    (beside,) = made.beside("read_file")
    assert len(beside.text) < MAX_SAID_CHARS + 300
    assert "of 100000 characters" in beside.text


async def test_hooks_see_no_secret_and_none_that_they_find_goes_out() -> None:
    said: dict[HookEvent, Answer] = {
        "pre_tool_use": HookOutcome(context=f"key={SECRET}", notices=(f"key={SECRET}",)),
        "post_tool_use": deny(f"key={SECRET}"),
    }
    rig = make_rig(*FILE_TOOLS, saying("told", f"key={SECRET}"), files={"a.conf": f"key={SECRET}\n"})
    rig.use(secrets=SessionSecrets(Redactor(finder, key=b"k"), rig.workspace))
    made = Hooked(said, rig)
    await made.run("told")

    texts = repr([made.hooks.given, made.rig.events.events, made.beside("told"), made.executor.results])
    assert "plums" not in texts
    assert texts.count("SECRET_key") >= 4


async def test_the_input_that_a_hook_gives_holds_no_secret_for_the_model_and_the_file_gets_it() -> None:
    said = HookOutcome(tool_input={"path": "b.conf", "content": f"key={SECRET}"})
    rig = make_rig(*FILE_TOOLS, approver=FakeApprover("allow_once"))
    rig.use(secrets=SessionSecrets(Redactor(finder, key=b"k"), rig.workspace))
    made = Hooked({"pre_tool_use": said}, rig)
    await made.run("create_file", path="b.conf", content="x")

    assert made.rig.workspace.text("b.conf") == f"key={SECRET}"
    assert "plums" not in repr([made.rig.events.events, made.beside("create_file")])


# Files that hooks change


async def test_a_file_that_a_hook_formats_is_told_and_the_model_must_look_again() -> None:
    made: Hooked

    def formats(_: HookInput) -> HookOutcome:
        made.rig.workspace.put("a.txt", "two;\n")
        return HookOutcome()

    made = Hooked({"post_tool_use": formats}, approver=FakeApprover(otherwise="allow_once"))
    await made.run("edit_file", **EDIT)
    (beside,) = made.beside("edit_file")
    assert "It changed a.txt" in beside.text
    again = await made.run("edit_file", path="a.txt", old="two\n", new="three\n")
    assert again.is_error
    assert made.rig.workspace.text("a.txt") == "two;\n"


async def test_hooks_after_a_change_find_it_on_the_disk() -> None:
    made = Hooked({"post_tool_use": HookOutcome()}, approver=FakeApprover("allow_once"))
    await made.run("edit_file", **EDIT)
    assert made.rig.workspace.saved_for == ["the post_tool_use hook"]


async def test_where_the_user_does_not_want_to_save_the_hooks_do_not_run() -> None:
    made = Hooked({"post_tool_use": HookOutcome()}, approver=FakeApprover("allow_once"))
    made.rig.workspace.save_refusal = ToolError("The user cancelled the post_tool_use hook: a.txt has unsaved changes.")
    assert not (await made.run("edit_file", **EDIT)).is_error
    assert made.hooks.given == []
    assert [each.content for each in made.rig.events.of(Notice)] == [
        "The post_tool_use hooks were not run. The user cancelled the post_tool_use hook: a.txt has unsaved changes."
    ]


async def test_hooks_after_a_change_wait_for_whatever_else_changes_files() -> None:
    made = Hooked({"post_tool_use": HookOutcome()}, approver=FakeApprover("allow_once"))
    changing = made.executor.context.share.changing
    edited = made.rig.workspace.gate_after_apply = Gate()
    work = asyncio.ensure_future(made.run("edit_file", **EDIT))
    await edited.reached()
    other = asyncio.ensure_future(changing.acquire())  # a subagent's program, next in line
    edited.open()
    await bounded(other)
    for _ in range(200):  # far more steps than the call would take
        await asyncio.sleep(0)
    assert made.hooks.given == []
    changing.release()
    await bounded(work)
    assert made.hooks.events == ["post_tool_use"]


async def test_what_is_wrong_with_a_hook_is_told_once_a_turn() -> None:
    made = Hooked({"pre_tool_use": HookOutcome(notices=("The hook is no program.",))})
    for name in ("a.txt", "b.txt"):
        await made.run("read_file", path=name)
    assert [each.content for each in made.rig.events.of(Notice)] == ["The hook is no program."]
    assert len(made.rig.events.of(HookRan)) == 2


# Cancelling


@pytest.mark.parametrize("event", ["pre_tool_use", "permission_request", "post_tool_use"])
async def test_a_cancel_ends_a_hook_and_what_has_run_keeps_its_result(event: HookEvent) -> None:
    made = Hooked({event: HookOutcome()}, approver=FakeApprover(otherwise="allow_once"))
    gate = made.hooks.gates[event] = Gate()
    work = asyncio.ensure_future(made.run("edit_file", **EDIT))
    await gate.reached()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bounded(work)

    has_run = event == "post_tool_use"
    assert ("call_1" in made.executor.results) == has_run
    assert (len(made.rig.events.of(ToolResult)) == 1) == has_run
    asked, answered = made.rig.events.of(PermissionRequested), made.rig.events.of(PermissionResolved)
    assert len(asked) == len(answered)


# Without hooks


async def test_without_a_hook_for_it_nothing_is_prepared() -> None:
    made = Hooked({"stop": HookOutcome()}, approver=FakeApprover("allow_once"))
    await made.run("edit_file", **EDIT)
    assert made.hooks.given == []
    assert made.rig.workspace.saved_for == []


async def test_a_tools_bug_has_the_hook_of_failures() -> None:
    made = Hooked({"post_tool_use_failure": HookOutcome()}, make_rig(raising("broken", KeyError("k"))))
    await made.run("broken")
    assert [each.error for each in made.hooks.given] == ["Error: broken failed: KeyError: 'k'"]
