"""The order in which prompts run and join a turn: that of their acceptance, however long each takes to be masked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.events import Compacted, Steered, TurnQueued
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.errors import SessionError
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.steering import steer
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.sessions.turns.session_parts import SessionParts
from tests.fakes import FakeModel, Gate, bounded, say, with_parts
from tests.sessions.conversation import Conversation, conversation
from tests.sessions.subscribers import Reader

NAMES = ("one", "two", "three", "four")

LATENCIES = st.fixed_dictionaries({name: st.integers(0, 12) for name in NAMES})
"""Passes of the event loop that masking each prompt takes."""


class SlowSecrets(SessionSecrets):
    """Masks nothing, and takes as many passes of the event loop over a text as the test says."""

    def __init__(self, latencies: Mapping[str, int]) -> None:
        super().__init__()
        self._latencies = latencies

    async def masked(self, text: str, path: str | None = None) -> str:
        """Implement `Secrets`."""
        await passes(self._latencies.get(text, 0))
        return text


async def passes(n: int) -> None:
    """Let the event loop run so many times."""
    for _ in range(n):
        await asyncio.sleep(0)


def talk_of(latencies: Mapping[str, int], *, gate: Gate, n_answers: int) -> Conversation:
    """A conversation whose first answer waits at the gate."""

    def slow(parts: SessionParts) -> SessionParts:
        return replace(parts, services=with_parts(parts.services, secrets=SlowSecrets(latencies)))

    return conversation([[gate, *say("first")], *(say(f"answer {n}") for n in range(n_answers))], change=slow)


def prompts_of(model: FakeModel) -> list[str]:
    """The last words of the user in each request."""
    return [each.messages[-1].text for each in model.requests]


@given(
    latencies=LATENCIES,
    n_passes_of_first=st.integers(0, 30),
    dropped=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 12), max_size=2),
)
def test_prompts_run_in_the_order_of_their_acceptance_however_long_each_is(
    latencies: dict[str, int], n_passes_of_first: int, dropped: dict[str, int]
) -> None:
    async def run() -> None:
        gate = Gate()
        talk = talk_of(latencies, gate=gate, n_answers=len(NAMES))
        first, _ = talk.start("go")
        await gate.reached()
        reader = Reader()
        turns = {name: talk.session.start_turn(TurnRequest(parts=(name,)), reader) for name in NAMES}
        for name, n_passes in dropped.items():
            await passes(n_passes)
            turns[name].cancel()
        await passes(n_passes_of_first)
        gate.open()
        await first.result()
        for turn in turns.values():
            assert turn.task is not None
            await bounded(turn.task)

        wanted = [name for name in NAMES if name not in dropped]
        assert prompts_of(talk.model) == ["go", *wanted]
        queued = [each.event.prompt for each in reader.events if isinstance(each.event, TurnQueued)]
        assert queued == sorted(queued, key=NAMES.index)
        assert talk.session.is_idle

    asyncio.run(run())


@given(latencies=LATENCIES)
def test_what_is_said_to_a_turn_joins_it_in_the_order_in_which_it_was_said(latencies: dict[str, int]) -> None:
    async def run() -> None:
        gate = Gate()
        talk = talk_of(latencies, gate=gate, n_answers=1)
        turn, reader = talk.start("go")
        await gate.reached()
        said = [asyncio.ensure_future(steer(talk.session, turn.id, (name,))) for name in NAMES]
        assert await bounded(asyncio.gather(*said)) == [True] * len(NAMES)
        gate.open()
        await turn.result()
        assert [each.event.content for each in reader.events if isinstance(each.event, Steered)] == [*NAMES]

    asyncio.run(run())


async def test_who_has_read_the_end_of_a_turn_may_compact_at_once() -> None:
    talk = conversation([say("one"), say("two")])
    asked: list[asyncio.Task[Compacted]] = []

    class AsksAtTheEnd(Reader):
        def deliver(self, events: Sequence[SessionEvent]) -> None:
            super().deliver(events)
            if "finished" in self.types and not asked:
                asked.append(asyncio.ensure_future(talk.session.compact()))

    running = talk.session.start_turn(TurnRequest(parts=("go",)), AsksAtTheEnd())
    assert running.task is not None
    await bounded(running.task)

    with pytest.raises(SessionError) as refused:
        await bounded(asked[0])
    assert refused.value.kind != "turn_running"
