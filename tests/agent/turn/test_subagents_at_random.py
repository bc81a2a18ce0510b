"""Random subagents: whatever they and their parents answer, do and are asked, and wherever a cancel falls, a turn with
subagents keeps what every turn keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.context.memory import ContextMemory
from pygent_ls.agent.events import Finished, TurnStarted
from pygent_ls.agent.kinds import Mode, ToolRisk
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.approver import PermissionOutcome
from pygent_ls.agent.ports.model import Chunk, ModelRequest
from pygent_ls.agent.ports.subagents import MAX_AT_ONCE, MAX_DEPTH, SubagentTask
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.tools.plan import Plan
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.state import Delegate
from pygent_ls.agent.turn_spec import TurnLimits
from pygent_ls.errors import ModelError, ToolError
from pygent_ls.tools.tasks import plan, task
from tests.agent.abilities import FILE_TOOLS, named
from tests.agent.turns import check_history, check_turn, new_turn
from tests.fakes import Call, FakeApprover, FakeModel, Step, bounded, make_rig, say, with_parts


async def _steps(_: ToolContext) -> str:
    for _step in range(3):
        await asyncio.sleep(0)
    return "stepped"


TOOLS = (*FILE_TOOLS, plan, task, named("asks", _steps, risk=ToolRisk.HIGH), named("steps", _steps))

ENTRIES = [{"content": "x", "status": "pending"}]

starts = st.builds(
    Call,
    name=st.just("task"),
    arguments=st.fixed_dictionaries({"description": st.just("d"), "prompt": st.just("p")}),
    id=st.sampled_from([None, "same", "other"]),
)
calls = starts | st.sampled_from(
    [
        Call(name="read_file", arguments={"path": "a.txt"}),
        Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"}),
        Call(name="edit_file", arguments={"path": "a.txt", "old": "two", "new": "one"}),
        Call(name="steps", arguments={}),
        Call(name="asks", arguments={}, id="same"),
        Call(name="plan", arguments={"entries": ENTRIES}),
        Call(name="task", arguments="{"),
    ]
)


def _answer(text: str, asked: list[Call], tokens: int) -> list[Step]:
    return say(text, *asked, usage=Usage(input_tokens=tokens, cost_usd=0.0))


answers = st.builds(_answer, st.sampled_from(["", "Hm."]), st.lists(calls, min_size=1, max_size=6), st.integers(0, 50))
failures: st.SearchStrategy[list[Step]] = st.just([ModelError("no key", type="auth")])
scripts = st.lists(answers | failures, max_size=3)
outcomes: st.SearchStrategy[PermissionOutcome] = st.sampled_from(
    ["allow_once", "allow_session", "reject_once", "cancelled"]
)
modes: st.SearchStrategy[Mode] = st.sampled_from(["default", "trust", "plan"])


@dataclass(frozen=True, kw_only=True)
class Story:
    """What happens in one turn."""

    main: list[list[Step]]
    children: list[list[list[Step]]]
    """The scripts of the subagents, in the order in which they begin; those after them only report."""
    limits: TurnLimits
    cancel_after: int | None
    """Rounds of the event loop; None: never."""
    mode: Mode
    answers: list[PermissionOutcome]
    is_missing: bool
    """The first subagent cannot be had."""


stories = st.builds(
    Story,
    main=st.lists(answers, min_size=1, max_size=3),
    children=st.lists(scripts, max_size=6),
    limits=st.builds(TurnLimits, max_iterations=st.integers(0, 5), max_tokens=st.sampled_from([0, 0, 120])),
    cancel_after=st.none() | st.integers(0, 120),
    mode=modes,
    answers=st.lists(outcomes, max_size=6),
    is_missing=st.booleans(),
)


class SteppingModel(FakeModel):
    """Lets the event loop go round before each chunk, as a network does, and checks every request."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        check_history(request.messages)
        async with aclosing(super().stream(request)) as chunks:
            async for chunk in chunks:
                await asyncio.sleep(0)
                yield chunk


class Office:
    """Makes the subagents of a story, and sees how many answer at once."""

    def __init__(self, story: Story) -> None:
        self.models: list[SteppingModel] = []
        self.most_at_once = 0
        self._scripts = list(story.children)
        self._is_missing = story.is_missing
        self._depths: dict[str | None, int] = {}

    async def delegate(self, tool_id: str, given: SubagentTask, parent: RunContext) -> Delegate:
        if self._is_missing:
            self._is_missing = False
            raise ToolError("there is none")
        depth = self._depths.get(parent.spec.parent_tool_id, 0)
        self._depths[tool_id] = depth + 1
        assert depth < MAX_DEPTH
        script: Sequence[Sequence[Step]] = self._scripts.pop(0) if self._scripts else ()
        model = SteppingModel([*script, say("Report.")], name=f"child {len(self.models)}")
        self.models.append(model)
        self.most_at_once = max(self.most_at_once, sum(each.open_streams for each in self.models))
        spec = replace(
            parent.spec,
            content=given.prompt,
            model=model,
            limits=TurnLimits(max_iterations=parent.spec.limits.max_iterations),
            parent_tool_id=tool_id,
            source=f"subagent {model.name}",
        )
        services = with_parts(parent, reads=ReadLog(), plan=Plan(), window=ContextMemory())
        return Delegate(spec=spec, services=services)


async def live_through(story: Story) -> None:
    """Run the turn of a story, and check what must be true."""
    office, approver = Office(story), FakeApprover(*story.answers)
    rig = make_rig(*TOOLS, files={"a.txt": "one\n"}, approver=approver, mode=story.mode)
    main = SteppingModel([*story.main, say("Done.")])
    begun = new_turn(rig, main, limits=story.limits, delegate=office.delegate)
    turn: Turn = begun
    running = asyncio.ensure_future(turn.run())
    await asyncio.sleep(0)  # a task that is cancelled before it begins never runs: that is its owner's to see
    if story.cancel_after is not None:
        for _ in range(story.cancel_after):
            await asyncio.sleep(0)
        if not running.done() and not turn.closing:
            running.cancel()
    result = await bounded(running)

    stamped = rig.events.stamped
    check_turn(turn, result, stamped)
    assert [each.open_streams for each in (main, *office.models)] == [0] * (1 + len(office.models))
    assert (approver.open_questions, approver.most_open_questions <= 1) == (0, True)
    assert office.most_at_once <= MAX_AT_ONCE
    inside = [each for each in stamped if each.parent_tool_id]
    assert not [each for each in inside if isinstance(each.event, TurnStarted | Finished)]
    called = [each.event.tool_id for each in stamped if each.event.type == "tool_call"]
    assert len(called) == len(set(called)), "an id twice in one turn"
    assert {each.parent_tool_id for each in inside} <= set(called)
    assert rig.workspace.text("a.txt") in ("one\n", "two\n")
    assert not any(each is not asyncio.current_task() for each in asyncio.all_tasks())


@given(stories)
def test_whatever_subagents_do_their_turn_has_one_beginning_and_end_and_each_call_one_result(story: Story) -> None:
    asyncio.run(live_through(story))
