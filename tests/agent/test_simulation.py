"""Random sessions: whatever models answer and tools do, however calls fail, whatever the user says and wherever a
cancel falls, the history can go on, and the events tell a whole story."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from pygent_ls.agent.events import AgentEvent, LlmError, Steered, Text
from pygent_ls.agent.kinds import Mode, ToolRisk
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.agent.model.retry import RetryAction, RetryPolicy
from pygent_ls.agent.ports.approver import PermissionOutcome
from pygent_ls.agent.ports.model import Chunk, ModelFacts, ModelRequest, TextChunk, ToolCallChunk
from pygent_ls.agent.ports.questioner import QuestionAnswered
from pygent_ls.agent.tools.structured_output import Structured
from pygent_ls.agent.tools.tool import ToolContext
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.state import Steering, TurnResult
from pygent_ls.agent.turn_spec import TurnLimits
from pygent_ls.errors import ModelError, ToolError
from tests.agent.abilities import FILE_TOOLS, named, raising, saying
from tests.agent.turns import check_history, check_turn, new_turn
from tests.fakes import Call, FakeApprover, FakeModel, Rig, Step, bounded, make_rig, say
from tests.questioner import FakeQuestioner


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

GIVE = Call(name="structured_output", arguments={"value": [1]})

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
        GIVE,
        Call(name="structured_output", arguments={"value": ["one"]}),
    ]
)
finishes = st.sampled_from(["", "", "", "stop", "tool_calls", "length", "refusal", "eos", None])


def _answer(text: str, asked: list[Call], thinking: str, finish: str | None, tokens: int) -> list[Step]:
    return say(text, *asked, thinking=thinking, finish=finish, usage=Usage(input_tokens=tokens, cost_usd=0.0))


good_answers = st.builds(
    _answer,
    st.sampled_from(["", "Hello.", " \n", "[2]"]),
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
    st.sampled_from(
        [
            ModelError("gone", type="network"),
            ModelError("no key", type="auth"),
            ModelError("slow down", type="rate_limit", retry_after_s=7),
            ModelError("leave me alone", type="overloaded", retry_after_s=7_000),
            ModelError("no", type="content_filter"),
        ]
    ),
)
going_round = st.integers(3, 8).map(lambda n: [say("", Call(name="quick", arguments={}), usage=Usage())] * n)
answers = st.lists(good_answers | good_answers | odd_answers | failing_answers, max_size=4) | going_round
modes: st.SearchStrategy[Mode] = st.sampled_from(["default", "trust", "plan", "accept_edits"])


@dataclass(frozen=True, kw_only=True)
class Story:
    """What happens in one turn."""

    mode: Mode
    answers: list[list[Step]]
    fallback_answers: list[list[Step]] | None
    """None: there is no fallback."""
    has_price: bool
    owes_numbers: bool
    """Whether its answer is to be a list of numbers."""
    limits: TurnLimits
    pauses: list[bool]
    """Whether the user lets the turn go on, pause by pause; not after the last."""
    decisions: list[RetryAction]
    """What they say to a retry that waits, wait by wait."""
    words: set[int]
    """The rounds of the event loop in which the user says something."""
    cancel_after: int | None
    """Rounds; None: never."""
    cancel_again_after: int
    """Rounds after the first; 0: not again."""


stories = st.builds(
    Story,
    mode=modes,
    answers=answers,
    fallback_answers=st.none() | answers,
    has_price=st.sampled_from([True, True, False]),
    owes_numbers=st.sampled_from([False, False, True]),
    limits=st.builds(
        TurnLimits,
        max_iterations=st.sampled_from([0, 0, 1, 2, 4]),
        max_tokens=st.sampled_from([0, 0, 30]),
        max_budget_usd=st.sampled_from([0.0, 0.0, 0.0, 1.0]),
        max_seconds=st.sampled_from([0.0, 0.0, 5.0]),
    ),
    pauses=st.lists(st.booleans(), max_size=3),
    decisions=st.lists(st.sampled_from(["now", "give_up"]), max_size=2),
    words=st.sets(st.integers(0, 60), max_size=3),
    cancel_after=st.none() | st.integers(0, 60),
    cancel_again_after=st.integers(0, 4),
)
outcomes: st.SearchStrategy[PermissionOutcome] = st.sampled_from(
    ["allow_once", "allow_session", "allow_always", "reject_once", "reject_always", "cancelled"]
)

MAX_ROUNDS = 61
"""In which something happens from outside."""


@dataclass(kw_only=True)
class Told:
    """One turn of a story while it runs."""

    turn: Turn
    task: asyncio.Future[TurnResult]
    accepted: list[str] = field(default_factory=list[str])
    """What the user said, and was told would be heard."""
    cancelled: bool = False

    async def go_through(self, story: Story) -> TurnResult:
        """Let the user speak and cancel in their rounds, and wait for the end."""
        for number in range(MAX_ROUNDS):
            await asyncio.sleep(0)  # a task that is cancelled before it begins never runs: that is its owner's to see
            if number in story.words:
                word = f"{self.turn.spec.turn_id}, word {number}"
                if self.turn.steer(Steering(shown=word, content=word)):
                    self.accepted.append(word)
            if number == story.cancel_after and not self.task.done() and not self.turn.closing:
                await self._cancel(story)
        return await bounded(self.task)

    async def _cancel(self, story: Story) -> None:
        self.cancelled = True
        self.task.cancel()
        for _ in range(story.cancel_again_after):
            await asyncio.sleep(0)
        if story.cancel_again_after:
            self.task.cancel()


async def live_through(rig: Rig, history: list[Message], story: Story, turn_id: str) -> None:
    """Run one turn of a story, and check what must be true."""
    last = say("Done.", *([GIVE] if story.owes_numbers else ()))
    main = SteppingModel([*story.answers, last, last])
    spare = SteppingModel([*(story.fallback_answers or ()), last, last], name="spare")
    main.facts = spare.facts = ModelFacts(has_price=story.has_price)
    user = FakeQuestioner(*(QuestionAnswered(choice="Continue" if goes_on else "Stop") for goes_on in story.pauses))
    rig.use(pauser=user)
    rig.retries.actions = list(story.decisions)
    rig.services.memory.permissions.set_mode(story.mode)
    n_before = len(rig.events.stamped)
    turn = new_turn(
        rig,
        main,
        history,
        limits=story.limits,
        turn_id=turn_id,
        retry=RetryPolicy(max_attempts=3, max_seconds=60),
        fallback_models=("gone", "spare") if story.fallback_answers is not None else (),
        make_model=_only(spare),
        output_schema={"type": "array", "items": {"type": "integer"}} if story.owes_numbers else None,
    )
    told = Told(turn=turn, task=asyncio.ensure_future(turn.run()))
    result = await told.go_through(story)

    stamped = rig.events.stamped[n_before:]
    check_turn(turn, result, stamped)
    assert told.cancelled == (result.stop_reason == "cancelled")
    assert (result.structured is not None) == (story.owes_numbers and result.stop_reason == "end_turn")
    assert result.structured in (None, Structured(value=[1]), Structured(value=[2]))
    assert turn.closing
    assert main.open_streams == spare.open_streams == user.n_open == rig.approver.open_questions == 0
    assert rig.approver.most_open_questions <= 1
    heard = [each.event.content for each in stamped if isinstance(each.event, Steered)]
    in_history = [each.text for each in history if each.turn_id == turn_id and each.text in told.accepted]
    assert heard == in_history == told.accepted
    check_calls(story, result, [each.event for each in stamped], len(main.requests) + len(spare.requests))


def _only(spare: FakeModel) -> Callable[[str], FakeModel]:
    def make(name: str) -> FakeModel:
        if name != spare.name:
            raise ModelError(f"there is no key for {name}", type="auth")
        return spare

    return make


def check_calls(story: Story, result: TurnResult, events: Sequence[AgentEvent], n_requests: int) -> None:
    """Every request is an iteration, or was told of as a retry or a fallback; what was withdrawn stays so."""
    failures = [each for each in events if isinstance(each, LlmError)]
    again = sum(each.will_retry or each.fallback_model is not None for each in failures)
    assert n_requests <= result.iterations + again
    assert n_requests >= result.iterations + again - 1 - len(story.decisions)
    granted = 1 + sum(story.pauses)
    assert not story.limits.max_iterations or result.iterations <= story.limits.max_iterations * granted
    withdrawn = {item for each in failures for item in each.withdrawn}
    texts = [each.item_id for each in events if isinstance(each, Text)]
    assert not withdrawn & set(texts)
    assert len(texts) == len(set(texts))


class Session(RuleBasedStateMachine):
    """One conversation over many turns; what a turn must leave behind is checked after each."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.history: list[Message] = []
        self.n_turns = 0

    @initialize(answers=st.lists(outcomes, max_size=9))
    def begin(self, answers: list[PermissionOutcome]) -> None:
        self.rig = make_rig(
            *FILE_TOOLS,
            *OWN_TOOLS,
            files={"a.txt": "one\n", "b.txt": "uno\n"},
            approver=FakeApprover(*answers),
            max_tool_result_chars=100,
        )

    @rule(story=stories)
    def take_a_turn(self, story: Story) -> None:
        self.n_turns += 1
        self.runner.run(live_through(self.rig, self.history, story, f"turn-{self.n_turns}"))

    @invariant()
    def the_history_can_go_on_and_nothing_is_left_running(self) -> None:
        check_history(self.history)
        assert not asyncio.all_tasks(self.runner.get_loop())

    def teardown(self) -> None:
        self.runner.close()


def test_whatever_happens_each_call_has_one_result_and_each_turn_one_beginning_and_end() -> None:
    """Over 500 turns, the same each time."""
    run_state_machine_as_test(  # pyright: ignore[reportUnknownMemberType] - it takes any factory
        Session,
        settings=settings(
            max_examples=20,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
