"""Plays the client's side of a recording, sending each message after the daemon's preceding messages have arrived.

The client's messages are sent in their order. Before each message, the player waits for everything that the daemon had
sent by then: answers, requests and events, regardless of how events were batched. The daemon's requests are answered as
in the recording; a request is identified by its method and, if several are open, by its contents. An answer that
allows, chooses or accepts something is repeated only for the same question: other questions are answered with null,
which rejects.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pygent_ls.cli.replay.daemon import ReplayedDaemon
from pygent_ls.cli.replay.differences import differences
from pygent_ls.cli.replay.name_map import Names
from pygent_ls.cli.replay.recording import Message, RecordedLine, ReplayError
from pygent_ls.cli.replay.units import Channel, Unit, object_of, units_of

ASKS_THE_USER = frozenset(
    {
        "window/showMessageRequest",
        "pygent/permission/request",
        "pygent/question/request",
        "pygent/review/request",
        "pygent/client/save",
    }
)
"""Requests whose answer allows something."""

NO_ANSWER = {"code": -32803, "message": "the recording has no answer to this request"}


@dataclass(kw_only=True)
class Player:
    """One play of a recording."""

    lines: tuple[RecordedLine, ...]
    daemon: ReplayedDaemon
    names: Names
    mask: Callable[[Any], Any]
    """Masks the daemon's messages as the recording was masked."""
    speed: float
    """Speed relative to the recording; 0 for as fast as the daemon is."""
    timeout_s: float
    """Maximum wait for a single event."""
    found: list[str] = field(default_factory=list[str])
    """Differences between the runs, one line each."""

    def __post_init__(self) -> None:
        self._recorded: dict[Channel, deque[Unit]] = defaultdict(deque)
        for unit in (each for line in self.lines for each in _units(line)):
            if unit.channel.kind != "delta":
                self._recorded[unit.channel].append(unit)
        self._due = _due_with_answers(self.lines)
        self._asking: dict[str, Channel] = {}
        """Answer channel of the last request sent with a token."""
        self._came: Counter[Channel] = Counter()
        self._given_up: Counter[Channel] = Counter()
        self._asked: dict[str, tuple[Any, bool]] = {}
        """Recorded id of a received request: its id in this run, and whether the recorded answer may be given."""
        self._more = asyncio.Condition()
        self._has_ended = False

    async def play(self) -> None:
        """Send and receive all messages; afterwards `found` has the differences."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hear())
            try:
                await self._say_all()
            finally:
                await self.daemon.end()

    # Sending

    async def _say_all(self) -> None:
        needed: Counter[Channel] = Counter()
        before_s = self.lines[0].at_s
        for line in self.lines:
            if line.side == "server":
                for unit in _units(line):
                    needed[unit.channel] = 1 if unit.channel.kind == "delta" else needed[unit.channel] + 1
                continue
            await self._until_came(needed)
            if self.speed:
                await asyncio.sleep(max(line.at_s - before_s, 0) / self.speed)
            before_s = line.at_s
            await self._say(line)
        await self._until_came(needed)

    async def _say(self, line: RecordedLine) -> None:
        if line.raw is not None:
            await self.daemon.send(line.raw.encode("utf-8", "replace"))
            return
        if line.message is None:
            self.found.append(f"line {line.number}: the recording does not contain this message, so it was not sent")
            return
        message = self._answer(line.message) if _is_answer(line.message) else self.names.to_new(line.message)
        if message is None:
            self.found.append(f"line {line.number}: the daemon did not send the request that this line answers")
            return
        if line.method == "initialize" and isinstance(message.get("params"), dict):
            message["params"]["processId"] = os.getpid()  # the daemon ends when this process does
        token, answer = _token_of(line), _answer_to(line)
        if token is not None and answer is not None and answer in self._due:
            self._asking[token] = answer
        await self.daemon.send(json.dumps(message).encode())

    def _answer(self, recorded: Message) -> Message | None:
        """Return the recorded answer to a request of the daemon; None if the request did not arrive."""
        asked = self._asked.pop(json.dumps(recorded["id"]), None)
        if asked is None:
            return None
        request_id, may_answer = asked
        if not may_answer:
            return {"jsonrpc": "2.0", "id": request_id, "result": None}
        return {**cast("Message", self.names.to_new(recorded)), "id": request_id}

    async def _until_came(self, needed: Counter[Channel]) -> None:
        """Wait for all of these; report and give up those that do not arrive in time."""

        def missing() -> Counter[Channel]:
            return needed - self._came - self._given_up

        try:
            async with asyncio.timeout(self.timeout_s), self._more:
                await self._more.wait_for(lambda: self._has_ended or not missing())
        except TimeoutError:
            pass
        why = "the daemon exited before sending" if self._has_ended else f"not received within {self.timeout_s:g} s:"
        for channel, n in missing().items():
            self._give_up(channel, n, why)

    def _give_up(self, channel: Channel, n: int, why: str) -> None:
        self._given_up[channel] += n
        if channel.kind != "delta":
            self.found.append(f"{why} {n} of {channel}")

    # Receiving

    async def _hear(self) -> None:
        try:
            while (message := await self._received()) is not None:
                raw = self.mask(message)
                translated = self.names.to_old(raw)
                for new, old_named in zip(list(units_of(raw)), list(units_of(translated)), strict=True):
                    await self._take(new, old_named.channel)
                async with self._more:
                    self._more.notify_all()
        finally:
            async with self._more:
                self._has_ended = True
                self._more.notify_all()

    async def _received(self) -> Message | None:
        try:
            return await self.daemon.receive()
        except ReplayError as error:
            self.found.append(str(error))
            return None

    async def _take(self, new: Unit, channel: Channel) -> None:
        if channel.kind == "delta":
            self._came[channel] = 1
            return
        if channel.kind == "answer":
            self._close(channel)
        old = None if self._is_too_many(channel) else self._partner(new, channel)
        if old is None:
            self.found.append(f"{channel}: not in the recording: {_short(new.content)}")
            if new.request_id is not None:
                await self._refuse(new)
            return
        self._came[channel] += 1
        self.names.learn(old.content, new.content)
        differing = list(differences(old.content, self.names.to_old(new.content)))
        self.found += [f"{channel}: {each}" for each in differing]
        if new.request_id is not None:
            may_answer = not differing or channel.name not in ASKS_THE_USER
            self._asked[json.dumps(old.request_id)] = (new.request_id, may_answer)

    def _close(self, answer: Channel) -> None:
        """Drop the outstanding units of a request, all of which precede its answer."""
        for channel, n in (self._due.get(answer, Counter[Channel]()) - self._came - self._given_up).items():
            self._give_up(channel, n, "missing before the answer to its request:")
            waiting = self._recorded[channel]
            for _ in range(min(n, len(waiting))):
                waiting.popleft()

    def _is_too_many(self, channel: Channel) -> bool:
        """Return whether the recorded turn has no further event of this kind, so that the next turn's is not used
        up.
        """
        answer = self._asking.get(channel.name) if channel.kind == "event" else None
        return answer is not None and self._came[channel] + self._given_up[channel] >= self._due[answer][channel]

    def _partner(self, new: Unit, channel: Channel) -> Unit | None:
        """Return the matching recorded unit: among several requests the one with equal contents, else the first."""
        waiting = self._recorded[channel]
        if not waiting:
            return None
        if channel.kind == "request":
            translated = self.names.to_old(new.content)
            for each in waiting:
                if not any(differences(each.content, translated)):
                    waiting.remove(each)
                    return each
        return waiting.popleft()

    async def _refuse(self, request: Unit) -> None:
        said: Message = {"jsonrpc": "2.0", "id": request.request_id}
        said |= {"result": None} if request.channel.name in ASKS_THE_USER else {"error": NO_ANSWER}
        await self.daemon.send(json.dumps(said).encode())


def _units(line: RecordedLine) -> Iterable[Unit]:
    return units_of(line.message) if line.side == "server" and line.message else ()


def _due_with_answers(lines: Iterable[RecordedLine]) -> Mapping[Channel, Counter[Channel]]:
    """Return what had arrived by the time of each answer: on the token of its request, and the daemon's own requests if
    no other request was open.
    """
    tokens: dict[Channel, str | None] = {}
    came: Counter[Channel] = Counter()
    due: dict[Channel, Counter[Channel]] = {}
    for line in lines:
        if line.side == "client" and (answer := _answer_to(line)):
            tokens[answer] = _token_of(line)
        for unit in _units(line):
            channel = unit.channel
            came[channel] = 1 if channel.kind == "delta" else came[channel] + 1
            if channel in tokens:
                is_alone, token = len(tokens) == 1, tokens.pop(channel)
                due[channel] = Counter(
                    {each: n for each, n in came.items() if _belongs(each, token, is_alone=is_alone)}
                )
    return due


def _belongs(channel: Channel, token: str | None, *, is_alone: bool) -> bool:
    match channel.kind:
        case "event" | "delta":
            return channel.name == token
        case "request":
            return is_alone
        case "answer" | "progress" | "notice":
            return False


def _answer_to(line: RecordedLine) -> Channel | None:
    """Return the channel of the answer to a client's request."""
    if not line.method or line.message is None or "id" not in line.message:
        return None
    return Channel("answer", json.dumps(line.message["id"]))


def _token_of(line: RecordedLine) -> str | None:
    """Return the token of a request's events."""
    token = object_of((line.message or {}).get("params")).get("partialResultToken")
    return None if token is None else str(token)


def _is_answer(message: Message) -> bool:
    return "method" not in message and "id" in message


def _short(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:120]}…"
