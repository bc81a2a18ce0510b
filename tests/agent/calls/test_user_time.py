"""The time that the user takes to answer is in no duration: neither of a call, nor of a subagent, nor of the turn."""

from __future__ import annotations

from msgspec.structs import replace

from pygent_ls.agent.events import Finished, ToolResult
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.ports.questioner import QuestionAnswered
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.tools.ask_user import ask_user
from pygent_ls.tools.tasks import task
from tests.agent.abilities import named
from tests.agent.turn.test_subagents import delegating
from tests.agent.turns import run_turn
from tests.fakes import Call, FakeApprover, FakeModel, Rig, make_rig, say
from tests.questioner import FakeQuestioner

WORK_S = 3.0
ANSWER_S = 100.0


def rig_of_a_slow_user() -> Rig:
    async def work(_: ToolContext) -> str:
        rig.clock.advance(WORK_S)
        return "worked"

    def think(_: object) -> None:
        rig.clock.advance(ANSWER_S)

    approver, questioner = FakeApprover(otherwise="allow_once"), FakeQuestioner(QuestionAnswered(choice="Plum"))
    rig = make_rig(replace(named("work", work), risk=ToolRisk.HIGH), ask_user, task, approver=approver)
    approver.on_question = think
    questioner.on_question = think
    rig.use(questioner=questioner)
    return rig


def durations(rig: Rig) -> dict[str, float]:
    return {each.tool_name: each.duration_s for each in rig.events.of(ToolResult)}


async def test_a_permission_and_a_question_are_left_out() -> None:
    rig = rig_of_a_slow_user()
    question = Call(name="ask_user", arguments={"question": "Which?", "choices": [{"title": "Plum"}]})
    await run_turn(rig, FakeModel([say("", Call(name="work", arguments={})), say("", question), say("done")]))

    assert durations(rig) == {"work": WORK_S, "ask_user": 0.0}
    assert [each.duration_s for each in rig.events.of(Finished)] == [WORK_S]


async def test_what_a_subagent_asks_is_left_out_of_the_call_that_started_it() -> None:
    rig = rig_of_a_slow_user()
    below = FakeModel([say("", Call(name="work", arguments={})), say("report")])
    given = Call(name="task", arguments={"description": "Look", "prompt": "Look.", "agent": "other"})
    await run_turn(rig, FakeModel([say("", given), say("done")]), delegate=delegating({"other": below}))

    assert durations(rig) == {"work": WORK_S, "task": WORK_S}
    assert [each.duration_s for each in rig.events.of(Finished)] == [WORK_S]
