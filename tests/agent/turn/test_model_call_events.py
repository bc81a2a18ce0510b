"""What a turn tells of its model calls: whose answer it was, what it took, and how long models were waited for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from pygent_ls.agent.events import ModelAnswered, UsageReported
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.model.retry import RetryPolicy
from pygent_ls.agent.ports.model import Chunk, ModelRequest
from pygent_ls.errors import ModelError
from pygent_ls.tools.tasks import task_tool
from tests.agent.abilities import saying
from tests.agent.turn.test_subagents import delegating
from tests.agent.turns import new_turn, run_turn
from tests.fakes import Call, FakeClock, FakeModel, Rig, Step, bounded, make_rig, say

LOOK = Call(name="look", arguments={})


class SlowModel(FakeModel):
    """Takes two seconds for each answer."""

    def __init__(self, script: Sequence[Sequence[Step]], clock: FakeClock) -> None:
        super().__init__(script)
        self._clock = clock

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """See the port."""
        async for chunk in super().stream(request):
            yield chunk
        self._clock.advance(2)


def answers(rig: Rig) -> list[ModelAnswered | None]:
    return [each.answered for each in rig.events.of(UsageReported)]


async def test_each_answer_tells_who_gave_it_why_it_ended_and_what_it_took() -> None:
    rig = make_rig(saying("look", "seen"))
    model = FakeModel(
        [
            say("Let me look.", LOOK, LOOK, usage=Usage(input_tokens=10, output_tokens=2)),
            say("Do", finish="length", usage=Usage(input_tokens=20, output_tokens=3)),
            say("ne.", usage=Usage(input_tokens=30, output_tokens=4)),
        ]
    )

    await run_turn(rig, model)

    name = "fake/model"
    assert answers(rig) == [
        ModelAnswered(model=name, finish="tools", usage=Usage(input_tokens=10, output_tokens=2), n_calls=2),
        ModelAnswered(model=name, finish="length", usage=Usage(input_tokens=20, output_tokens=3), n_calls=0),
        ModelAnswered(model=name, finish="end_turn", usage=Usage(input_tokens=30, output_tokens=4), n_calls=0),
    ]


async def test_an_answer_that_is_withheld_has_no_calls_to_tell_of() -> None:
    rig = make_rig(saying("look", "seen"))

    await run_turn(rig, FakeModel([say("No.", LOOK, finish="content_filter")]))

    assert [each and (each.finish, each.n_calls) for each in answers(rig)] == [("refusal", 0)]


async def test_the_time_in_models_counts_failed_attempts_and_subagents_and_nothing_else() -> None:
    rig = make_rig(task_tool([]), saying("look", "seen"))
    clock = rig.clock
    child = SlowModel([say("Yes.")], clock)
    failed = ModelError("busy", type="overloaded")
    ask = Call(name="task", arguments={"description": "d", "prompt": "p", "agent": "other"})
    model = SlowModel([[failed], say("", LOOK), say("", ask), say("Done.")], clock)
    turn = new_turn(rig, model, retry=RetryPolicy(max_attempts=2), delegate=delegating({"other": child}))

    result = await bounded(turn.run())

    assert (result.stop_reason, result.text) == ("end_turn", "Done.")
    assert result.model_s == 8.0, "three answers and the subagent's; the failed attempt took no time"
