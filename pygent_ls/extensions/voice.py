"""Voice input: what a speech server hears is queued as prompts of the session that started it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Literal, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.display_text import visible
from pygent_ls.errors import PygentError, ToolError

Answer = TypeVar("Answer")

VoiceSource = Literal["microphone", "loopback"]
"""What a speech server listens to: the user, or what the machine plays."""

VoiceState = Literal["off", "starting", "listening"]

NO_SPEECH = (
    "No speech server is connected. It is an MCP server with the tools stt_start_session, stt_get_updates and "
    "stt_stop_session: see `docs/voice.md`."
)

START_S = 60.0
"""Maximum time until a speech server listens. Loading a recogniser's model may take half a minute."""

POLL_S = 10.0
"""Maximum time of one request for updates."""

STOP_S = 15.0
"""Maximum time until a speech server has stopped, which may recognise the last utterance first."""

CLOSE_S = 1.0
"""Maximum time for the same when the daemon ends, which ends the server too."""

MAX_UTTERANCE_CHARS = 10_000
"""Maximum length of one utterance: ten minutes of speech."""

MAX_QUEUED = 20
"""Maximum number of prompts that may wait in the session before voice input stops, because a hostile server could send
any number."""


class SpeechEvent(Struct, frozen=True, kw_only=True):
    """Event of a speech server. An utterance's text is empty if nothing was recognised."""

    kind: Literal["partial", "utterance", "problem"]
    text: str


class SpeechUpdates(Struct, frozen=True, kw_only=True):
    """Events since the last request, in order, and where the next request begins."""

    events: Sequence[SpeechEvent]
    last_seq: int
    is_listening: bool
    """Whether the server still listens; a session that has ended there has no further events."""


class SpeechServer(Protocol):
    """Speech server that is connected. Its methods raise `ToolError`."""

    @property
    def name(self) -> str:
        """Name of the server in the settings."""
        ...

    async def start(self, source: VoiceSource) -> str:
        """Start to listen; return the id of the server's own session."""
        ...

    async def updates(self, session: str, since_seq: int) -> SpeechUpdates:
        """Return the events after one."""
        ...

    async def stop(self, session: str) -> None:
        """Stop listening. The server may recognise the last utterance first."""
        ...


class VoiceOptions(Struct, frozen=True, kw_only=True):
    """Settings of voice input."""

    poll_s: float
    silence_s: float
    """Time without speech after which voice input stops; 0 means never."""


class VoiceStatus(Struct, frozen=True, kw_only=True):
    """State of voice input. Once it is off, the other fields tell how it was."""

    state: VoiceState = "off"
    session_id: str = ""
    source: VoiceSource = "microphone"
    server: str = ""
    text: str = ""
    """What was heard of an utterance that is not complete."""
    problem: str = ""
    """Why it stopped by itself, for a person; empty otherwise."""


def unsent(status: VoiceStatus) -> str:
    """Return a sentence with the text that was heard last and not sent, or an empty text."""
    return f" Not sent: {status.text}" if status.text else ""


class Heard(Struct, frozen=True, kw_only=True):
    """Text that was heard: the whole utterance if it is final, else what is heard of it so far."""

    session_id: str
    text: str
    is_final: bool


class VoiceInput(Protocol):
    """Voice input of one front end, which has at most one at a time."""

    @property
    def status(self) -> VoiceStatus: ...

    async def start(self, session_id: str, source: VoiceSource) -> VoiceStatus:
        """Listen, and queue each utterance as a prompt of the session. Raises `SessionError`, `ToolError`."""
        ...

    async def stop(self) -> VoiceStatus:
        """Stop listening. An utterance that the server then completes is still queued; of one that it does not, the
        status has the text."""
        ...

    def give_up(self) -> None:
        """Begin to stop, because the user is gone; returns at once."""
        ...


class NoVoice:
    """A `VoiceInput` of a front end that ends with its turn."""

    status = VoiceStatus()

    async def start(self, session_id: str, source: VoiceSource) -> VoiceStatus:
        """Raise `ToolError`."""
        raise ToolError("Voice input needs an editor, or `pygent-ls chat`.")

    async def stop(self) -> VoiceStatus:
        """Return the status."""
        return self.status

    def give_up(self) -> None:
        """Do nothing: it is off."""


class VoiceHost(Struct, frozen=True, kw_only=True):
    """What voice input needs of the program that it serves."""

    find: Callable[[], Awaitable[SpeechServer]]
    """Returns the speech server to use. Raises `ToolError` if none is connected."""
    options: Callable[[], VoiceOptions]
    queue: Callable[[str, str], Awaitable[None]]
    """Queues a prompt of a session. Raises `SessionError`, `ModelError`."""
    n_waiting: Callable[[str], int]
    """Number of prompts of a session that run or wait."""
    tell: Callable[[str], None]
    """Shows the user a line."""
    on_heard: Callable[[Heard], None]
    on_change: Callable[[VoiceStatus], None]
    """Called when voice input has started or stopped."""


