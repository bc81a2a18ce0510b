"""Subagents: turns within a turn that count as a part of it."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from pygent_ls.agent.context.memory import ContextMemory
from pygent_ls.agent.events import (
    Finished,
    Notice,
    PlanChanged,
    PlanEntry,
    TextDelta,
    TokenLimitReached,
    ToolCall,
    ToolResult,
    TurnStarted,
    UsageReported,
)
from pygent_ls.agent.kinds import Mode, ToolRisk
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.model.retry import WaitingRetries
from pygent_ls.agent.ports.approver import PermissionAnswer
from pygent_ls.agent.ports.hooks import HookOutcome
from pygent_ls.agent.ports.model import ModelFacts
from pygent_ls.agent.ports.questioner import QuestionAnswer, QuestionAnswered, QuestionNotAnswered
from pygent_ls.agent.ports.subagents import MAX_AT_ONCE, SubagentTask
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.tools.plan import Plan
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.state import Delegate, DelegateTo
from pygent_ls.agent.turn_spec import TurnLimits
from pygent_ls.errors import ModelError
from pygent_ls.tools.ask_user import ask_user
from pygent_ls.tools.tasks import plan, task
from tests.agent.abilities import FILE_TOOLS, named, saying
from tests.agent.turns import cancel_turn, check_turn, new_turn
from tests.fakes import Call, FakeApprover, FakeModel, Gate, Rig, Step, bounded, make_rig, say, with_parts
from tests.hooks import FakeHooks
from tests.questioner import FakeQuestioner


def delegating(models: Mapping[str, FakeModel], ceiling: Mode | None = None, max_iterations: int = 0) -> DelegateTo:
    """Subagents by the name of their agent, each with a model of its own."""

    async def delegate(tool_id: str, given: SubagentTask, parent: RunContext) -> Delegate:
        name = given.agent or "other"
        spec = replace(
            parent.spec,
            content=given.prompt,
            model=models[name],
            agent=name,
            limits=TurnLimits(max_iterations=max_iterations),
            parent_tool_id=tool_id,
            source=f"subagent {name}: {given.description}",
            ceiling=ceiling,
        )
        return Delegate(spec=spec, services=with_parts(parent, reads=ReadLog(), plan=Plan(), window=ContextMemory()))

    return delegate


PAID = Usage(input_tokens=1, cost_usd=0.1)


def ask(agent: str, tool_id: str | None = None, description: str = "look") -> Call:
    return Call(name="task", arguments={"description": description, "prompt": "find it", "agent": agent}, id=tool_id)


def with_subagents(rig: Rig, model: FakeModel, delegate: DelegateTo, limits: TurnLimits | None = None) -> Turn:
    return new_turn(rig, model, limits=limits, delegate=delegate)


async def ran(turn: Turn, rig: Rig) -> str:
    """Run a turn, check what must be true of any, and return what its last request held as results of calls."""
    result = await bounded(turn.run())
    check_turn(turn, result, rig.events.stamped)
    ids = Counter(each.tool_id for each in rig.events.of(ToolCall))
    assert set(ids.values()) <= {1}, "an id twice in one turn"
    return result.text


def results(model: FakeModel) -> list[str]:
    """What the model was told of its last calls, without the marks around text from outside."""
    said = [getattr(block, "content", "") for block in model.requests[-1].messages[-1].blocks]
    return [re.sub(r"</?untrusted-\d+>", "", each).strip() for each in said]


async def test_a_subagent_has_a_conversation_of_its_own_and_returns_its_last_words() -> None:
    rig = make_rig(task, *FILE_TOOLS, files={"a.txt": "needle\n"})
    child = FakeModel([say("", Call(name="read_file", arguments={"path": "a.txt"})), say("It is in a.txt.")])
    model = FakeModel([say("", ask("other")), say("Found.")])

    assert await ran(with_subagents(rig, model, delegating({"other": child})), rig) == "Found."

    (opening,) = child.requests[0].messages
    assert opening.text == "find it"
    assert results(model) == ["It is in a.txt."]
    assert not rig.services.memory.reads.knows(rig.workspace.resolve("a.txt")), "what it read, its parent has not"


async def test_its_events_name_the_call_and_it_has_neither_beginning_nor_end() -> None:
    rig = make_rig(task, saying("look", "seen"))
    child = FakeModel([say("Hm.", Call(name="look", arguments={})), say("Yes.")])
    model = FakeModel([say("", ask("other", "t1")), say("Done.")])

    await ran(with_subagents(rig, model, delegating({"other": child})), rig)

    inside = [each for each in rig.events.stamped if each.parent_tool_id]
    assert {each.parent_tool_id for each in inside} == {"t1"}
    assert {type(each.event) for each in inside} >= {TextDelta, ToolCall, ToolResult, UsageReported}
    assert not [each for each in inside if isinstance(each.event, TurnStarted | Finished)]
    assert [each.tool_name for each in rig.events.of(ToolResult)] == ["look", "task"]
    items = {
        (each.parent_tool_id, each.event.item_id) for each in rig.events.stamped if isinstance(each.event, TextDelta)
    }
    assert len({item for _, item in items}) == len(items) == 3


async def test_what_it_takes_is_counted_in_the_turn() -> None:
    rig = make_rig(task)
    child = FakeModel(
        [say("Yes.", usage=Usage(input_tokens=1_000, output_tokens=1, cost_usd=0.5, context_tokens=1_001))]
    )
    model = FakeModel(
        [
            say("", ask("other"), usage=Usage(input_tokens=10, output_tokens=1, cost_usd=0.1, context_tokens=11)),
            say("Done.", usage=Usage(input_tokens=20, output_tokens=2, cost_usd=0.2, context_tokens=22)),
        ]
    )
    turn = with_subagents(rig, model, delegating({"other": child}))

    result = await bounded(turn.run())

    check_turn(turn, result, rig.events.stamped)
    assert (result.usage.input_tokens, result.usage.output_tokens, result.iterations) == (1_030, 4, 2)
    assert result.usage.cost_usd is not None
    assert round(result.usage.cost_usd, 6) == 0.8
    assert [each.usage.total_tokens for each in rig.events.of(UsageReported)] == [11, 1_012, 1_034]


async def test_what_is_left_of_the_turns_tokens_stops_a_subagent_and_then_the_turn() -> None:
    rig = make_rig(task, saying("look", "seen"))
    child = FakeModel([say("So far.", Call(name="look", arguments={}), usage=Usage(input_tokens=500))])
    model = FakeModel([say("", ask("other"), usage=Usage(input_tokens=100))])
    turn = with_subagents(rig, model, delegating({"other": child}), TurnLimits(max_tokens=300))

    result = await bounded(turn.run())

    check_turn(turn, result, rig.events.stamped)
    assert result.stop_reason == "token_limit"
    assert [each.value for each in rig.events.of(TokenLimitReached)] == [600, 600]
    said = rig.events.of(ToolResult)[-1]
    assert said.is_error
    assert "reached its token limit" in said.content
    assert "So far." in said.content
    assert (len(child.requests), len(model.requests)) == (1, 1)


@pytest.mark.parametrize(
    ("answer", "is_called"), [(QuestionAnswered(choice="Continue"), True), (QuestionNotAnswered(), False)]
)
async def test_a_subagent_whose_price_is_unknown_is_asked_about_once_before_its_first_call(
    answer: QuestionAnswer, *, is_called: bool
) -> None:
    user, rig = FakeQuestioner(answer), make_rig(task)
    rig.use(pauser=user)
    models = {name: FakeModel([say("Yes.")], name=f"model/{name}") for name in ("a", "b", "c")}
    model = FakeModel([say("", *map(ask, models), usage=PAID), say("Done.", usage=PAID)])
    model.facts = ModelFacts(has_price=True)
    turn = with_subagents(rig, model, delegating(models), TurnLimits(max_budget_usd=2.0))

    result = await bounded(turn.run())

    check_turn(turn, result, rig.events.stamped)
    (question,) = user.questions
    asked_for = question.text.split(" is unknown")[0].removeprefix("The price of ")
    assert asked_for in [each.name for each in models.values()]
    assert result.stop_reason == "end_turn"
    assert [len(each.requests) for each in models.values()] == [int(is_called)] * 3
    assert next(each for each in rig.events.stamped if isinstance(each.event, Notice)).parent_tool_id is None


async def test_who_asks_in_vain_for_a_price_is_named_and_not_its_parent() -> None:
    user, rig = FakeQuestioner(QuestionNotAnswered()), make_rig(task)
    rig.use(pauser=user)
    child = FakeModel([say("Yes.", usage=Usage(input_tokens=1))], name="model/lies")
    model = FakeModel([say("", ask("other"), usage=PAID)])
    model.facts = child.facts = ModelFacts(has_price=True)
    turn = with_subagents(rig, model, delegating({"other": child}), TurnLimits(max_budget_usd=2.0))

    result = await bounded(turn.run())

    check_turn(turn, result, rig.events.stamped)
    assert result.stop_reason == "budget_limit"
    (question,) = user.questions
    assert question.text.startswith("The price of model/lies is unknown")


async def test_what_is_wrong_with_hooks_is_told_once_however_many_agents_and_calls_run_them() -> None:
    broken = HookOutcome(notices=("The hook check.sh cannot be run.",))
    hooks = FakeHooks({"user_prompt_submit": broken, "pre_tool_use": broken, "subagent_stop": broken, "stop": broken})
    rig = make_rig(task, saying("look", "seen"))
    rig.use(hooks=hooks)
    child = FakeModel([say("", Call(name="look", arguments={})), say("Yes.")])

    await ran(with_subagents(rig, FakeModel([say("", ask("other")), say("Done.")]), delegating({"other": child})), rig)

    assert hooks.events == ["user_prompt_submit", "pre_tool_use", "pre_tool_use", "subagent_stop", "stop"]
    assert [each.content for each in rig.events.of(Notice)] == ["The hook check.sh cannot be run."]


async def test_its_model_calls_are_its_own() -> None:
    rig = make_rig(task, saying("look", "seen"))
    child = FakeModel([say("", Call(name="look", arguments={"n": n})) for n in range(3)])
    model = FakeModel([say("", ask("other")), say("Done.")])
    delegate = delegating({"other": child}, max_iterations=3)

    assert await ran(with_subagents(rig, model, delegate, TurnLimits(max_iterations=2)), rig) == "Done."

    assert len(child.requests) == 3
    assert "reached its limit of model calls" in results(model)[0]


async def test_one_that_fails_is_an_error_result_with_what_it_had() -> None:
    rig = make_rig(task, saying("look", "seen"))
    child = FakeModel([say("I look.", Call(name="look", arguments={})), [ModelError("no key.", type="auth")]])
    model = FakeModel([say("", ask("other")), say("Done.")])

    await ran(with_subagents(rig, model, delegating({"other": child})), rig)

    said = rig.events.of(ToolResult)[-1]
    assert said.is_error
    assert "The subagent other failed: no key. Its changes up to then" in said.content
    assert said.content.endswith("Its last message:\nI look.")


async def test_adjacent_ones_work_side_by_side_at_most_four_at_once() -> None:
    rig = make_rig(task)
    gates = [Gate() for _ in range(6)]
    models = {str(n): FakeModel([[gate, *say(f"report {n}")]]) for n, gate in enumerate(gates)}
    model = FakeModel([say("", *(ask(name) for name in models)), say("Done.")])
    turn = with_subagents(rig, model, delegating(models))
    running = asyncio.ensure_future(turn.run())

    for gate in gates[:MAX_AT_ONCE]:
        await gate.reached()
    assert [len(each.requests) for each in models.values()] == [1, 1, 1, 1, 0, 0]
    gates[3].open()
    await gates[4].reached()
    for gate in gates:
        gate.open()
    result = await bounded(running)

    check_turn(turn, result, rig.events.stamped)
    assert results(model) == [f"report {n}" for n in range(6)]


async def test_one_may_have_one_of_its_own_and_that_none() -> None:
    rig = make_rig(task)
    inner = FakeModel([say("", ask("inner")), say("Innermost.")])
    outer = FakeModel([say("", ask("inner", "same"), ask("inner2", "same")), say("Outer.")])
    models = {"outer": outer, "inner": inner, "inner2": FakeModel([say("Second.")])}
    model = FakeModel([say("", ask("outer", "same")), say("Done.")])

    assert await ran(with_subagents(rig, model, delegating(models)), rig) == "Done."

    assert "task is not offered to a subagent's subagent" in results(inner)[0]
    assert [each.name for each in inner.requests[0].tools] == []
    assert results(outer) == ["Innermost.", "Second."]


async def test_a_cancel_ends_them_all_and_every_call_has_its_result() -> None:
    rig = make_rig(task, named("waits", _waits))
    gates = [Gate(), Gate()]
    models = {
        "answering": FakeModel([[*say("Half")[:1], gates[0]]]),
        "working": FakeModel([say("", Call(name="waits", arguments={}))]),
    }
    model = FakeModel([say("", ask("answering"), ask("working"))])
    turn = with_subagents(rig, model, delegating(models))

    async def both_work() -> None:
        await gates[0].reached()
        await rig.events.until(ToolCall, 3)

    result = await cancel_turn(rig, turn, both_work)

    assert result.stop_reason == "cancelled"
    assert [each.open_streams for each in models.values()] == [0, 0]


async def _waits(_: ToolContext) -> str:
    await asyncio.Event().wait()
    return "never"


async def test_its_questions_name_it_and_wait_for_each_other() -> None:
    approver = FakeApprover("allow_session", "reject_once")
    rig = make_rig(task, named("deploys", _deploys, risk=ToolRisk.HIGH), approver=approver)

    def deploying() -> list[Sequence[Step]]:
        return [say("", Call(name="deploys", arguments={})), say("Deployed.")]

    models = {"one": FakeModel(deploying()), "two": FakeModel(deploying())}
    model = FakeModel(
        [
            say("", ask("one", description="ship it"), ask("two")),
            say("", Call(name="deploys", arguments={})),
            say("Done."),
        ]
    )

    await ran(with_subagents(rig, model, delegating(models)), rig)

    (request,) = approver.requests
    assert request.source == "subagent one: ship it"
    assert results(model) == ["deployed"], "what was allowed for the session holds for all of them"


async def test_what_one_asks_the_user_names_it() -> None:
    user, rig = FakeQuestioner(QuestionAnswered(choice="red")), make_rig(task, ask_user)
    rig.use(questioner=user)
    question = Call(name="ask_user", arguments={"question": "Which colour?", "choices": [{"title": "red"}]})
    child = FakeModel([say("", question), say("Red.")])
    model = FakeModel([say("", ask("other", description="paint")), say("", question), say("Done.")])

    await ran(with_subagents(rig, model, delegating({"other": child})), rig)

    assert [each.text for each in user.questions] == ["Which colour? (subagent other: paint)", "Which colour?"]


async def _deploys(_: ToolContext) -> str:
    return "deployed"


async def test_questions_of_several_are_never_open_together() -> None:
    approver = FakeApprover(PermissionAnswer(outcome="allow_once"), otherwise="allow_once")
    rig = make_rig(task, named("deploys", _deploys, risk=ToolRisk.HIGH), approver=approver)
    models = {
        name: FakeModel([say("", Call(name="deploys", arguments={})), say("Deployed.")]) for name in ("a", "b", "c")
    }
    model = FakeModel([say("", *(ask(name) for name in models)), say("Done.")])

    await ran(with_subagents(rig, model, delegating(models)), rig)

    assert len(approver.requests) == 3
    assert len({each.permission_id for each in approver.requests}) == 3
    assert approver.most_open_questions == 1


async def test_one_is_never_in_a_looser_mode_than_its_parent_and_may_be_in_a_stricter_one() -> None:
    edit = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})
    cases: list[tuple[Mode, Mode | None, int]] = [
        ("trust", "plan", 0),
        ("trust", "default", 0),
        ("plan", "trust", 0),
        ("trust", None, 1),
    ]
    for mode, ceiling, applied in cases:
        rig = make_rig(task, *FILE_TOOLS, files={"a.txt": "one\n"}, mode=mode)
        child = FakeModel([say("", edit), say("Done.")])
        arguments = {"description": "d", "prompt": "p", "agent": "plan"}
        model = FakeModel([say("", Call(name="task", arguments=arguments)), say("Done.")])

        await ran(with_subagents(rig, model, delegating({"plan": child}, ceiling)), rig)

        assert len(rig.workspace.applied) == applied, (mode, ceiling)


async def test_two_that_edit_one_file_lose_nothing() -> None:
    rig = make_rig(task, *FILE_TOOLS, files={"a.txt": "one\ntwo\n"}, mode="trust")
    read = Call(name="read_file", arguments={"path": "a.txt"})
    gate = Gate()

    def editing(old: str, new: str) -> Call:
        return Call(name="edit_file", arguments={"path": "a.txt", "old": old, "new": new})

    first = FakeModel([say("", read), say("", editing("one", "ONE")), say("First.")])
    second = FakeModel(
        [say("", read), [gate, *say("", editing("two", "TWO"))], say("", editing("two", "TWO")), say("Second.")]
    )
    model = FakeModel([say("", ask("first"), ask("second")), say("", editing("ONE", "1")), say("Done.")])
    turn = with_subagents(rig, model, delegating({"first": first, "second": second}))
    running = asyncio.ensure_future(turn.run())
    await gate.reached()
    await rig.events.until(ToolResult, 3)
    gate.open()

    result = await bounded(running)

    check_turn(turn, result, rig.events.stamped)
    refused = [each.content for each in rig.events.of(ToolResult) if each.is_error]
    assert len(refused) == 1
    assert "has changed since you read it" in refused[0]
    assert rig.workspace.text("a.txt") == "1\nTWO\n"
    (changed,) = result.files_changed
    assert (changed.kind, changed.added, changed.removed) == ("edit", 3, 3)


async def test_what_a_subagent_changed_its_parent_has_to_read_again() -> None:
    rig = make_rig(task, *FILE_TOOLS, files={"a.txt": "one\n"}, mode="trust")
    edit = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})
    child = FakeModel([say("", edit), say("Done.")])
    stale = Call(name="edit_file", arguments={"path": "a.txt", "old": "t", "new": "T"})
    read = Call(name="read_file", arguments={"path": "a.txt"})
    model = FakeModel([say("", read), say("", ask("other")), say("", stale), say("Done.")])

    await ran(with_subagents(rig, model, delegating({"other": child})), rig)

    assert "has changed since you read it" in results(model)[0]
    assert rig.workspace.text("a.txt") == "two\n"


async def test_a_plan_is_told_and_kept_and_a_subagents_is_another() -> None:
    rig = make_rig(task, plan)
    inner = Call(name="plan", arguments={"entries": [{"content": "look", "status": "in_progress"}]})
    outer = Call(
        name="plan",
        arguments={
            "entries": [
                {"content": "find", "status": "completed", "priority": "high"},
                {"content": "mend", "status": "in_progress"},
            ]
        },
    )
    child = FakeModel([say("", inner), say("Seen.")])
    model = FakeModel([say("", outer), say("", ask("other")), say("Done.")])

    await ran(with_subagents(rig, model, delegating({"other": child})), rig)

    kept = (
        PlanEntry(content="find", status="completed", priority="high"),
        PlanEntry(content="mend", status="in_progress", priority="medium"),
    )
    assert rig.services.memory.plan.entries == kept
    assert rig.services.memory.plan.open_entries == kept[1:]
    told = [
        (each.parent_tool_id is None, each.event.entries)
        for each in rig.events.stamped
        if isinstance(each.event, PlanChanged)
    ]
    assert told == [(True, kept), (False, (PlanEntry(content="look", status="in_progress"),))]
    first = rig.events.of(ToolResult)[0]
    assert first.content == "Plan saved: 1 of 2 done, 1 to do. Now: mend"


async def test_the_turns_time_is_its_subagents_too() -> None:
    async def takes_long(_: ToolContext) -> str:
        rig.clock.advance(100)
        return "late"

    rig = make_rig(task, named("takes_long", takes_long))
    child = FakeModel([say("Begun.", Call(name="takes_long", arguments={})), say("Never.")])
    model = FakeModel([say("", ask("other")), say("Never.")])
    turn = new_turn(rig, model, limits=TurnLimits(max_seconds=50), delegate=delegating({"other": child}))

    result = await bounded(turn.run())

    check_turn(turn, result, rig.events.stamped)
    assert (result.stop_reason, len(child.requests), len(model.requests)) == ("time_limit", 1, 1)
    assert "The subagent other reached the time limit" in rig.events.of(ToolResult)[-1].content


async def test_what_the_user_says_of_a_retry_holds_for_all_that_wait() -> None:
    retries = WaitingRetries()
    waiting = [asyncio.ensure_future(retries.wait(3_600)) for _ in range(2)]
    await asyncio.sleep(0)

    assert retries.decide("give_up")
    assert await bounded(asyncio.gather(*waiting)) == ["give_up", "give_up"]
    assert not retries.decide("now")
