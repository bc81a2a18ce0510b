"""Voice input with a speech server that a test plays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from pygent_ls.errors import SessionError, ToolError
from pygent_ls.extensions.voice import (
    MAX_QUEUED,
    Heard,
    SpeechEvent,
    SpeechUpdates,
    Voice,
    VoiceHost,
    VoiceOptions,
    VoiceSource,
    VoiceStatus,
)
from tests.fakes import bounded


def partial(text: str) -> SpeechEvent:
    """What is heard so far."""
    return SpeechEvent(kind="partial", text=text)


def utterance(text: str) -> SpeechEvent:
    """A whole utterance."""
    return SpeechEvent(kind="utterance", text=text)


OFTEN = 50
"""Number of requests for updates that take longer than the silence of a test."""


@dataclass(kw_only=True)
class Speaker:
    """A `SpeechServer`: says what the test gives it, one list for each request, then silence."""

    name: str = "speech"
    updates_given: asyncio.Queue[list[SpeechEvent] | ToolError] = field(
        default_factory=asyncio.Queue[list[SpeechEvent] | ToolError]
    )
    last_words: list[SpeechEvent] = field(default_factory=list[SpeechEvent])
    """What it recognises when it is told to stop."""
    may_start: asyncio.Event = field(default_factory=asyncio.Event)
    is_listening: bool = False
    source: VoiceSource | None = None
    n_asked: int = 0
    was_asked_to_start: asyncio.Event = field(default_factory=asyncio.Event)
    was_asked_often: asyncio.Event = field(default_factory=asyncio.Event)
    ends_by_itself: bool = False

    async def start(self, source: VoiceSource) -> str:
        self.was_asked_to_start.set()
        await self.may_start.wait()
        self.is_listening, self.source = True, source
        return "stt-1"

    async def updates(self, session: str, since_seq: int) -> SpeechUpdates:
        assert session == "stt-1"
        self.n_asked += 1
        if self.n_asked > OFTEN:
            self.was_asked_often.set()
        if not self.is_listening:
            return SpeechUpdates(events=self.last_words, last_seq=since_seq + 1, is_listening=False)
        events = [] if self.updates_given.empty() else self.updates_given.get_nowait()
        if isinstance(events, ToolError):
            self.is_listening = False
            raise events
        ends = self.ends_by_itself and self.updates_given.empty()
        self.is_listening = not ends
        return SpeechUpdates(events=events, last_seq=since_seq + 1, is_listening=not ends)

    async def stop(self, session: str) -> None:
        assert session == "stt-1"
        if not self.is_listening:
            raise ToolError("no such session")
        self.is_listening = False


@dataclass(kw_only=True)
class Room:
    """Voice input, the server that it uses, and what became of it."""

    speaker: Speaker = field(default_factory=Speaker)
    silence_s: float = 0.0
    queued: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    heard: list[Heard] = field(default_factory=list[Heard])
    changes: list[VoiceStatus] = field(default_factory=list[VoiceStatus])
    told: list[str] = field(default_factory=list[str])
    n_waiting: int = 0
    refusal: SessionError | None = None
    something: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.voice = Voice(
            VoiceHost(
                find=self._find,
                options=lambda: VoiceOptions(poll_s=0.001, silence_s=self.silence_s),
                queue=self._queue,
                n_waiting=lambda _: self.n_waiting,
                tell=self.told.append,
                on_heard=self._hear,
                on_change=self._change,
            )
        )

    async def _find(self) -> Speaker:
        return self.speaker

    async def _queue(self, session_id: str, text: str) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.queued.append((session_id, text))
        self.something.set()

    def _hear(self, heard: Heard) -> None:
        self.heard.append(heard)
        self.something.set()

    def _change(self, status: VoiceStatus) -> None:
        self.changes.append(status)
        self.something.set()

    async def on(self, source: VoiceSource = "microphone") -> VoiceStatus:
        """Start to listen for the session `s`."""
        self.speaker.may_start.set()
        return await bounded(self.voice.start("s", source))

    def say(self, *events: SpeechEvent) -> None:
        """Give the server something to say."""
        self.speaker.updates_given.put_nowait(list(events))

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until this is true."""

        async def waited() -> None:
            while not true():
                self.something.clear()
                await self.something.wait()

        await bounded(waited())


@pytest.fixture
def room() -> Room:
    """A room in which nothing was said."""
    return Room()


async def test_partial_text_is_shown_and_each_utterance_is_queued(room: Room) -> None:
    room.say(partial("run"), partial("run the"))
    room.say(partial("run the tests"), utterance("run  the tests\n"), partial("and"))
    room.say(utterance("and commit"))
    status = await room.on("loopback")
    await room.until(lambda: len(room.queued) == 2)
    stopped = await bounded(room.voice.stop())

    assert room.speaker.source == "loopback"
    assert (status.state, status.session_id, status.source, status.server) == ("listening", "s", "loopback", "speech")
    assert [(each.text, each.is_final) for each in room.heard] == [
        ("run", False),
        ("run the", False),
        ("run the tests", False),
        ("run the tests", True),
        ("and", False),
        ("and commit", True),
    ]
    assert room.queued == [("s", "run the tests"), ("s", "and commit")]
    assert (stopped.state, stopped.text, stopped.problem) == ("off", "", "")
    assert [each.state for each in room.changes] == ["listening", "off"]
    assert not room.speaker.is_listening


