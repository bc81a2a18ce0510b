"""Recorded conversations of an agent and a client, one JSON object a line: direction, time and message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pygent_ls.agent.json_fields import obj, objects, text

Message = Mapping[str, Any]

FOLDER = re.compile(r"/ws(?![\w-])")
"""Workspace folder of the recordings."""

ALLOWED = ("allow_once", "allow_always")
"""Kinds of the options of a permission request that permit the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Tool call of a recorded turn, as it ended."""

    id: str
    is_completed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request of the client, and what the agent sent from then until the next one."""

    method: str
    params: Message
    before: Sequence[Message]
    """Notifications and requests of the agent before its response."""
    response: Message
    after: Sequence[Message]
    """Notifications of the agent after its response."""
    replies: Mapping[Any, Message]
    """Replies of the client to the agent's requests, by id."""

    @property
    def said(self) -> str:
        """What the user says in a prompt."""
        return "".join(text(each.get("text")) for each in objects(self.params.get("prompt")))

    @property
    def answer(self) -> str:
        """What the agent says, without spaces."""
        chunks = (each for each in self._updates() if each.get("sessionUpdate") == "agent_message_chunk")
        return "".join("".join(text(obj(each.get("content")).get("text")) for each in chunks).split())

    @property
    def permissions(self) -> Sequence[bool]:
        """What the user answered to each permission request: whether the call is allowed."""
        return [self._is_allowed(each) for each in self.before if each.get("method") == "session/request_permission"]

    @property
    def calls(self) -> Sequence[Call]:
        """Tool calls of a prompt, in the order in which they began."""
        statuses: dict[str, str] = {}
        for given in self._calls():
            call_id = text(given.get("toolCallId"))
            statuses[call_id] = text(given.get("status")) or statuses.get(call_id, "")
        return [Call(id=call_id, is_completed=status == "completed") for call_id, status in statuses.items()]

    def changes(self, name: str) -> bool:
        """Whether a completed call changes this file."""
        completed = {each.id for each in self.calls if each.is_completed}
        changing = (each for each in self._calls() if text(each.get("toolCallId")) in completed)
        return any(Path(text(diff.get("path"))).name == name for each in changing for diff in diffs_in(each))

    def _updates(self) -> Iterator[Message]:
        for each in self.before:
            if each.get("method") == "session/update":
                yield obj(obj(each.get("params")).get("update"))

    def _calls(self) -> Iterator[Message]:
        for each in self.before:
            if call := call_in(each):
                yield call

    def _is_allowed(self, request: Message) -> bool:
        chosen = obj(obj(obj(self.replies.get(request.get("id"))).get("result")).get("outcome")).get("optionId")
        options = objects(obj(request.get("params")).get("options"))
        return any(each.get("optionId") == chosen and each.get("kind") in ALLOWED for each in options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One recording."""

    name: str
    exchanges: Sequence[Exchange]

    @property
    def agent(self) -> str:
        """Name of the agent: what precedes the version and the circumstances."""
        return self.name.partition("-")[0]

    @property
    def prompts(self) -> Sequence[Exchange]:
        """Turns of the recording."""
        return self.of("session/prompt")

    def of(self, method: str) -> Sequence[Exchange]:
        """Return the exchanges that a method begins."""
        return [each for each in self.exchanges if each.method == method]

    @property
    def session(self) -> Message:
        """Result of `session/new`."""
        return obj(self.of("session/new")[0].response.get("result"))


def wire_in(file: Path) -> Wire:
    """Return the recording of a file. Raises `ValueError` for an invalid one."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    said = [(each["dir"] == "c>a", each["msg"]) for each in lines]
    starts = [at for at, (is_client, message) in enumerate(said) if is_client and "method" in message]
    ends = [*starts[1:], len(said)]
    exchanges = [_exchange(said[start:end]) for start, end in zip(starts, ends, strict=True)]
    return Wire(name=file.stem, exchanges=exchanges)


def _exchange(said: Sequence[tuple[bool, Message]]) -> Exchange:
    request = said[0][1]
    heard = [message for is_client, message in said if not is_client]
    at = next((at for at, each in enumerate(heard) if "method" not in each and each.get("id") == request["id"]), None)
    if at is None:
        raise ValueError(f"{request['method']} has no response")
    return Exchange(
        method=request["method"],
        params=obj(request.get("params")),
        before=heard[:at],
        response=heard[at],
        after=heard[at + 1 :],
        replies={message["id"]: message for is_client, message in said[1:] if is_client},
    )


def call_in(message: Message) -> Message:
    """Return the tool call that a message of the agent tells of; empty for another message."""
    params = obj(message.get("params"))
    if message.get("method") == "session/request_permission":
        return obj(params.get("toolCall"))
    update = obj(params.get("update"))
    return update if text(update.get("sessionUpdate")).startswith("tool_call") else {}


def diffs_in(call: Message) -> Sequence[Message]:
    """Return the changes of files that a tool call announces."""
    return [each for each in objects(call.get("content")) if each.get("type") == "diff"]


def located(value: Any, folder: str) -> Any:
    """Return a recorded value with the path of another workspace folder."""
    match value:
        case str():
            return FOLDER.sub(lambda _: folder, value)
        case list():
            return [located(each, folder) for each in value]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {name: located(each, folder) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value