class Voice:
    """Owns the task that polls the speech server, and awaits it in `close`."""

    def __init__(self, host: VoiceHost) -> None:
        self._host = host
        self._status = VoiceStatus()
        self._stopping = asyncio.Event()
        self._reported = ""
        """Last problem of the server that the user was told, since some servers repeat it with each update."""
        self._task: asyncio.Task[None] | None = None

    @property
    def status(self) -> VoiceStatus:
        """Implement `VoiceInput`."""
        return self._status

    async def start(self, session_id: str, source: VoiceSource) -> VoiceStatus:
        """Implement `VoiceInput`."""
        if self._status.state != "off":
            raise ToolError("Voice input is on already. Stop it first: /voice stop")
        self._stopping, self._reported = asyncio.Event(), ""
        self._status = VoiceStatus(state="starting", session_id=session_id, source=source)
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(started), name="voice input")
        try:
            await asyncio.shield(started)
        except asyncio.CancelledError:  # the server may be about to listen: its session is still to be stopped
            self._stopping.set()
            started.cancel()
            raise
        return self._status

    async def stop(self) -> VoiceStatus:
        """Implement `VoiceInput`."""
        self.give_up()
        if self._task is not None:
            await asyncio.wait([self._task])
        return self._status

    def give_up(self) -> None:
        """Implement `VoiceInput`."""
        self._stopping.set()

    async def close(self) -> None:
        """Stop listening, and end."""
        self.give_up()
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task], timeout=CLOSE_S)
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self, started: asyncio.Future[None]) -> None:
        problem = ""
        try:
            server = await self._host.find()
            self._status = replace(self._status, server=server.name)
            session = await _within(START_S, server.start(self._status.source), server)
            self._status = replace(self._status, state="listening")
            self._host.on_change(self._status)
            if not started.done():
                started.set_result(None)
            problem = await self._listen(server, session)
        except PygentError as error:
            if not started.done():
                started.set_exception(error)
                return
            problem = str(error)
        finally:
            started.cancel()
            self._status = replace(self._status, state="off", problem=problem)
            if problem:
                self._host.tell(f"{problem}{unsent(self._status)}")
            self._host.on_change(self._status)

    async def _listen(self, server: SpeechServer, session: str) -> str:
        """Poll until voice input is stopped; return why, if it was not the user. Raises `PygentError` if the server or
        the session is lost."""
        last_seq, is_listening = 0, True
        try:
            clock = asyncio.get_running_loop().time
            spoke_at = clock()
            while is_listening and not self._stopping.is_set():
                updates = await _within(POLL_S, server.updates(session, last_seq), server)
                last_seq, is_listening = updates.last_seq, updates.is_listening
                await self._take(updates)
                options = self._host.options()
                is_speech = any(each.kind != "problem" for each in updates.events)
                if is_speech or self._host.n_waiting(self._status.session_id):
                    spoke_at = clock()
                if options.silence_s and clock() - spoke_at >= options.silence_s:
                    return f"Voice input was stopped after {options.silence_s:g} s of silence."
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), options.poll_s)
        finally:
            if is_listening:
                await self._end(server, session, last_seq)
        return "" if self._stopping.is_set() else f"The speech server {server.name} has stopped listening."

    async def _end(self, server: SpeechServer, session: str, last_seq: int) -> None:
        """Stop the server's session, and take what it heard to the end."""
        with suppress(ToolError):  # a server that is lost listens no more
            await _within(STOP_S, server.stop(session), server)
            await self._take(await _within(POLL_S, server.updates(session, last_seq), server))

    async def _take(self, updates: SpeechUpdates) -> None:
        """Show and queue what was heard. Raises `PygentError` if it cannot be queued."""
        for event in updates.events:
            text = visible(" ".join(event.text[:MAX_UTTERANCE_CHARS].split()))
            match event.kind:
                case "problem":
                    self._report(f"The speech server {self._status.server}: {text}")
                case "partial":
                    self._hear(text, is_final=False)
                case "utterance" if text:
                    await self._queue(text)
                case "utterance":
                    self._hear("", is_final=False)

    async def _queue(self, text: str) -> None:
        self._status = replace(self._status, text=text)
        n_waiting = self._host.n_waiting(self._status.session_id)
        if n_waiting >= MAX_QUEUED:
            raise ToolError(f"Voice input was stopped: {n_waiting} prompts wait in the session.")
        await self._host.queue(self._status.session_id, text)
        self._hear(text, is_final=True)

    def _report(self, problem: str) -> None:
        if problem != self._reported:
            self._reported = problem
            self._host.tell(problem)

    def _hear(self, text: str, *, is_final: bool) -> None:
        self._status = replace(self._status, text="" if is_final else text)
        self._host.on_heard(Heard(session_id=self._status.session_id, text=text, is_final=is_final))


async def _within(limit_s: float, answer: Awaitable[Answer], server: SpeechServer) -> Answer:
    """Return the server's answer. Raises `ToolError` at the time limit."""
    limit = asyncio.timeout(limit_s)
    try:
        async with limit:
            return await answer
    except TimeoutError:
        if not limit.expired():
            raise
        raise ToolError(f"The speech server {server.name} did not answer within {limit_s:g} s.") from None