async def test_what_the_server_recognises_when_it_is_stopped_is_queued(room: Room) -> None:
    room.say(partial("fix the"))
    room.speaker.last_words = [utterance("fix the test")]
    await room.on()
    await room.until(lambda: bool(room.heard))
    stopped = await bounded(room.voice.stop())

    assert room.queued == [("s", "fix the test")]
    assert stopped.text == ""


async def test_an_utterance_that_no_server_completes_is_not_lost(room: Room) -> None:
    room.say(partial("fix the"))
    await room.on()
    await room.until(lambda: bool(room.heard))
    stopped = await bounded(room.voice.stop())

    assert room.queued == []
    assert (stopped.state, stopped.text) == ("off", "fix the")


async def test_the_death_of_the_server_is_told_with_the_text_that_was_not_sent(room: Room) -> None:
    room.say(partial("fix the"))
    room.speaker.updates_given.put_nowait(ToolError("The MCP server speech is not connected."))
    await room.on()
    await room.until(lambda: room.voice.status.state == "off")

    assert room.told == ["The MCP server speech is not connected. Not sent: fix the"]
    assert room.changes[-1] == VoiceStatus(
        session_id="s", server="speech", text="fix the", problem="The MCP server speech is not connected."
    )


async def test_voice_input_stops_after_a_long_silence(room: Room) -> None:
    room.silence_s = 0.05
    await room.on()
    await room.until(lambda: room.voice.status.state == "off")

    assert room.told == ["Voice input was stopped after 0.05 s of silence."]
    assert not room.speaker.is_listening


async def test_a_turn_is_no_silence(room: Room) -> None:
    room.silence_s, room.n_waiting = 0.001, 1
    await room.on()
    await bounded(room.speaker.was_asked_often.wait())
    status = room.voice.status
    await bounded(room.voice.stop())

    assert status.state == "listening"


async def test_a_server_that_stops_by_itself_is_told_of(room: Room) -> None:
    room.speaker.ends_by_itself = True
    room.say(SpeechEvent(kind="problem", text="no device"), SpeechEvent(kind="problem", text="no device"))
    await room.on()
    await room.until(lambda: room.voice.status.state == "off")

    assert room.told == ["The speech server speech: no device", "The speech server speech has stopped listening."]


async def test_a_session_that_takes_no_prompt_ends_voice_input(room: Room) -> None:
    room.refusal = SessionError("There is no session 's'.", kind="unknown_session")
    room.say(utterance("run the tests"))
    await room.on()
    await room.until(lambda: room.voice.status.state == "off")

    assert room.told == ["There is no session 's'. Not sent: run the tests"]
    assert not room.speaker.is_listening


async def test_a_server_cannot_fill_the_queue(room: Room) -> None:
    room.n_waiting = MAX_QUEUED
    room.say(utterance("spam"), utterance("spam"))
    await room.on()
    await room.until(lambda: room.voice.status.state == "off")

    assert room.queued == []
    assert room.told == [f"Voice input was stopped: {MAX_QUEUED} prompts wait in the session. Not sent: spam"]


async def test_controls_in_an_utterance_are_made_visible(room: Room) -> None:
    room.say(utterance("run\x1b[2Jthe\u202etests"), utterance(" \n "))
    await room.on()
    await room.until(lambda: len(room.heard) == 2)
    await bounded(room.voice.stop())

    assert room.queued == [("s", "run\\x1b[2Jthe\\u202etests")]


async def test_it_is_on_once(room: Room) -> None:
    await room.on()
    with pytest.raises(ToolError, match="on already"):
        await room.on()
    await bounded(room.voice.stop())

    assert (await room.on()).state == "listening"
    await bounded(room.voice.close())
    assert not room.speaker.is_listening


async def test_a_cancelled_start_leaves_no_open_microphone(room: Room) -> None:
    starting = asyncio.create_task(room.voice.start("s", "microphone"))
    await bounded(room.speaker.was_asked_to_start.wait())
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await bounded(starting)
    room.speaker.may_start.set()
    await room.until(lambda: room.voice.status.state == "off" and bool(room.changes))

    assert [each.state for each in room.changes] == ["listening", "off"]
    assert not room.speaker.is_listening


async def test_a_server_that_never_listens_does_not_hold_the_end_up(room: Room) -> None:
    starting = asyncio.create_task(room.voice.start("s", "microphone"))
    await bounded(room.speaker.was_asked_to_start.wait())
    await bounded(room.voice.close())

    with pytest.raises(asyncio.CancelledError):
        await bounded(starting)
    assert room.voice.status.state == "off"
