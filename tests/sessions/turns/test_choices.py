"""Which agent, model, mode, tools and limits a turn has, and who chose them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.events import Notice, TextDelta, ToolResult, TurnStarted
from pygent_ls.agent.kinds import Mode, ToolRisk
from pygent_ls.agent.messages import Usage
from pygent_ls.agent.ports.model import ModelFacts
from pygent_ls.agent.variants import AgentProfile, Variants, variants
from pygent_ls.errors import SessionError
from pygent_ls.sessions.turns.mentions import agent_mentioned
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.settings import MakeSystemPrompt
from pygent_ls.tools.tasks import task
from tests.agent.abilities import named, saying
from tests.fakes import Call, FakeApprover, Gate, Step, say
from tests.sessions.conversation import Conversation, Turn, conversation
from tests.sessions.subscribers import Reader

READER = AgentProfile(
    name="reader",
    description="Reads.",
    model="other/model",
    prompt="You are READER.",
    tools=("look",),
    mode="plan",
    max_iterations=2,
    temperature=0.1,
)


async def _no_prompt(_: PromptFor) -> str:
    return ""


def having(
    *profiles: AgentProfile,
    script: Sequence[Sequence[Step]] = (),
    other: Sequence[Sequence[Step]] = (),
    mode: Mode = "default",
    approver: FakeApprover | None = None,
    make_system_prompt: MakeSystemPrompt = _no_prompt,
    look_up_variants: Callable[[], Variants] | None = None,
) -> Conversation:
    """A session that knows these agents beside the shipped ones; `other` is what `other/model` says."""
    tools = (saying("look", "seen"), named("change", _changes, risk=ToolRisk.MEDIUM, read_only=False), task)
    return conversation(
        list(script),
        *tools,
        mode=mode,
        approver=approver,
        other=other,
        make_system_prompt=make_system_prompt,
        change=lambda parts: replace(
            parts, variants=variants(profiles), has_own_model=False, look_up_variants=look_up_variants
        ),
    )


async def _changes(_: object) -> str:
    return "changed"


async def ran(talk: Conversation, prompt: str = "go", **wanted: object) -> Reader:
    reader = Reader()
    request = replace(TurnRequest(parts=(prompt,)), **wanted)  # pyright: ignore[reportArgumentType]
    await Turn(talk.session.start_turn(request, reader)).result()
    return reader


def started(reader: Reader) -> tuple[str, str, str]:
    (event,) = [each.event for each in reader.events if isinstance(each.event, TurnStarted)]
    return event.agent, event.model, event.mode


async def test_a_turn_with_an_agent_has_its_model_prompt_tools_mode_limits_and_temperature() -> None:
    talk = having(READER, other=[say("", Call(name="change", arguments={})), say("", Call(name="look", arguments={}))])

    reader = await ran(talk, agent="reader")

    first, second = talk.models["other/model"].requests
    assert started(reader) == ("reader", "other/model", "plan")
    assert [each.name for each in first.tools] == ["look"]
    assert first.temperature == 0.1
    refused, _ = [each.event for each in reader.events if isinstance(each.event, ToolResult)]
    assert refused.content == "Error: change is not offered to the agent reader. Available tools: look."
    assert second.messages[-1].blocks
    assert talk.session.agent == "default", "for that turn alone"


async def test_what_an_agent_prompts_is_in_the_system_prompt() -> None:
    asked: list[str] = []

    async def make(wanted: PromptFor) -> str:
        asked.append(wanted.agent)
        return "prompt"

    await ran(having(READER, other=[say("ok")], make_system_prompt=make), agent="reader")

    assert asked == ["You are READER."]


@pytest.mark.parametrize(
    ("of_turn", "of_session", "used"),
    [(None, None, "other/model"), (None, "fake/model", "fake/model"), ("fake/model", "other/model", "fake/model")],
)
async def test_a_model_is_chosen_by_turn_then_session_then_agent_then_setting(
    of_turn: str | None, of_session: str | None, used: str
) -> None:
    talk = having(replace(READER, mode=None), script=[say("ok")], other=[say("ok")])
    if of_session:
        talk.session.set_model(of_session)
    talk.session.set_agent("reader")

    reader = await ran(talk, model=of_turn)

    assert started(reader)[1] == used
    assert talk.session.model == (of_session or "other/model")


@pytest.mark.parametrize(
    ("of_turn", "of_session", "of_agent", "used"),
    [
        (None, None, None, "default"),
        (None, None, "trust", "trust"),
        (None, "accept_edits", "trust", "accept_edits"),
        ("default", "accept_edits", "trust", "default"),
        (None, "trust", "plan", "plan"),
        ("trust", None, "plan", "trust"),
        (None, "plan", "trust", "plan"),
    ],
)
async def test_a_mode_is_chosen_by_turn_then_session_then_agent_and_one_that_plans_is_not_loosened(
    of_turn: Mode | None, of_session: Mode | None, of_agent: Mode | None, used: Mode
) -> None:
    talk = having(AgentProfile(name="mine", mode=of_agent), script=[say("ok")])
    if of_session:
        talk.session.permissions.set_mode(of_session)
    talk.session.set_agent("mine")

    assert talk.session.choices.mode_now == (used if of_turn is None else talk.session.choices.mode_now)
    assert started(await ran(talk, mode=of_turn))[2] == used
    assert talk.session.permissions.mode == (of_session or "default"), "the turn is over"


async def test_the_mode_that_the_user_sets_while_an_agent_works_counts_at_once() -> None:
    approver, gate = FakeApprover(otherwise="allow_once"), Gate()
    change = say("", Call(name="change", arguments={}))
    talk = having(
        AgentProfile(name="mine", mode="trust"), script=[change, [gate, *change], say("ok")], approver=approver
    )
    turn, _ = talk.start("@agent-mine go")
    await gate.reached()
    asked_before = len(approver.requests)
    talk.session.permissions.set_mode("default")
    gate.open()
    await turn.result()

    assert (asked_before, len(approver.requests)) == (0, 1)


async def test_an_agent_that_is_chosen_while_a_turn_runs_counts_from_its_next_call_on() -> None:
    gate, change = Gate(), Call(name="change", arguments={})
    asked: list[tuple[str, str]] = []

    async def make(wanted: PromptFor) -> str:
        asked.append((wanted.agent, wanted.mode))
        return wanted.agent

    talk = having(
        READER,
        script=[[gate, *say("", change)]],
        other=[say("", change), say("done")],
        mode="trust",
        make_system_prompt=make,
    )
    turn, reader = talk.start()
    await gate.reached()
    talk.session.set_agent("reader")
    gate.open()
    result = await turn.result()

    last = talk.models["other/model"].requests[-1]
    done, refused = [each.event.content for each in reader.events if isinstance(each.event, ToolResult)]
    assert result.text == "done"
    assert (done, refused) == ("changed", "Error: change is not offered to the agent reader. Available tools: look.")
    assert ([each.name for each in last.tools], last.temperature) == (["look"], 0.1)
    assert "You are READER." in last.system
    assert asked[-1] == ("You are READER.", "plan")
    assert "The agent is now reader." in [
        each.event.content for each in reader.events if isinstance(each.event, Notice)
    ]


async def test_a_turn_that_names_its_agent_keeps_it() -> None:
    gate = Gate()
    talk = having(
        READER, AgentProfile(name="mine"), script=[[gate, *say("", Call(name="look", arguments={}))], say("done")]
    )
    turn, reader = talk.start("@agent-mine go")
    await gate.reached()
    talk.session.set_agent("reader")
    gate.open()

    assert (await turn.result()).text == "done"
    assert Notice not in [type(each.event) for each in reader.events]


async def test_a_mention_chooses_the_agent_of_a_turn() -> None:
    talk = having(READER, other=[say("ok")])

    reader = await ran(talk, "@agent-reader what is here?", agent="default")

    assert started(reader)[0] == "reader"
    (request,) = talk.models["other/model"].requests
    assert request.messages[0].text == "@agent-reader what is here?"


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("@agent-review look", "review"),
        ("please, @agent-review.", "review"),
        ("@agent-plan or @agent-review", "plan"),
        ("mail me@agent-x.org", None),
        ("```\n@agent-review\n```", None),
        ("```\r\n@agent-review\r\n```\r\n@agent-plan", "plan"),
        ("~~~~ text\n~~~\n@agent-review\n~~~~\n@agent-plan", "plan"),
        ("- so:\n  ```py\n  @agent-review\n  ```\n@agent-plan", "plan"),
        ("```\n@agent-review, cut off", None),
        ("```one line``` @agent-review", "review"),
        ("what is `@agent-smith`?", None),
        ("`@agent-x` and @agent-review", "review"),
        ("see @agent-notes.md", None),
        ("npm install @agent-kit/core", None),
        ("@agent-x#L3", None),
        ("@agent-", None),
        ("@agent-мой_2 hi", "мой_2"),
        ("@agents.md", None),
        ("nothing", None),
    ],
)
def test_what_is_a_mention_of_an_agent(prompt: str, name: str | None) -> None:
    assert agent_mentioned(prompt) == name


@pytest.mark.parametrize(("prompt", "agent"), [("go", "nobody"), ("@agent-nobody go", None)])
async def test_an_unknown_agent_is_no_turn(prompt: str, agent: str | None) -> None:
    talk = having(READER)

    with pytest.raises(
        SessionError, match="The agents are: default, plan, review, yolo, opus, local, reader"
    ) as caught:
        talk.session.start_turn(TurnRequest(parts=(prompt,), agent=agent), Reader())

    assert caught.value.kind == "unknown_agent"
    with pytest.raises(SessionError):
        talk.session.set_agent("nobody")
    assert talk.session.agent == "default"


async def test_an_agent_that_the_settings_have_had_for_a_moment_is_found() -> None:
    talk = having(other=[say("ok")], look_up_variants=lambda: variants([READER]))

    assert started(await ran(talk, agent="reader"))[0] == "reader"


async def test_limits_are_the_turns_then_the_agents() -> None:
    looking = [say("", Call(name="look", arguments={"n": n})) for n in range(4)]
    talk = having(READER, other=looking)

    await ran(talk, agent="reader")
    await ran(talk, agent="reader", max_iterations=1)

    assert len(talk.models["other/model"].requests) == 3


async def test_an_agent_that_does_not_stream_tells_its_answer_as_a_whole() -> None:
    talk = having(AgentProfile(name="mute", stream=False), script=[say("Hello.")])

    reader = await ran(talk, agent="mute")

    assert not [each for each in reader.events if isinstance(each.event, TextDelta)]
    assert [each.event.content for each in reader.events if each.event.type == "text"] == ["Hello."]


async def test_what_is_to_be_said_of_an_agent_is_said_when_its_turn_begins() -> None:
    talk = having(script=[say("ok")])

    reader = await ran(talk, agent="yolo")

    assert started(reader)[2] == "trust"
    (said,) = [each.event.content for each in reader.events if isinstance(each.event, Notice)]
    assert "allow_bypass = true" in said


async def test_a_subagent_is_made_of_a_variant_and_may_do_no_more_than_its_parent() -> None:
    busy = AgentProfile(name="busy", model="other/model", mode="trust", prompt="Be busy.")
    narrow = AgentProfile(name="narrow", tools=("look", "task"))
    start = Call(name="task", arguments={"description": "do", "prompt": "change it", "agent": "busy"})
    talk = having(
        busy,
        narrow,
        script=[say("", start), say("Done.")],
        other=[say("", Call(name="change", arguments={})), say("ok")],
    )

    reader = await ran(talk, agent="narrow")

    first, _ = talk.models["other/model"].requests
    assert [each.name for each in first.tools] == ["look", "task"], "its parent has no more"
    refused = next(each.event for each in reader.events if isinstance(each.event, ToolResult))
    assert "change is not offered to the agent narrow" in refused.content


@pytest.mark.parametrize(
    ("agent", "is_let"), [("plan", True), ("review", True), (None, True), ("default", False), ("busy", False)]
)
async def test_in_plan_mode_only_agents_that_plan_are_started(agent: str | None, *, is_let: bool) -> None:
    arguments = {"description": "look", "prompt": "look"} | ({"agent": agent} if agent else {})
    busy = AgentProfile(name="busy", mode="trust")
    script = [say("", Call(name="task", arguments=arguments)), *([say("Seen.")] if is_let else []), say("Done.")]
    talk = having(busy, script=script)

    reader = await ran(talk, mode="plan")

    result = [each.event for each in reader.events if isinstance(each.event, ToolResult)][-1]
    assert result.is_error is not is_let
    assert ("Seen." if is_let else "plan mode allows only planning subagents: plan, review") in result.content


async def test_what_is_to_be_said_of_a_subagents_agent_is_said_once_a_turn() -> None:
    start = Call(name="task", arguments={"description": "do", "prompt": "do", "agent": "mine"})
    for agent, said in (("default", ["Its prompt is gone."]), ("mine", ["Its prompt is gone."])):
        mine = AgentProfile(name="mine", notices=("Its prompt is gone.",))
        talk = having(mine, script=[say("", start, start), say("one"), say("two"), say("Done.")])

        reader = await ran(talk, agent=agent)

        assert [each.event.content for each in reader.events if isinstance(each.event, Notice)] == said


@pytest.mark.parametrize(
    ("profile", "stop", "n_calls"),
    [
        (AgentProfile(name="mine", max_tokens=150), "reached its token limit", 1),
        (AgentProfile(name="mine", max_budget_usd=0.3), "reached the budget limit", 2),
        (AgentProfile(name="mine", max_iterations=3), "reached its limit of model calls", 3),
    ],
)
async def test_an_agents_own_limits_hold_for_its_turns_and_its_subagents(
    profile: AgentProfile, stop: str, n_calls: int
) -> None:
    paid = Usage(input_tokens=150, cost_usd=0.2)
    looking = [say("", Call(name="look", arguments={"n": n}), usage=paid) for n in range(4)]
    mine = replace(profile, model="other/model")
    start = Call(name="task", arguments={"description": "do", "prompt": "do", "agent": "mine"})
    as_turn = having(mine, other=looking)
    as_subagent = having(mine, script=[say("", start), say("Done.")], other=looking)
    for talk in (as_turn, as_subagent):
        talk.models["other/model"].facts = ModelFacts(has_price=True)

    await ran(as_turn, agent="mine")
    reader = await ran(as_subagent)

    result = [each.event for each in reader.events if isinstance(each.event, ToolResult)][-1]
    assert stop in result.content
    assert [len(each.models["other/model"].requests) for each in (as_turn, as_subagent)] == [n_calls, n_calls]
    assert len(as_subagent.models["fake/model"].requests) == 2, "its parent goes on"


async def test_an_agents_context_mode_holds_for_its_turns_alone() -> None:
    talk = having(AgentProfile(name="mine", context_mode="fresh"), script=[say("one"), say("two"), say("three")])

    await ran(talk, "first")
    await ran(talk, "second", agent="mine")
    await ran(talk, "third")

    sent = [[each.text for each in request.messages] for request in talk.models["fake/model"].requests]
    assert sent == [["first"], ["second"], ["first", "one", "second", "two", "third"]]


async def test_a_subagent_that_cannot_be_had_is_an_error_result() -> None:
    lost = AgentProfile(name="lost", model="no/model")
    for agent, said in (
        ("lost", "The agent lost cannot be started: there is no model no/model"),
        ("x", "there is no agent 'x'"),
    ):
        start = Call(name="task", arguments={"description": "do", "prompt": "do", "agent": agent})
        talk = having(lost, script=[say("", start), say("Done.")])

        reader = await ran(talk)

        result = next(each.event for each in reader.events if isinstance(each.event, ToolResult))
        assert result.is_error
        assert said in result.content
