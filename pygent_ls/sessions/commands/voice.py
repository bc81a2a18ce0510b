"""Slash command for voice input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pygent_ls.extensions.voice import VoiceSource, unsent
from pygent_ls.sessions.commands.command import Command, CommandCall, WordChoice, one_of

_SOURCES: Mapping[str, VoiceSource] = {"microphone": "microphone", "loopback": "loopback"}

_MEANINGS: Mapping[VoiceSource, str] = {"microphone": "what you say", "loopback": "what the machine plays"}


async def _status(call: CommandCall) -> str:
    status = call.facts.voice().status
    match status.state:
        case "listening":
            elsewhere = "" if status.session_id == call.session.id else f" for the session `{status.session_id}`"
            heard = f" Heard so far: {status.text}" if status.text else ""
            return f"The speech server `{status.server}` listens to the {status.source}{elsewhere}.{heard}"
        case "starting":
            return "Voice input is being started."
        case "off":
            return f"Voice input is off. {status.problem}".strip() + unsent(status)


async def _start(call: CommandCall) -> str:
    source = one_of(call, "The source", _SOURCES) if call.text else "microphone"
    status = await call.facts.voice().start(call.session.id, source)
    return (
        f"The speech server `{status.server}` listens to the {source}. Each utterance is sent as a prompt; "
        "`/voice stop` ends this."
    )


async def _stop(call: CommandCall) -> str:
    voice = call.facts.voice()
    if voice.status.state == "off":
        return "Voice input is off."
    return f"Voice input is off.{unsent(await voice.stop())}"


async def _sources(call: CommandCall) -> Sequence[WordChoice]:
    return [] if call.words else [WordChoice(word=each, detail=_MEANINGS[each]) for each in _SOURCES.values()]


COMMANDS = (
    Command(
        name="voice",
        description="speak prompts, through a speech server",
        parts=(
            Command(name="status", description="show whether it is on", run=_status),
            Command(
                name="start",
                takes="[microphone|loopback]",
                description="listen, and send each utterance as a prompt",
                run=_start,
                complete=_sources,
                can_be_cancelled=True,
            ),
            Command(name="stop", description="stop listening", run=_stop),
        ),
    ),
)
