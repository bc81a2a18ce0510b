"""What was seen of a session: its events, and what must be true of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

DELTAS = ("text_delta", "thinking_delta", "tool_progress")

FIRST = ("turn_queued", "turn_started")


@dataclass(slots=True)
class Book:
    """One session, by the events that an editor was told on an attached view."""

    id: str
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """All events, by their number from 1."""
    cut: set[str] = field(default_factory=set[str])
    """Turns that were running when a daemon ended."""
    n_replayed: int = 0
    """How many events of `events` the current view has brought again."""
    problems: list[str] = field(default_factory=list[str])

    def begin_view(self) -> None:
        """A new view brings everything from the beginning."""
        self.n_replayed = 0

    def take(self, events: Sequence[dict[str, Any]]) -> None:
        """Events of the view: those that are known must be the same, each new one has the next number."""
        for event in events:
            place, self.n_replayed = self.n_replayed, self.n_replayed + 1
            if event["seq"] != place + 1:
                self.problems.append(f"{self.id}: event {event['seq']} came in the place of {place + 1}")
                self.n_replayed = event["seq"]
            elif place < len(self.events):
                if self.events[place] != event:
                    self.problems.append(f"{self.id}: an event was {self.events[place]} and is {event} in the journal")
            else:
                self.events.append(event)

    def turn(self, turn_id: str) -> list[dict[str, Any]]:
        """The events of a turn."""
        return [each for each in self.events if each["turnId"] == turn_id]

    def check_turn(self, turn_id: str) -> None:
        """A turn begins and ends once, and each call has one result."""
        events = self.turn(turn_id)
        types = [each["type"] for each in events if each["type"] != "turn_queued"]
        assert types, f"no event of turn {turn_id}"
        assert types[0] == "turn_started" or types == ["cancelled", "finished"], types[:5]
        assert types[-1] == "finished", types[-5:]
        assert types.count("turn_started") <= 1
        assert types.count("finished") == 1
        calls = Counter(each["toolId"] for each in events if each["type"] == "tool_call")
        results = Counter(each["toolId"] for each in events if each["type"] == "tool_result")
        assert calls == results, f"calls and results: {calls - results} {results - calls}"
        assert all(n == 1 for n in calls.values()), calls
        asked = Counter(each["permissionId"] for each in events if each["type"] == "permission_requested")
        resolved = Counter(each["permissionId"] for each in events if each["type"] == "permission_resolved")
        assert not asked - resolved, f"questions without an outcome: {asked - resolved}"


def check_messages(messages: Sequence[dict[str, Any]]) -> None:
    """The results of an answer's calls, in their order, begin the next message."""
    pending: list[str] = []
    for message in messages:
        assert message["content"], "an empty message"
        results = [each["toolUseId"] for each in message["content"] if each["type"] == "tool_result"]
        assert results == pending, f"results {results} of calls {pending}"
        pending = [each["id"] for each in message["content"] if each["type"] == "tool_use"]
        assert not pending or message["role"] == "assistant"
    assert pending == [], f"calls without results: {pending}"
