"""Voice input of a front end: what is heard becomes turns of its session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pygent_ls.errors import ToolError
from pygent_ls.extensions.voice import NO_SPEECH, SpeechServer, Voice, VoiceHost, VoiceOptions
from pygent_ls.sessions.turns.request import TurnRequest

if TYPE_CHECKING:
    from pygent_ls.config.settings import Settings
    from pygent_ls.editors.ports import SpeechDisplay
    from pygent_ls.extensions.mcp.servers import McpServers
    from pygent_ls.sessions.store import Sessions


SPEECH_SERVER_S = 10.0
"""Maximum time for which voice input waits until MCP servers are connected."""


def voice_of(
    sessions: Sessions,
    display: SpeechDisplay,
    *,
    servers: Callable[[], McpServers | None],
    tell: Callable[[str], None],
    settings: Callable[[], Settings],
) -> Voice:
    """Return the voice input of a front end. An utterance is text of another program, and a loopback hears anyone: it
    runs no slash command, attaches no mention, and chooses no agent."""

    async def find() -> SpeechServer:
        connected = servers()
        if connected is None:
            raise ToolError(NO_SPEECH)
        await connected.until_started(SPEECH_SERVER_S)
        return connected.speech(settings().voice.server)

    async def queue(session_id: str, text: str) -> None:
        session = await sessions.hold(session_id)
        display.begin(session, TurnRequest(parts=(text,), takes_commands=False, own_words=""))

    def n_waiting(session_id: str) -> int:
        session = sessions.live(session_id)
        return len(session.turns) if session is not None else 0

    def options() -> VoiceOptions:
        voice = settings().voice
        return VoiceOptions(poll_s=voice.poll_ms / 1000, silence_s=voice.silence_s)

    return Voice(
        VoiceHost(
            find=find,
            options=options,
            queue=queue,
            n_waiting=n_waiting,
            tell=tell,
            on_heard=display.on_heard,
            on_change=display.on_change,
        )
    )
