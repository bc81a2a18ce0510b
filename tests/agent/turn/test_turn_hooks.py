"""Hooks around a turn: the prompt, the session's start, the end, and what the model reads of them."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from pygent_ls.agent.events import Notice
from pygent_ls.agent.messages import Message, TextBlock, user_message
from pygent_ls.agent.ports.hooks import HookEvent, HookInput, HookOutcome, HookRan, HookSource
from pygent_ls.agent.turn.state import Steering, TurnResult
from pygent_ls.agent.turn.turn_hooks import MAX_STOP_DENIALS, NOT_DONE, run_stop_hooks
from pygent_ls.agent.turn_spec import TurnLimits
from tests.agent.abilities import FILE_TOOLS
from tests.agent.edits.test_checkpointer import FakeCheckpointer
from tests.agent.executor import context_of
from tests.agent.turns import cancel_turn, check_turn, new_turn
from tests.fakes import Call, FakeModel, Gate, Rig, bounded, make_rig, say
from tests.hooks import Answer, FakeHooks, deny


def rig_with(answers: Mapping[HookEvent, Answer]) -> tuple[Rig, FakeHooks]:
    rig, hooks = make_rig(*FILE_TOOLS, files={"a.txt": "one\n"}), FakeHooks(answers)
    return rig.use(hooks=hooks), hooks


async def run(
    rig: Rig,
    model: FakeModel,
    history: list[Message] | None = None,
    *,
    source: HookSource | None = None,
    limits: TurnLimits | None = None,
) -> TurnResult:
    """Run a turn, and check what must be true of every turn."""
    turn = new_turn(rig, model, history, limits=limits)
    turn = dataclasses.replace(turn, spec=replace(turn.spec, session_source=source))
    result = await bounded(turn.run())
    check_turn(turn, result, rig.events.stamped)
    return result


def hooked(event: str, text: str) -> TextBlock:
    return TextBlock(text=f'<hook event="{event}">\n{text}\n</hook>', from_outside=True)


async def test_the_session_starts_before_its_prompt_is_judged_and_both_may_add_to_it() -> None:
    rig, hooks = rig_with(
        {"session_start": HookOutcome(context="branch main"), "user_prompt_submit": HookOutcome(context="it is late")}
    )
    history: list[Message] = []
    await run(rig, FakeModel([say("done")]), history, source="startup")

    assert hooks.events == ["session_start", "user_prompt_submit"]
    assert [(each.source, each.prompt) for each in hooks.given] == [("startup", None), (None, "do it")]
    assert history[0].content == (
        hooked("session_start", "branch main"),
        hooked("user_prompt_submit", "it is late"),
        TextBlock(text="do it"),
    )
    assert rig.events.types[:3] == ["turn_started", "hook", "hook"]


async def test_a_turn_that_goes_on_with_a_session_does_not_start_it() -> None:
    rig, hooks = rig_with({"session_start": HookOutcome()})
    await run(rig, FakeModel([say("done")]))
    assert hooks.events == []


async def test_a_denied_prompt_reaches_no_model_and_no_history_and_the_user_reads_why() -> None:
    rig, _ = rig_with({"user_prompt_submit": deny("it holds a customer's name")})
    before = user_message("from before")
    model, history = FakeModel([say("never")]), [before]
    result = await run(rig, model, history)

    why = "A hook that you configured denied this prompt, so it was not sent: it holds a customer's name"
    assert (result.stop_reason, result.text, result.iterations) == ("refusal", why, 0)
    assert [(each.content, each.level) for each in rig.events.of(Notice)] == [(why, "error")]
    assert (model.requests, history) == ([], [before])


async def test_a_stop_hook_that_denies_makes_the_turn_go_on_with_its_reason() -> None:
    said = [deny("2 tests fail"), HookOutcome()]
    rig, hooks = rig_with({"stop": lambda _: said.pop(0)})
    model, history = FakeModel([say("done"), say("now it is")]), list[Message]()
    result = await run(rig, model, history)

    assert (result.stop_reason, result.text) == ("end_turn", "now it is")
    assert [each.reason for each in hooks.given] == ["end_turn", "end_turn"]
    assert [each.content for each in history[2:3]] == [(TextBlock(text=NOT_DONE), hooked("stop", "2 tests fail"))]
    assert [each.decision for each in rig.events.of(HookRan)] == ["deny", ""]


async def test_a_stop_hook_that_always_denies_does_not_do_so_for_ever() -> None:
    rig, _ = rig_with({"stop": deny()})
    result = await run(rig, FakeModel([say(f"{n}") for n in range(20)]))

    assert (result.stop_reason, result.iterations) == ("end_turn", MAX_STOP_DENIALS + 1)
    assert [each.content for each in rig.events.of(Notice)] == [
        f"A stop hook has prevented the turn from ending {MAX_STOP_DENIALS} times; the turn ends now."
    ]


async def test_what_a_stop_hook_changes_can_be_taken_back() -> None:
    rig, hooks = rig_with({"stop": HookOutcome()})
    checkpointer = FakeCheckpointer()
    rig.use(checkpointer=checkpointer)
    turn = new_turn(rig, FakeModel([say("done")]))
    await bounded(turn.run())

    assert hooks.events == ["stop"]
    turn_id = turn.spec.turn_id
    assert checkpointer.asked == [f"before the stop hook in {turn_id}", f"after the stop hook in {turn_id}"]


async def test_while_a_subagents_stop_hook_runs_nothing_else_changes_files() -> None:
    rig, hooks = rig_with({"subagent_stop": HookOutcome()})
    gate = hooks.gates["subagent_stop"] = Gate()
    context = context_of(rig.services, rig.events.emit, parent_tool_id="call_1")
    changing = context.share.changing
    running = asyncio.ensure_future(run_stop_hooks(context, "end_turn", 0))
    await gate.reached()
    was_held = changing.locked()
    gate.open()
    await bounded(running)

    assert (was_held, changing.locked()) == (True, False)


async def test_a_limit_is_not_lifted_by_a_stop_hook_which_learns_of_it() -> None:
    rig, hooks = rig_with({"stop": deny()})
    call = Call(name="read_file", arguments={"path": "a.txt"})
    result = await run(rig, FakeModel([say("", call), say("", call)]), limits=TurnLimits(max_iterations=1))
    assert (result.stop_reason, [each.reason for each in hooks.given]) == ("max_iterations", ["max_iterations"])


async def test_what_hooks_of_a_call_say_stands_behind_its_result_once() -> None:
    said = [HookOutcome(context="formatted"), HookOutcome()]
    rig, _ = rig_with({"post_tool_use": lambda _: said.pop(0)})
    read = say("", Call(name="read_file", arguments={"path": "a.txt"}))
    model, history = FakeModel([read, read, say("ok")]), list[Message]()
    await run(rig, model, history)
    assert [block.type for block in history[2].blocks] == ["tool_result", "text"]
    assert [block.type for block in history[4].blocks] == ["tool_result"]
    remark = model.requests[1].messages[2].blocks[1]
    assert isinstance(remark, TextBlock)
    number = rig.services.memory.marks.number
    assert remark.text == (
        f'<untrusted-{number}>\n<hook event="post_tool_use" about="read_file">\nformatted\n</hook>\n'
        f"</untrusted-{number}>"
    )


@pytest.mark.parametrize("event", ["session_start", "user_prompt_submit", "stop"])
async def test_a_cancel_during_a_hook_ends_the_turn_at_once(event: HookEvent) -> None:
    rig, hooks = rig_with({event: HookOutcome()})
    gate = hooks.gates[event] = Gate()
    turn = new_turn(rig, FakeModel([say("done")]))
    turn = dataclasses.replace(turn, spec=replace(turn.spec, session_source="startup"))
    result = await cancel_turn(rig, turn, gate.reached)
    assert result.stop_reason == "cancelled"
    assert turn.history[0].text == "do it"


async def test_the_users_word_during_a_stop_hook_is_still_answered() -> None:
    def steers(_: HookInput) -> HookOutcome:
        if len(hooks.given) == 1:
            assert turn.steer(Steering(shown="and b", content="and b"))
        return HookOutcome()

    rig, hooks = rig_with({"stop": steers})
    model = FakeModel([say("a"), say("b")])
    turn = new_turn(rig, model)
    result = await bounded(turn.run())
    assert (result.text, len(model.requests), len(hooks.given)) == ("b", 2, 2)


async def test_a_subagent_has_a_hook_of_its_own_for_its_end_and_none_for_its_prompt() -> None:
    said = [deny("look again"), HookOutcome()]
    answers: dict[HookEvent, Answer] = dict.fromkeys(("session_start", "user_prompt_submit", "stop"), HookOutcome())
    rig, hooks = rig_with({**answers, "subagent_stop": lambda _: said.pop(0)})
    turn = new_turn(rig, FakeModel([say("a"), say("b")]))
    turn = dataclasses.replace(turn, spec=replace(turn.spec, parent_tool_id="call_1"))
    result = await bounded(turn.run())

    assert (result.text, hooks.events) == ("b", ["subagent_stop", "subagent_stop"])
    assert [each.parent_tool_id for each in rig.events.stamped if isinstance(each.event, HookRan)] == ["call_1"] * 2
