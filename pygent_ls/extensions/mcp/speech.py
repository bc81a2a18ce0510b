"""Speech servers: MCP servers with the tools `stt_start_session`, `stt_get_updates` and `stt_stop_session`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field

from pygent_ls.agent.display_text import one_line
from pygent_ls.errors import ToolError
from pygent_ls.extensions.mcp.tools import CallTool, model_text
from pygent_ls.extensions.voice import SpeechEvent, SpeechUpdates, VoiceSource

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool

START, UPDATES, STOP = "stt_start_session", "stt_get_updates", "stt_stop_session"

SPEECH_TOOLS = frozenset({START, UPDATES, STOP})

MAX_EVENTS = 100
"""Maximum number of events in one answer, as the server is asked for them."""

_OVER = frozenset({"stopped", "ended", "closed", "completed", "finished", "failed", "error"})
"""States of a session in which a server no longer listens."""


class McpSpeech(Struct, frozen=True, kw_only=True):
    """A `SpeechServer` that is an MCP server."""

    name: str
    call: CallTool
    takes: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Names of the arguments of each tool, as it declares them; a tool that is not here takes all."""

    async def start(self, source: VoiceSource) -> str:
        """Implement `SpeechServer`."""
        session = (await self._answer(START, {"source": source})).get("session_id")
        if not isinstance(session, str | int) or session == "":
            raise ToolError(f"The speech server {self.name} returned no session_id.")
        return str(session)

    async def updates(self, session: str, since_seq: int) -> SpeechUpdates:
        """Implement `SpeechServer`."""
        asked = {"session_id": session, "since_seq": since_seq, "limit": MAX_EVENTS}
        return updates_in(await self._answer(UPDATES, asked), since_seq)

    async def stop(self, session: str) -> None:
        """Implement `SpeechServer`."""
        await self._answer(STOP, {"session_id": session})

    async def _answer(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        known = self.takes.get(tool)
        given = {name: value for name, value in arguments.items() if known is None or name in known}
        result = await self.call(tool, given, _unreported)
        if result.is_error:
            text, _ = model_text(result.content)
            raise ToolError(
                f"The speech server {self.name} reports: {one_line(text, 500) or 'an error without a text'}"
            )
        found = object_in(result)
        if found is None:
            raise ToolError(f"The speech server {self.name} answered {tool} with something other than a JSON object.")
        return found


def speech_of(server: str, listed: Sequence[Tool], call: CallTool) -> McpSpeech | None:
    """Return a server as a speech server; None if it lacks one of the tools."""
    takes = {
        each.name: frozenset(cast("Mapping[str, Any]", properties))
        for each in listed
        if each.name in SPEECH_TOOLS and isinstance(properties := each.input_schema.get("properties") or None, Mapping)
    }
    return McpSpeech(name=server, call=call, takes=takes) if {each.name for each in listed} >= SPEECH_TOOLS else None


async def _unreported(_text: str) -> None:
    """Drop the progress of a call."""


def object_in(result: CallToolResult) -> Mapping[str, Any] | None:
    """Return the JSON object of a result: its structured content, one wrapped in `result`, or one in its text."""
    text, _ = model_text(result.content)
    structured: Any = result.structured_content
    if isinstance(structured, Mapping):
        fields = cast("Mapping[str, Any]", structured)
        if set(fields) != {"result"}:
            return fields
        structured = fields["result"]
    for each in (structured, text):
        read = _read(each) if isinstance(each, str) else each
        if isinstance(read, Mapping):
            return cast("Mapping[str, Any]", read)
    return None


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def updates_in(answer: Mapping[str, Any], since_seq: int) -> SpeechUpdates:
    """Return the updates of an answer to `stt_get_updates`. Skips events that were seen before, and
    values that are not objects."""
    listed: Any = answer.get("events")
    events: list[SpeechEvent] = []
    last_seq, has_numbers = since_seq, True
    for each in cast("Sequence[Any]", listed) if isinstance(listed, list) else ():
        if not isinstance(each, Mapping):
            continue
        event = cast("Mapping[str, Any]", each)
        seq = event.get("seq")
        if not isinstance(seq, int):
            has_numbers = False
        elif seq <= since_seq:
            continue
        else:
            last_seq = max(last_seq, seq)
        if (found := _event(event)) is not None:
            events.append(found)
    following = answer.get("next_seq")
    if not has_numbers and isinstance(following, int):
        last_seq = max(last_seq, following)
    return SpeechUpdates(
        events=events, last_seq=last_seq, is_listening=str(answer.get("status", "")).lower() not in _OVER
    )


def _event(event: Mapping[str, Any]) -> SpeechEvent | None:
    """Return an event. A text of any other event than a final utterance is what is heard so far; some servers wrap it
    in `payload`."""
    kind, payload = event.get("type"), event.get("payload")
    text: Any = event.get("text")
    if text is None and isinstance(payload, Mapping):
        text = cast("Mapping[str, Any]", payload).get("text")
    if kind == "utterance_final":
        return SpeechEvent(kind="utterance", text=text if isinstance(text, str) else "")
    if kind in ("error", "warning"):
        message = event.get("message")
        return SpeechEvent(kind="problem", text=str(message or text or "an error without a text"))
    return SpeechEvent(kind="partial", text=text) if isinstance(text, str) else None
