"""Random turns: whatever a model answers, tools do, the user says and wherever a cancel falls, the history can go on
and the events tell a whole story."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pygent_ls.agent.approver import PermissionOutcome
from pygent_ls.agent.events import LlmError
from pygent_ls.agent.limits import TurnLimits
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.agent.model import Chunk, ModelRequest, TextChunk, ToolCallChunk
from pygent_ls.agent.permissions import Mode
from pygent_ls.agent.tool import ToolContext, ToolRisk
from pygent_ls.errors import ModelError, ToolError
from tests.agent.abilities import FILE_TOOLS, named, raising, saying
from tests.agent.turns import check_history, check_turn, new_turn
from tests.fakes import Call, FakeApprover, FakeModel, Rig, Step, bounded, make_rig, say


class SteppingModel(FakeModel):
    """Lets the event loop go round before each chunk, as a network does, and checks every request."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        check_history(request.messages)
        async with aclosing(super().stream(request)) as chunks:
            async for chunk in chunks:
                await asyncio.sleep(0)
                yield chunk


async def steps_and_returns(_: ToolContext) -> str:
    for _step in range(3):
        await asyncio.sleep(0)
    return "stepped"


async def cleans_up_slowly(_: ToolContext) -> str:
    try:
        await asyncio.Event().wait()
    finally:
        for _step in range(3):
            await asyncio.sleep(0)
    return "never"


OWN_TOOLS = (
    saying("quick", "done", ttl_s=30),
    saying("long", "x" * 300),
    named("steps", steps_and_returns),
    named("steps_and_writes", steps_and_returns, read_only=False),
    named("asks", steps_and_returns, risk=ToolRisk.HIGH),
    named("hangs", cleans_up_slowly, timeout_s=0.001),
    raising("fails", ToolError("no")),
    raising("has_a_bug", ZeroDivisionError("bug")),
    raising("cancels_itself", asyncio.CancelledError()),
)

arguments_of_files = st.fixed_dictionaries(
    {"path": st.sampled_from(["a.txt", "b.txt", "sub", "../x", ""])},
    optional={
        "old": st.sampled_from(["one", "o", ""]),
        "new": st.text(max_size=3),
        "content": st.text(max_size=3),
        "command": st.text(max_size=3),
        "source": st.just("a.txt"),
        "destination": st.sampled_from(["c.txt", "b.txt"]),
    },
)
broken_arguments = st.sampled_from(["", "{", "[]", "null", '{"path": "a.txt"', '{"path": NaN}', "{}"])

calls = st.builds(
    Call,
    name=st.sampled_from([*(each.name for each in (*FILE_TOOLS, *OWN_TOOLS)), "nonsense", ""]),
    arguments=arguments_of_files | broken_arguments,
    id=st.sampled_from([None, "", "same", "other", "call_turn-1_0"]),
)
well_formed_calls = st.builds(
    Call,
    name=st.sampled_from([each.name for each in OWN_TOOLS]),
    arguments=st.just("{}"),
    id=st.none(),
) | st.sampled_from(
    [
        Call(name="read_file", arguments={"path": "a.txt"}),
        Call(name="read_file", arguments={"path": "b.txt"}),
        Call(name="list_files", arguments={}),
        Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"}),
        Call(name="edit_file", arguments={"path": "a.txt", "old": "two", "new": "one"}),
        Call(name="create_file", arguments={"path": "n.txt", "content": "n"}),
        Call(name="delete_file", arguments={"path": "n.txt"}),
        Call(name="move_file", arguments={"source": "b.txt", "destination": "c.txt"}),
    ]
)
finishes = st.sampled_from(["", "", "", "stop", "tool_calls", "length", "refusal", "eos", None])


def _answer(text: str, asked: list[Call], thinking: str, finish: str | None, tokens: int) -> list[Step]:
    return say(text, *asked, thinking=thinking, finish=finish, usage=Usage(input_tokens=tokens, cost_usd=0.0))


