"""Reports of subagents in the background, as a session hears of them."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from pygent_ls.agent.messages import now
from pygent_ls.agent.ports.processes import BackgroundCommand, BackgroundListener
from pygent_ls.sessions.background_reports import MAX_WAKES
from pygent_ls.sessions.turns.session_parts import SessionParts
from tests.agent.abilities import FILE_TOOLS
from tests.fakes import FakeBackground, FakeProcesses, say, with_parts
from tests.sessions.conversation import Conversation, conversation


class TellingBackground(FakeBackground):
    """Tells the session of ends, as a test says."""

    listener: BackgroundListener

    def listen(self, owner: str, listener: BackgroundListener) -> None:
        self.listener = listener

    def end_one(self, report: str) -> None:
        self.listener.ended(
            BackgroundCommand(
                name="agent_1",
                command="look",
                started_at=now(),
                runs=False,
                exit_code=0,
                kind="agent",
                report=report,
            )
        )


def talking(*script: str, wakes: bool) -> tuple[Conversation, TellingBackground]:
    background = TellingBackground()

    def change(parts: SessionParts) -> SessionParts:
        processes = FakeProcesses()
        processes.background = background
        return replace(
            parts, services=with_parts(parts.services, processes=processes), limits=replace(parts.limits, wakes=wakes)
        )

    return conversation([say(each) for each in script], *FILE_TOOLS, change=change), background


async def settled(talk: Conversation) -> None:
    while talk.session.turns:
        task = talk.session.turns[0].task
        assert task is not None
        await task


async def test_a_report_starts_a_turn_only_so_often_without_a_prompt() -> None:
    talk, background = talking(*["I see."] * (MAX_WAKES + 2), wakes=True)
    for number in range(MAX_WAKES + 2):
        background.end_one(f"report {number}")
        await _next_step()
        await settled(talk)

    assert len(talk.model.requests) == MAX_WAKES
    assert len(talk.session.agent_notes) == 1  # of one name; both texts wait
    await talk.turn("well?")
    last = str(talk.model.requests[-1].messages[-1])
    assert "report 3" in last
    assert "report 4" in last
    assert talk.session.agent_notes == ()


async def test_without_the_setting_it_waits_for_the_next_prompt() -> None:
    talk, background = talking("I see.", wakes=False)
    background.end_one("seven files")
    await _next_step()
    assert talk.session.turns == []

    await talk.turn("well?")

    assert "seven files" in str(talk.model.requests[0].messages)


async def test_the_end_of_a_session_starts_no_turn() -> None:
    talk, background = talking("never", wakes=True)
    background.end_one("seven files")
    await talk.session.close()
    await _next_step()

    assert talk.session.turns == []
    assert talk.model.requests == []


async def _next_step() -> None:
    """Let what was scheduled for the next step of the event loop run."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)
