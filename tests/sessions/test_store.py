"""The sessions of one daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.errors import ModelError, SessionError, ToolError
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.lifecycle.defaults import NewSession, SessionDefaults
from pygent_ls.sessions.session import Session
from pygent_ls.sessions.store import Sessions
from pygent_ls.sessions.turns.request import TurnRequest
from tests.fakes import FOLDER, FakeModel, Gate, bounded, make_rig
from tests.sessions.conversation import LIMITS, say_mode
from tests.sessions.subscribers import Reader


class Store:
    """Sessions on fakes, and what they told."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.changes: list[tuple[str, str]] = []
        self.sessions = Sessions(
            lambda: SessionDefaults(
                working_directory=FOLDER, agent="default", model="fake/model", mode="default", limits=LIMITS
            ),
            make_services=self._services,
            make_model=self._model,
            make_system_prompt=say_mode,
            on_change=lambda session_id, what: self.changes.append((session_id, what)),
        )

    def _services(self, session_id: str, mode: Mode) -> SessionServices:
        return make_rig(mode=mode).services

    def _model(self, name: str) -> Model:
        if name == "nonsense":
            raise ModelError("no such model", type="invalid_request")
        return FakeModel([[self.gate]], name=name)


def test_a_new_session_begins_with_the_defaults_or_with_what_is_asked_for() -> None:
    store = Store()

    plain = store.sessions.new(NewSession())
    asked = store.sessions.new(
        NewSession(working_directory=Path("/elsewhere"), model="other/model", mode="plan", name="Mine")
    )

    assert (plain.working_directory, plain.model, plain.permissions.mode) == (FOLDER, "fake/model", "default")
    assert (asked.working_directory, asked.model, asked.name) == (Path("/elsewhere"), "other/model", "Mine")
    assert asked.permissions.mode == "plan"
    assert store.changes == [(plain.id, "created"), (asked.id, "created")]
    assert store.sessions.all() == [plain, asked]


async def test_a_session_is_found_by_its_id_alone() -> None:
    store = Store()
    session = store.sessions.new(NewSession())

    assert await store.sessions.hold(session.id) is session
    with pytest.raises(SessionError, match="There is no session 'gone'") as raised:
        await store.sessions.hold("gone")
    assert raised.value.kind == "unknown_session"


async def test_who_has_read_the_end_of_a_turn_may_fork_it_at_once() -> None:
    store = Store()
    session = store.sessions.new(NewSession())
    forks: list[asyncio.Task[Session]] = []

    class ForksAtTheEnd(Reader):
        def deliver(self, events: Sequence[SessionEvent]) -> None:
            super().deliver(events)
            if "finished" in self.types and not forks:
                forks.append(asyncio.ensure_future(store.sessions.fork(session.id)))

    store.gate.open()
    running = session.start_turn(TurnRequest(parts=("go",)), ForksAtTheEnd())
    assert running.task is not None
    await bounded(running.task)

    assert (await bounded(forks[0])).messages == session.messages != []


def test_no_session_is_made_for_a_model_that_cannot_be_had() -> None:
    store = Store()

    with pytest.raises(ModelError):
        store.sessions.new(NewSession(model="nonsense"))

    assert store.sessions.all() == []
    assert store.changes == []


async def test_closing_ends_the_turns_of_every_session() -> None:
    store = Store()
    readers = [Reader(), Reader()]
    for reader in readers:
        store.sessions.new(NewSession()).start_turn(TurnRequest(parts=("go",)), reader)
    await store.gate.reached()

    await bounded(store.sessions.close())

    assert [reader.types[-1] for reader in readers] == ["finished", "finished"]
    assert [session.running for session in store.sessions.all()] == [None, None]


@pytest.mark.parametrize("how", ["deleted", "the daemon ends"])
async def test_what_is_kept_of_cut_results_goes_with_the_session(how: str) -> None:
    store = Store()
    session = store.sessions.new(NewSession())
    outputs = session.services.memory.outputs
    await outputs.keep("a", "shell", "1234")

    await bounded(store.sessions.delete(session.id) if how == "deleted" else store.sessions.close())

    with pytest.raises(ToolError, match="output:a does not exist or is no longer stored"):
        await outputs.text_of("output:a")
