"""A speech server for tests: an MCP server that reads WAV files through an offline recogniser, PocketSphinx.

The names, arguments and results of its tools are those of the server for which the three names were made
(`interview_assist_server.py` of micro-x-agent-loop-python): final utterances are events of their own, what is heard so
far is wrapped in `info` events. Instead of a device, each request for updates reads 0.2 s more of the files in
`MICROPHONE` or `LOOPBACK`, then silence, so that a test does not depend on time.

`SAYS` is an utterance that it hears at once, whatever the recordings hold. `PID_FILE` names a file for its process id,
`STOPPED_FILE` one that it makes when it was told to stop.
"""

from __future__ import annotations

import importlib
import os
import sys
import wave
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("speech")

SPHINX: Any = importlib.import_module("pocketsphinx")
"""The recogniser, which has no types."""

RATE_HZ = 16_000

GRAMMAR = """#JSGF V1.0;
grammar prompts;
public <prompt> = run the tests | fix the failing test | show the changes | explain this function | commit this;
"""

SILENCE = b"\0" * RATE_HZ
"""Half a second."""

N_FRAMES_PER_UPDATE = 7
"""Frames of 30 ms that one request for updates hears."""


def sound_of(path: str) -> bytes:
    """A recording of one channel and 16 bits, with this recogniser's rate, between silences."""
    with wave.open(path) as file:
        given = array("h", file.readframes(file.getnframes()))
        step = file.getframerate() / RATE_HZ
    resampled = array("h", (given[int(number * step)] for number in range(int(len(given) / step))))
    return SILENCE + resampled.tobytes() + SILENCE * 2


@dataclass
class Listening:
    """One session: what is left to hear, and what was heard."""

    sound: bytes
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    is_speaking: bool = False
    status: str = "running"

    def __post_init__(self) -> None:
        self.endpointer = SPHINX.Endpointer(sample_rate=RATE_HZ)
        self.decoder = SPHINX.Decoder(samprate=RATE_HZ, lm=None, loglevel="FATAL")
        self.decoder.add_jsgf_string("prompts", GRAMMAR)
        self.decoder.activate_search("prompts")
        self.say("info", message="stt session started")
        if said := os.environ.get("SAYS"):
            self.say("utterance_final", text=said, reason="endpoint")

    def say(self, kind: str, **payload: Any) -> None:
        """Add an event."""
        self.events.append({"seq": len(self.events) + 1, "type": kind, **payload})

    def hear(self) -> None:
        """Hear a little more."""
        size = self.endpointer.frame_bytes
        for _ in range(N_FRAMES_PER_UPDATE):
            frame, self.sound = self.sound[:size], self.sound[size:]
            speech = self.endpointer.process(frame.ljust(size, b"\0"))
            if speech is None:
                continue
            if not self.is_speaking:
                self.decoder.start_utt()
                self.is_speaking = True
            self.decoder.process_raw(speech)
            if not self.endpointer.in_speech:
                self.finish()
        if self.is_speaking and (text := self.text):
            self.say("info", message="provisional_text", payload={"event": "provisional_text", "text": text})

    @property
    def text(self) -> str:
        """What was recognised of the utterance."""
        found = self.decoder.hyp()
        return found.hypstr if found else ""

    def finish(self) -> None:
        """End the utterance."""
        if self.is_speaking:
            self.decoder.end_utt()
            self.is_speaking = False
            self.say("utterance_final", text=self.text, reason="endpoint")


SESSIONS: dict[str, Listening] = {}


def named(session_id: str) -> Listening:
    """The session of that id."""
    if session_id not in SESSIONS:
        raise ToolError(f"Unknown session_id: {session_id}")
    return SESSIONS[session_id]


@server.tool()
def stt_start_session(source: str = "microphone", language: str = "en") -> dict[str, Any]:
    """Start a continuous STT session."""
    files = os.environ.get(source.upper())
    if files is None:
        raise ToolError(f"There is no {source}")
    session_id = f"stt-{len(SESSIONS)}"
    SESSIONS[session_id] = Listening(b"".join(map(sound_of, files.split(os.pathsep))))
    return {"session_id": session_id, "status": "running", "source": source, "language": language}


@server.tool()
def stt_get_updates(session_id: str, since_seq: int = 0, limit: int = 100) -> dict[str, Any]:
    """Poll incremental events."""
    session = named(session_id)
    if session.status == "running":
        session.hear()
    events = [each for each in session.events if each["seq"] > since_seq][:limit]
    next_seq = events[-1]["seq"] if events else since_seq
    return {"session_id": session_id, "status": session.status, "events": events, "next_seq": next_seq}


@server.tool()
def stt_stop_session(session_id: str) -> dict[str, Any]:
    """Stop."""
    session = named(session_id)
    session.finish()
    session.status = "stopped"
    if path := os.environ.get("STOPPED_FILE"):
        Path(path).touch()
    return {"session_id": session_id, "status": session.status}


if __name__ == "__main__":
    if path := os.environ.get("PID_FILE"):
        Path(path).write_text(str(os.getpid()))
    sys.exit(server.run())
