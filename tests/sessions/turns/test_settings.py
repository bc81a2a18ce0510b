"""Settings are taken when a turn begins, and what a session was told to use goes before them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.permissions.permissions import Policy
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.agent.turn_spec import TurnLimits
from pygent_ls.errors import ModelError
from pygent_ls.sessions.lifecycle.defaults import NewSession, SessionDefaults
from pygent_ls.sessions.store import Sessions
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.settings import SessionLimits, TurnSettings
from tests.fakes import FOLDER, FakeModel, Gate, bounded, make_rig, say, with_parts
from tests.sessions.conversation import LIMITS, say_mode
from tests.sessions.subscribers import Reader


@dataclass(kw_only=True)
class Now:
    """What the settings say now; `gate` holds whoever takes them."""

    model: str = "fake/model"
    mode: Mode = "default"
    limits: SessionLimits = LIMITS
    policy: Policy = field(default_factory=Policy)
    endpoint: str = "here"
    notices: tuple[str, ...] = ()
    max_chars: int = 1000
    gate: Gate | None = None


class Desk:
    """Sessions whose settings a test can change; the models that were made are kept."""

    def __init__(self, now: Now) -> None:
        self.now = now
        self.made: list[tuple[str, str]] = []
        self.asked: list[FakeModel] = []
        self.reader = Reader()
        self.sessions = Sessions(
            lambda: SessionDefaults(
                working_directory=FOLDER, agent="default", model=now.model, mode=now.mode, limits=now.limits
            ),
            make_services=lambda _, mode: make_rig(mode=mode).services,
            make_model=self._make(now.endpoint),
            make_system_prompt=say_mode,
            on_change=lambda _session, _what: None,
            take_settings=self._take,
        )

    async def _take(self) -> TurnSettings:
        now = dataclasses.replace(self.now)
        if now.gate is not None:
            await now.gate.pass_through()

        async def say_endpoint(wanted: PromptFor) -> str:
            return f"Mode {wanted.mode} by {now.endpoint}"

        return TurnSettings(
            model=now.model,
            mode=now.mode,
            limits=now.limits,
            policy=now.policy,
            endpoint=now.endpoint,
            make_model=self._make(now.endpoint),
            make_system_prompt=say_endpoint,
            renewed=lambda services: with_parts(services, max_tool_result_chars=now.max_chars),
            notices=now.notices,
        )

    def _make(self, endpoint: str) -> Callable[[str], FakeModel]:
        def make(name: str) -> FakeModel:
            if name == "nonsense":
                raise ModelError("there is no such model", type="invalid_request")
            self.made.append((name, endpoint))
            model = FakeModel([say("one"), say("two"), say("three")], name=name)
            self.asked.append(model)
            return model

        return make

    async def turn(self, session_id: str, request: TurnRequest | None = None) -> str:
        """Run a turn; returns why it stopped."""
        running = (await self.sessions.hold(session_id)).start_turn(request or TurnRequest(parts=("go",)), self.reader)
        assert running.task is not None
        return (await bounded(running.task)).stop_reason


async def test_a_turn_begins_with_the_settings_as_they_are_by_then() -> None:
    desk = Desk(Now())
    session = desk.sessions.new(NewSession())
    await desk.turn(session.id)
    rule = Rule(text="shell", decision="deny", origin="user")
    desk.now = Now(
        model="new/model",
        mode="plan",
        limits=replace(
            LIMITS,
            turn=TurnLimits(max_iterations=7),
            model=replace(LIMITS.model, temperature=0.25, max_output_tokens=77),
        ),
        policy=Policy(rules=(rule,)),
        endpoint="there",
        notices=("Look!",),
    )

    await desk.turn(session.id)

    (request,) = desk.asked[-1].requests
    assert desk.made[-1] == ("new/model", "there")
    assert request.system.startswith("Mode plan by there")
    assert (request.temperature, request.max_output_tokens) == (0.25, 77)
    assert (session.model, session.permissions.mode) == ("new/model", "plan")
    assert rule in session.permissions.rules()
    kinds = desk.reader.types
    last = len(kinds) - 1 - kinds[::-1].index("turn_started")
    assert kinds[last + 1] == "notice"
    assert "notice" not in kinds[:last]


async def test_what_was_chosen_for_a_session_goes_before_the_settings() -> None:
    desk = Desk(Now())
    session = desk.sessions.new(NewSession(model="own/model", mode="trust"))
    other = desk.sessions.new(NewSession())
    other.set_model("late/model")
    other.permissions.set_mode("accept_edits")
    desk.now = Now(model="new/model", mode="plan")

    await desk.turn(session.id)
    await desk.turn(other.id)

    assert (session.model, session.permissions.mode) == ("own/model", "trust")
    assert (other.model, other.permissions.mode) == ("late/model", "accept_edits")


async def test_a_model_keeps_its_place_until_the_endpoint_changes() -> None:
    desk = Desk(Now())
    session = desk.sessions.new(NewSession())

    await desk.turn(session.id)
    await desk.turn(session.id)
    assert [len(each.requests) for each in desk.asked if each.requests] == [2]
    desk.now = Now(endpoint="there")
    await desk.turn(session.id)

    assert [len(each.requests) for each in desk.asked if each.requests] == [2, 1]


async def test_bypass_ends_for_a_session_when_the_user_takes_it_back() -> None:
    desk = Desk(Now(policy=Policy(may_bypass=True)))
    session = desk.sessions.new(NewSession())
    await desk.turn(session.id)
    session.permissions.set_mode("bypass")
    desk.now = Now(mode="plan")

    await desk.turn(session.id)

    assert session.permissions.mode == "plan"


async def test_a_turn_is_cancelled_while_it_waits_for_its_settings_and_others_go_on() -> None:
    gate = Gate()
    desk = Desk(Now(gate=gate))
    session, other = desk.sessions.new(NewSession()), desk.sessions.new(NewSession())
    waiting = session.start_turn(TurnRequest(parts=("go",)), desk.reader)
    await gate.reached()
    desk.now = Now()

    assert await desk.turn(other.id) == "end_turn"
    assert waiting.cancel()

    assert waiting.task is not None
    assert (await bounded(waiting.task)).stop_reason == "cancelled"
    assert desk.reader.types[-3:] == ["turn_started", "cancelled", "finished"]
    assert await desk.turn(session.id) == "end_turn"


async def test_settings_that_come_to_name_no_model_fail_the_turn_and_not_the_session() -> None:
    desk = Desk(Now())
    session = desk.sessions.new(NewSession())
    desk.now = Now(model="nonsense")

    with pytest.raises(ModelError, match="no such model"):
        await desk.turn(session.id)
    assert desk.reader.types == ["turn_started", "finished"]
    desk.now = Now()
    assert await desk.turn(session.id) == "end_turn"
