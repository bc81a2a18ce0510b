"""Sandboxed commands: what the user is asked if the sandbox is missing, fails, or is required."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from pygent_ls.agent.events import PermissionDenied, PermissionResolved
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import ToolResultBlock, ToolUseBlock
from pygent_ls.agent.permissions.permissions import Rule
from pygent_ls.agent.ports.approver import PermissionOutcome
from pygent_ls.agent.ports.processes import SandboxState
from pygent_ls.agent.tools.tool import Tool, ToolContext
from tests.agent.abilities import saying
from tests.agent.executor import Executor
from tests.fakes import FakeApprover, FakeProcesses, Rig, make_rig

FAILED = SandboxState(kind="failed", reason="no namespaces here")


async def tells_whether_it_is_sandboxed(context: ToolContext) -> str:
    return "inside" if context.sandboxed else "outside"


def command(**changes: Any) -> Tool:
    return replace(
        saying("build", "", read_only=False, risk=ToolRisk.HIGH),
        run=tells_whether_it_is_sandboxed,
        sandboxed=True,
        title="make",
        **changes,
    )


def rig_where(state: SandboxState, *answers: PermissionOutcome, allowed: bool = True, tool: Tool | None = None) -> Rig:
    rules = [Rule(text="build", decision="allow", origin="always_allow")] if allowed else []
    rig = make_rig(tool or command(), approver=FakeApprover(*answers), rules=rules)
    rig.processes.sandbox_state = state
    return rig


async def call(rig: Rig, tool_id: str = "call_1") -> ToolResultBlock:
    executor = Executor(rig.services, rig.events.emit)
    await executor.run(ToolUseBlock(id=tool_id, name="build", input={}))
    return executor.results[tool_id]


async def test_where_the_sandbox_works_a_command_runs_in_it_and_nobody_is_asked() -> None:
    rig = rig_where(SandboxState(kind="on"))

    assert (await call(rig)).content == "inside"
    assert rig.approver.requests == []


async def test_a_sandbox_that_fails_has_its_own_question_each_time() -> None:
    rig = rig_where(FAILED, "allow_once", "allow_once")

    assert [(await call(rig)).content, (await call(rig)).content] == ["outside", "outside"]
    asked = rig.approver.requests
    assert len(asked) == 2
    assert asked[0].action == ("make\nThe sandbox cannot be set up: no namespaces here\nRun it without the sandbox?")
    assert asked[0].rules == (), "nothing of it is stored"
    assert [each.outcome for each in rig.events.of(PermissionResolved)] == ["allow_once"] * 2


@pytest.mark.parametrize("answer", ["allow_session", "allow_always"])
async def test_for_this_session_is_asked_once_and_for_good_there_is_no_such_answer(answer: PermissionOutcome) -> None:
    rig = rig_where(FAILED, answer)

    assert [(await call(rig)).content, (await call(rig)).content] == ["outside", "outside"]
    assert len(rig.approver.requests) == 1
    assert [rule.text for rule in rig.rules.rules] == ["build"]
    other = rig_where(FAILED)
    assert (await call(other)).is_error, "another session knows nothing of it"


async def test_a_refusal_runs_nothing_and_tells_the_model() -> None:
    rig = rig_where(FAILED, "reject_once")

    told = await call(rig)

    assert told.is_error
    assert told.content.startswith("Permission denied")
    assert len(rig.events.of(PermissionDenied)) == 1


async def test_the_command_is_asked_about_before_the_sandbox_is() -> None:
    rig = rig_where(FAILED, "allow_once", "reject_once", allowed=False)

    assert (await call(rig)).is_error
    assert [bool(each.rules) for each in rig.approver.requests] == [True, False]


async def test_where_the_machine_has_none_the_prompt_says_so() -> None:
    rig = rig_where(SandboxState(kind="missing"), "allow_once", allowed=False)

    assert (await call(rig)).content == "outside"
    assert [(each.action, each.confinement) for each in rig.approver.requests] == [("make", "not sandboxed")]


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (SandboxState(kind="on"), "sandboxed, no network"),
        (SandboxState(kind="on", has_network=True), "sandboxed, with network"),
        (SandboxState(kind="on", reason="It leaks."), "sandboxed, no network; it leaks"),
        (SandboxState(kind="off"), "not sandboxed"),
    ],
)
async def test_the_prompt_says_what_holds_the_command(state: SandboxState, said: str) -> None:
    rig = rig_where(state, "allow_once", allowed=False)
    await call(rig)

    assert [each.confinement for each in rig.approver.requests] == [said]


@pytest.mark.parametrize("kind", ["missing", "failed"])
async def test_where_it_is_required_nothing_runs_without_it_and_nobody_is_asked(kind: Any) -> None:
    rig = rig_where(SandboxState(kind=kind, reason="It is gone.", required=True))

    told = await call(rig)

    assert told.is_error
    assert "the settings require the sandbox" in told.content
    assert "It is gone." in told.content
    assert rig.approver.requests == []


async def test_what_runs_no_command_of_the_models_is_not_asked_about() -> None:
    rig = rig_where(FAILED, tool=replace(command(), sandboxed=False))

    await call(rig)
    assert rig.approver.requests == []


# Commands that run in a container or on another machine

THERE = SandboxState(kind="off", place="in the container Dev")


def rig_with_remote(here: SandboxState, there: SandboxState, tool: Tool, *answers: PermissionOutcome) -> Rig:
    remote = FakeProcesses()
    remote.sandbox_state = there
    return rig_where(here, *answers, allowed=False, tool=tool).use(remote=remote)


async def test_the_question_says_where_a_command_runs_and_that_no_sandbox_holds_there() -> None:
    rig = rig_with_remote(SandboxState(kind="on"), THERE, command(runs_commands=True), "allow_once")

    assert (await call(rig)).content == "outside"
    assert [each.confinement for each in rig.approver.requests] == ["in the container Dev, not in the sandbox"]


async def test_other_programs_stay_in_the_sandbox_of_this_machine() -> None:
    rig = rig_with_remote(SandboxState(kind="on"), THERE, command(), "allow_once")

    assert (await call(rig)).content == "inside"
    assert [each.confinement for each in rig.approver.requests] == ["sandboxed, no network"]


async def test_where_the_sandbox_is_required_no_command_runs_elsewhere() -> None:
    there = replace(THERE, required=True)
    rig = rig_with_remote(SandboxState(kind="on", required=True), there, command(runs_commands=True), "allow_once")

    result = await call(rig)

    assert result.is_error
    assert "the settings require the sandbox, and commands run in the container Dev, outside of it" in result.content
    assert rig.approver.requests == []
