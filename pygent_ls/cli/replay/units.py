"""Splits the daemon's messages into units that are equal whenever their contents are.

Events are batched by timing, and deltas are merged; so messages are split into units, and each unit belongs to a
channel: the answers to one request, the events of one token, or the requests of one method.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from pygent_ls.cli.replay.recording import Message

Kind = Literal["answer", "request", "event", "delta", "progress", "notice"]

DELTAS = {"text_delta": "itemId", "thinking_delta": "itemId", "tool_progress": "toolId"}
"""Events that may come in any number, with the member that identifies their source."""


@dataclass(frozen=True, slots=True)
class Channel:
    """Channel of a unit."""

    kind: Kind
    name: str
    """Id of the request, method, or token."""
    part: str = ""
    """Type of events, or item of deltas."""

    def __str__(self) -> str:
        match self.kind:
            case "answer":
                return f"the answer to request {self.name}"
            case "request":
                return f"the request {self.name}"
            case "event":
                return f"the events {self.part} on {self.name}"
            case "delta":
                return f"the pieces of {self.part}"
            case "progress":
                return f"the progress {self.name}"
            case "notice":
                return f"the notification {self.name}"


@dataclass(frozen=True, slots=True)
class Unit:
    """Part of a message. `content` is empty (None) if only its arrival matters."""

    channel: Channel
    content: Any
    request_id: object = None
    """Id of a request that requires an answer."""


def units_of(message: Message) -> Iterator[Unit]:
    """Yield the units of a daemon's message; none for messages whose number depends on timing."""
    method = message.get("method")
    if not isinstance(method, str):
        content = {key: message[key] for key in ("result", "error") if key in message}
        yield Unit(Channel("answer", json.dumps(message.get("id"))), content)
    elif "id" in message:
        yield Unit(Channel("request", method), message.get("params"), message["id"])
    elif method == "$/progress":
        params = object_of(message.get("params"))
        yield from _progress(str(params.get("token")), object_of(params.get("value")))
    elif method != "$/cancelRequest":  # it contains a number that differs in each run
        yield Unit(Channel("notice", method), message.get("params"))


def object_of(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _progress(token: str, told: Mapping[str, Any]) -> Iterator[Unit]:
    events = told.get("events")
    for event in map(object_of, cast("list[Any]", events) if isinstance(events, list) else ()):
        item = DELTAS.get(str(event.get("type")))
        if item is None:
            yield Unit(Channel("event", token, str(event.get("type"))), event)
        else:
            yield Unit(Channel("delta", token, str(event.get(item))), None)
    if told.get("kind") in ("begin", "end"):
        yield Unit(Channel("progress", token, str(told["kind"])), None)