good_answers = st.builds(
    _answer,
    st.sampled_from(["", "Hello.", " \n"]),
    st.lists(well_formed_calls | calls, max_size=5),
    st.sampled_from(["", "hm"]),
    finishes,
    st.integers(0, 50),
)
raw_chunks: st.SearchStrategy[Chunk] = st.builds(TextChunk, text=st.text(max_size=2)) | st.builds(
    ToolCallChunk,
    index=st.integers(0, 2),
    id=st.sampled_from([None, "", "x"]),
    name=st.sampled_from([None, "quick", "steps"]),
    arguments=st.sampled_from(["", "{", "}", "{}"]),
)
odd_answers = st.lists(raw_chunks, max_size=4).map(list[Step])


def _failing(start: list[Step], error: ModelError) -> list[Step]:
    return [*start, error]


failing_answers = st.builds(
    _failing,
    odd_answers,
    st.sampled_from([ModelError("gone", type="network"), ModelError("no key", type="auth")]),
)


@dataclass(frozen=True, kw_only=True)
class Story:
    """What happens in one turn."""

    answers: list[list[Step]]
    limits: TurnLimits
    cancel_after: int | None
    """Rounds of the event loop; None: never."""
    cancel_again_after: int
    """Rounds after the first; 0: not again."""


stories = st.builds(
    Story,
    answers=st.lists(good_answers | odd_answers | failing_answers, max_size=4),
    limits=st.builds(TurnLimits, max_iterations=st.integers(0, 4), max_tokens=st.sampled_from([0, 0, 60])),
    cancel_after=st.none() | st.integers(0, 60),
    cancel_again_after=st.integers(0, 4),
)
outcomes: st.SearchStrategy[PermissionOutcome] = st.sampled_from(
    ["allow_once", "allow_session", "allow_always", "reject_once", "reject_always", "cancelled"]
)
modes: st.SearchStrategy[Mode] = st.sampled_from(["default", "trust", "plan", "accept_edits"])


async def live_through(rig: Rig, history: list[Message], story: Story, turn_id: str) -> None:
    """Run one turn of a story, cancelled where it says, and check what must be true."""
    model = SteppingModel([*story.answers, say("Done."), say("Done.")])
    n_before = len(rig.events.stamped)
    turn = new_turn(rig, model, history, limits=story.limits, turn_id=turn_id)
    task = asyncio.ensure_future(turn.run())
    await asyncio.sleep(0)  # a task that is cancelled before it begins never runs: that is its owner's to see
    cancelled = False
    if story.cancel_after is not None:
        for _ in range(story.cancel_after):
            await asyncio.sleep(0)
        cancelled = not task.done() and not turn.closing
        if cancelled:
            task.cancel()
            for _ in range(story.cancel_again_after):
                await asyncio.sleep(0)
            if story.cancel_again_after:
                task.cancel()
    result = await bounded(task)

    check_turn(turn, result, rig.events.stamped[n_before:])
    assert cancelled == (result.stop_reason == "cancelled")
    assert turn.closing
    assert model.open_streams == 0
    assert rig.approver.open_questions == 0
    assert rig.approver.most_open_questions <= 1
    n_again = sum(isinstance(each.event, LlmError) and each.event.will_retry for each in rig.events.stamped[n_before:])
    assert result.iterations - 1 <= len(model.requests) - n_again <= result.iterations
    limit = story.limits.max_iterations
    assert not limit or result.iterations <= limit


@given(st.lists(stories, min_size=1, max_size=3), st.lists(outcomes, max_size=6), modes)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_happens_each_call_has_one_result_and_each_turn_one_beginning_and_end(
    turns: list[Story], answers: list[PermissionOutcome], mode: Mode
) -> None:
    async def session() -> None:
        rig = make_rig(
            *FILE_TOOLS,
            *OWN_TOOLS,
            files={"a.txt": "one\n", "b.txt": "uno\n"},
            approver=FakeApprover(*answers),
            mode=mode,
            max_tool_result_chars=100,
        )
        history: list[Message] = []
        for number, story in enumerate(turns, start=1):
            await live_through(rig, history, story, f"turn-{number}")
        assert not any(task is not asyncio.current_task() for task in asyncio.all_tasks())

    asyncio.run(session())
