"""What a turn tells of itself to whoever watches how long things take."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import pytest

from pygent_ls.agent.context_memory import ContextMemory
from pygent_ls.agent.delegating import SubagentTask
from pygent_ls.agent.events import PermissionRequested, TextDelta, ToolCall, TurnStarted
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.model import FinishChunk, TextChunk, UsageChunk
from pygent_ls.agent.read_log import ReadLog
from pygent_ls.agent.subagents import Delegate, DelegateTo
from pygent_ls.agent.surroundings import Surroundings
from pygent_ls.agent.telemetry import (
    ModelCallBegan,
    ModelCallEnded,
    PermissionWaitEnded,
    ToolEnded,
    TurnBegan,
    TurnEnded,
)
from pygent_ls.agent.tool import Tool, ToolRisk
from pygent_ls.agent.turn import TurnSpec, TurnState
from pygent_ls.errors import ModelError
from pygent_ls.tools.tasks import task
from tests.agent.abilities import saying
from tests.agent.observing import FakeTelemetry
from tests.agent.turns import cancel_turn, new_turn, run_turn
from tests.fakes import Call, FakeApprover, FakeModel, Gate, Rig, bounded, make_rig, say


def call(name: str) -> Call:
    return Call(name=name, arguments={})


PAID = Usage(input_tokens=10, output_tokens=3)


def watched_rig(*tools: Tool, approver: FakeApprover | None = None) -> tuple[Rig, FakeTelemetry]:
    rig, telemetry = make_rig(*tools, approver=approver), FakeTelemetry()
    return replace(rig, around=replace(rig.around, telemetry=telemetry)), telemetry


async def test_a_turn_holds_its_calls_and_tools_and_a_tool_what_it_waited_for() -> None:
    rig, telemetry = watched_rig(saying("build", "built", risk=ToolRisk.MEDIUM), approver=FakeApprover("allow_once"))
    model = FakeModel([say("", call("build")), say("Done.")])

    await run_turn(rig, model)

    assert telemetry.tree() == [
        "turn of default",
        "  call of fake/model",
        "  tool build",
        "    wait for build",
        "  call of fake/model",
    ]
    began = telemetry.roots[0].began
    assert began == TurnBegan(
        session_id="session-1",
        turn_id="turn-1",
        agent="default",
        model="fake/model",
        mode="default",
        is_subagent=False,
        prompt="do it",
    )
    turn, tool, wait = (telemetry.named(each).how for each in ("turn of default", "tool build", "wait for build"))
    assert isinstance(turn, TurnEnded)
    assert (turn.stop_reason, turn.iterations, turn.text, turn.error) == ("end_turn", 2, "Done.", None)
    assert tool == ToolEnded(content="built")
    assert wait == PermissionWaitEnded(outcome="allow_once", by="user")


async def test_a_model_call_tells_its_request_what_it_took_and_its_answer() -> None:
    rig, telemetry = watched_rig()
    model = FakeModel([[TextChunk(text="Hel"), TextChunk(text="lo."), UsageChunk(usage=PAID), FinishChunk(reason="x")]])

    await run_turn(rig, model)

    observed = telemetry.named("call of fake/model")
    how = observed.how
    assert isinstance(observed.began, ModelCallBegan)
    assert observed.began.request is model.requests[0]
    assert isinstance(how, ModelCallEnded)
    assert (how.usage, how.finish, how.error) == (PAID, "unknown", None)
    assert how.answer
    assert how.answer.text == "Hello."
    assert how.first_chunk_s is not None


async def test_each_attempt_is_a_call_and_a_failed_one_says_why() -> None:
    rig, telemetry = watched_rig()
    overloaded = ModelError("Too much to do.", type="overloaded", status=529)

    await run_turn(rig, FakeModel([[overloaded], say("Hello.")]))

    failed, went_well = (each.how for each in telemetry.all() if each.name == "call of fake/model")
    assert isinstance(failed, ModelCallEnded)
    assert isinstance(went_well, ModelCallEnded)
    assert (failed.error, failed.status, failed.finish) == ("overloaded", 529, None)
    assert (went_well.error, went_well.finish) == (None, "end_turn")


async def test_a_turn_that_fails_says_of_what_kind_it_was() -> None:
    rig, telemetry = watched_rig()

    await run_turn(rig, FakeModel([[ModelError("No.", type="auth")]]))

    how = telemetry.roots[0].how
    assert isinstance(how, TurnEnded)
    assert (how.stop_reason, how.error) == ("error", "auth")


async def test_what_was_not_allowed_is_told_as_such() -> None:
    rig, telemetry = watched_rig(saying("build", "built", risk=ToolRisk.MEDIUM), approver=FakeApprover("reject_once"))

    await run_turn(rig, FakeModel([say("", call("build"), call("nothing")), say("Done.")]))

    build, nothing = telemetry.named("tool build").how, telemetry.named("tool nothing").how
    assert isinstance(build, ToolEnded)
    assert isinstance(nothing, ToolEnded)
    assert (build.is_error, build.is_denied) == (True, True)
    assert (nothing.is_error, nothing.is_denied) == (True, False)
    assert telemetry.named("wait for build").how == PermissionWaitEnded(outcome="reject_once", by="user")


def delegating(models: Mapping[str, FakeModel]) -> DelegateTo:
    async def delegate(tool_id: str, given: SubagentTask, parent: TurnState) -> Delegate:
        name = given.agent or ""
        spec = replace(parent.spec, content=given.prompt, model=models[name], agent=name, parent_tool_id=tool_id)
        return Delegate(spec=spec, around=replace(parent.around, reads=ReadLog(), context=ContextMemory()))

    return delegate


async def test_a_subagent_is_a_turn_within_the_call_that_started_it() -> None:
    rig, telemetry = watched_rig(task, saying("look", "seen"))
    models = {name: FakeModel([say("", call("look")), say(f"{name} is done")]) for name in ("one", "two")}
    tasks = [Call(name="task", arguments={"description": "d", "prompt": "p", "agent": name}) for name in models]

    await run_turn(rig, FakeModel([say("", *tasks), say("Done.")]), delegate=delegating(models))

    one, two = [each for each in telemetry.all() if each.name == "tool task"]
    assert one.tree() == [
        "tool task",
        "  turn of one",
        "    call of fake/model",
        "    tool look",
        "    call of fake/model",
    ]
    assert two.within[0].name == "turn of two"
    began = one.within[0].began
    assert isinstance(began, TurnBegan)
    assert began.is_subagent


async def _begun(rig: Rig) -> None:
    await rig.events.until(TurnStarted)


async def _streaming(rig: Rig) -> None:
    await rig.events.until(TextDelta)


async def _asked(rig: Rig) -> None:
    await rig.events.until(PermissionRequested)


async def _called(rig: Rig) -> None:
    await rig.events.until(ToolCall)


@pytest.mark.parametrize("moment", [_begun, _streaming, _called, _asked])
async def test_whenever_a_turn_is_cancelled_all_that_has_begun_ends_once(
    moment: Callable[[Rig], Awaitable[None]],
) -> None:
    approver = FakeApprover()
    approver.gate = Gate()
    rig, telemetry = watched_rig(saying("build", "built", risk=ToolRisk.MEDIUM), approver=approver)
    turn = new_turn(rig, FakeModel([say("Let me see.", call("build")), say("Done.")]))

    async def when() -> None:
        await moment(rig)

    await cancel_turn(rig, turn, when)

    assert [(each.name, len(each.ends)) for each in telemetry.all()] == [(each.name, 1) for each in telemetry.all()]
    how = telemetry.roots[0].how
    assert isinstance(how, TurnEnded)
    assert how.stop_reason == "cancelled"


async def test_a_turn_that_becomes_another_agent_is_still_one() -> None:
    rig, telemetry = watched_rig()
    turn = new_turn(rig, FakeModel([say("Hello.")]))

    async def other() -> tuple[TurnSpec, Surroundings]:
        return replace(turn.spec, agent="other"), rig.around

    turn.become(other)
    await bounded(turn.run())

    assert telemetry.tree() == ["turn of default", "  call of fake/model"]
