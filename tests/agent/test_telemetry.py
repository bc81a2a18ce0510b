"""What a turn tells of itself to whoever watches how long things take."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import pytest
from msgspec.structs import replace

from pygent_ls.agent.context.memory import ContextMemory
from pygent_ls.agent.events import PermissionRequested, TextDelta, ToolCall, TurnStarted
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import ToolUseBlock, Usage
from pygent_ls.agent.ports.model import FinishChunk, TextChunk, UsageChunk
from pygent_ls.agent.ports.subagents import SubagentTask
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.telemetry import ModelCallSpan, PermissionSpan, ToolSpan, TurnSpan, observed
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.agent.turn.state import Delegate, DelegateTo, TurnSpec
from pygent_ls.errors import ModelError
from pygent_ls.tools.tasks import task
from tests.agent.abilities import saying
from tests.agent.observing import FakeTelemetry
from tests.agent.turns import cancel_turn, new_turn, run_turn
from tests.fakes import Call, FakeApprover, FakeModel, Gate, Rig, bounded, make_rig, say, with_parts


def call(name: str) -> Call:
    return Call(name=name, arguments={})


PAID = Usage(input_tokens=10, output_tokens=3)


def watched_rig(*tools: Tool, approver: FakeApprover | None = None) -> tuple[Rig, FakeTelemetry]:
    rig, telemetry = make_rig(*tools, approver=approver), FakeTelemetry()
    return rig.use(telemetry=telemetry), telemetry


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
    turn, call_, tool, wait, _ = telemetry.spans
    assert isinstance(turn, TurnSpan)
    assert isinstance(tool, ToolSpan)
    assert isinstance(wait, PermissionSpan)
    assert (turn.turn_id, turn.agent, turn.model, turn.mode) == ("turn-1", "default", "fake/model", "default")
    assert (turn.is_subagent, turn.prompt) == (False, "do it")
    assert (turn.stop_reason, turn.iterations, turn.text, turn.error) == ("end_turn", 2, "Done.", None)
    assert tool.result
    assert (tool.result.content, tool.result.is_error, tool.is_denied) == ("built", False, False)
    assert (wait.answer.outcome, wait.answer.by) == ("allow_once", "user")
    assert {(each.session_id, each.agent) for each in (turn, call_, tool, wait)} == {("session-1", "default")}


async def test_a_model_call_tells_its_request_what_it_took_and_its_answer() -> None:
    rig, telemetry = watched_rig()
    model = FakeModel([[TextChunk(text="Hel"), TextChunk(text="lo."), UsageChunk(usage=PAID), FinishChunk(reason="x")]])

    await run_turn(rig, model)

    (span,) = telemetry.named("call of fake/model")
    assert isinstance(span, ModelCallSpan)
    assert span.request is model.requests[0]
    assert (span.answer.usage, span.answer.finish_reason, span.error) == (PAID, "unknown", None)
    assert span.answer.text == "Hello."
    assert span.began_ns <= span.first_chunk_ns <= span.ended_ns


async def test_each_attempt_is_a_call_and_a_failed_one_says_why() -> None:
    rig, telemetry = watched_rig()
    overloaded = ModelError("Too much to do.", type="overloaded", status=529)

    await run_turn(rig, FakeModel([[overloaded], say("Hello.")]))

    failed, went_well = telemetry.named("call of fake/model")
    assert isinstance(failed, ModelCallSpan)
    assert isinstance(went_well, ModelCallSpan)
    assert (failed.error, failed.answer.finish) == (overloaded, None)
    assert (went_well.error, went_well.answer.finish_reason) == (None, "end_turn")


async def test_a_turn_that_fails_says_of_what_kind_it_was() -> None:
    rig, telemetry = watched_rig()

    error = ModelError("No.", type="auth")
    await run_turn(rig, FakeModel([[error]]))

    turn = telemetry.spans[0]
    assert isinstance(turn, TurnSpan)
    assert (turn.stop_reason, turn.error) == ("error", error)


async def test_what_was_not_allowed_is_told_as_such() -> None:
    rig, telemetry = watched_rig(saying("build", "built", risk=ToolRisk.MEDIUM), approver=FakeApprover("reject_once"))

    await run_turn(rig, FakeModel([say("", call("build"), call("nothing")), say("Done.")]))

    (build,), (nothing,), (wait,) = map(telemetry.named, ("tool build", "tool nothing", "wait for build"))
    assert isinstance(build, ToolSpan)
    assert isinstance(nothing, ToolSpan)
    assert isinstance(wait, PermissionSpan)
    assert build.result
    assert nothing.result
    assert (build.result.is_error, build.is_denied) == (True, True)
    assert (nothing.result.is_error, nothing.is_denied) == (True, False)
    assert (wait.answer.outcome, wait.answer.by) == ("reject_once", "user")


def delegating(models: Mapping[str, FakeModel]) -> DelegateTo:
    async def delegate(tool_id: str, given: SubagentTask, parent: RunContext) -> Delegate:
        name = given.agent or ""
        spec = replace(parent.spec, content=given.prompt, model=models[name], agent=name, parent_tool_id=tool_id)
        return Delegate(spec=spec, services=with_parts(parent, reads=ReadLog(), window=ContextMemory()))

    return delegate


async def test_a_subagent_is_a_turn_within_the_call_that_started_it() -> None:
    rig, telemetry = watched_rig(task, saying("look", "seen"))
    models = {name: FakeModel([say("", call("look")), say(f"{name} is done")]) for name in ("one", "two")}
    tasks = [Call(name="task", arguments={"description": "d", "prompt": "p", "agent": name}) for name in models]

    await run_turn(rig, FakeModel([say("", *tasks), say("Done.")]), delegate=delegating(models))

    one, two = telemetry.named("tool task")
    for tool, name in ((one, "one"), (two, "two")):
        assert telemetry.tree(tool) == [
            f"turn of {name}",
            "  call of fake/model",
            "  tool look",
            "  call of fake/model",
        ]
    (turn,) = telemetry.named("turn of one")
    assert isinstance(turn, TurnSpan)
    assert turn.is_subagent


async def test_a_turn_that_is_started_within_another_one_is_no_part_of_it() -> None:
    rig, telemetry = watched_rig()
    call = ToolUseBlock(id="1", name="look", input={})

    with observed(telemetry, ToolSpan(session_id="other", call=call, description="")):
        await run_turn(rig, FakeModel([say("Hello.")]))

    assert telemetry.tree() == ["tool look", "turn of default", "  call of fake/model"]


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

    assert [telemetry.told.count(each) for each in telemetry.spans] == [2] * len(telemetry.spans)
    (span,) = telemetry.named("turn of default")
    assert isinstance(span, TurnSpan)
    assert span.stop_reason == "cancelled"


async def test_a_turn_that_becomes_another_agent_is_still_one() -> None:
    rig, telemetry = watched_rig()
    turn = new_turn(rig, FakeModel([say("Hello.")]))

    async def other() -> tuple[TurnSpec, SessionServices]:
        return replace(turn.spec, agent="other"), rig.services

    turn.switch_agent(other)
    await bounded(turn.run())

    assert telemetry.tree() == ["turn of default", "  call of fake/model"]
