"""Whether a daemon that is used for long stays as it was: 1,000 turns over stdio in one session, then 1,000 sessions of
a turn each; with tools, edits, commands, cancels, and a second window that comes and goes.

Memory may grow by less than 20 MB after the first 100, and no descriptor and no process may be left. At the end turns
of the long session and of one that has just begun are measured side by side: they should take the same time.

usage: python benchmarks/soak.py [N_TURNS]     (1000)
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from daemon import Daemon
from machine import write_result

N_TURNS = 1_000

WARM = 100
"""Turns after which the daemon has loaded all that it will ever need."""

N_SIDE_BY_SIDE = 60
"""Turns in the long session and in a new one, by turns, so that both meet the same machine; whole cycles."""

WORDS = "Some words that a model may say, and that have to be kept. " * 20


def _edit(old: str, new: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "edit_file", "input": {"path": "a.txt", "old": old, "new": new}}]}


def _shell(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "shell", "input": {"command": command}}]}


READ = {"thinking": "hm", "tool_calls": [{"name": "read_file", "input": {"path": "a.txt"}}]}

TURNS: Sequence[Sequence[dict[str, Any]]] = (
    (READ, {"text": "I have read it."}),
    ({"text": WORDS, "chunk": 16},),
    (_edit("one", "two"), {"text": "Changed."}),
    (_shell("echo a command"), {"text": "It ran."}),
    (_edit("two", "one"), {"text": "Changed back."}),
    (_shell("echo begun; exec sleep 60"),),
)
"""One cycle; the last turn is cancelled while its command runs."""


def main() -> None:
    """Measure and write."""
    n_turns = int(sys.argv[1]) if len(sys.argv) > 1 else N_TURNS
    with tempfile.TemporaryDirectory() as scratch:
        figures = {
            "what": f"{n_turns} turns after one another: megabytes, descriptors, processes; mean ms of a turn",
            "one_session": soak(Path(scratch).resolve() / "one", n_turns, many_sessions=False),
            "many_sessions": soak(Path(scratch).resolve() / "many", n_turns, many_sessions=True),
        }
    write_result("soak", figures)


def soak(place: Path, n_turns: int, *, many_sessions: bool) -> dict[str, Any]:
    """Take that many turns in a daemon of its own."""
    folder, home = place / "work", place / "home"
    folder.mkdir(parents=True)
    home.mkdir()
    (folder / "a.txt").write_text("This is one file.\n")
    script = place / "script.jsonl"
    answers = [{"loop": True}, *(each for turn in TURNS for each in turn)]
    script.write_text("".join(json.dumps(each) + "\n" for each in answers))
    with Daemon(folder, home, PYGENT_MODEL=f"scripted:{script}", PYGENT_SANDBOX="off") as daemon:
        found = Soak(daemon).run(n_turns, many_sessions=many_sessions)
        daemon.leave()
        return found


class Soak:
    """The turns of one daemon."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._session = ""

    def run(self, n_turns: int, *, many_sessions: bool) -> dict[str, Any]:
        """Take them; returns what was found."""
        warm = _Held(self._daemon)
        for number in range(n_turns):
            if number == min(WARM, n_turns // 2):
                warm = _Held(self._daemon)
            if many_sessions or not self._session:
                self._session = self._daemon.request("pygent/session/new", {})["sessionId"]
            self._turn(0 if many_sessions else number)
            if number % 50 == 25:
                self._look_in()
        held = _Held(self._daemon)
        return {
            "resident_mb_warm": round(warm.resident_mb, 1),
            "resident_mb_at_the_end": round(held.resident_mb, 1),
            "grown_mb": round(held.resident_mb - warm.resident_mb, 1),
            "descriptors_more": held.n_descriptors - warm.n_descriptors,
            "processes_more": held.n_processes - warm.n_processes,
            **({} if many_sessions else self._side_by_side(n_turns)),
        }

    def _side_by_side(self, n_turns: int) -> dict[str, float]:
        long, new = self._session, self._daemon.request("pygent/session/new", {})["sessionId"]
        seconds: dict[str, list[float]] = {long: [], new: []}
        first = -n_turns % len(TURNS)
        for number in range(first):  # to the end of the cycle
            self._turn(n_turns + number)
        for number in range(N_SIDE_BY_SIDE):
            for self._session in (long, new) if number % 2 else (new, long):
                began_s = perf_counter()
                self._turn(number)
                if number % len(TURNS) != len(TURNS) - 1:
                    seconds[self._session].append(perf_counter() - began_s)
        return {
            "turn_ms_when_long": round(statistics.mean(seconds[long]) * 1000, 1),
            "turn_ms_when_new": round(statistics.mean(seconds[new]) * 1000, 1),
        }

    def _turn(self, number: int) -> None:
        daemon, kind = self._daemon, number % len(TURNS)
        params = {"sessionId": self._session, "prompt": "go", "mode": "trust", "partialResultToken": "turn"}
        request = daemon.begin("pygent/turn/start", params)
        wanted = "end_turn"
        if kind == len(TURNS) - 1:
            daemon.until(tells("turn", "tool_progress"))
            daemon.request("pygent/turn/cancel", {"sessionId": self._session})
            wanted = "cancelled"
        result = daemon.result(request)
        assert result["stopReason"] == wanted, result

    def _look_in(self) -> None:
        """A second window sees the last events of the session, and closes."""
        daemon = self._daemon
        since = daemon.request("pygent/session/load", {"sessionId": self._session})["lastSeq"] - 1
        params = {"sessionId": self._session, "sinceSeq": since, "partialResultToken": "look"}
        request = daemon.begin("pygent/session/attach", params)
        daemon.until(tells("look", "finished"))
        daemon.cancel(request)


class _Held:
    """What a daemon holds now."""

    def __init__(self, daemon: Daemon) -> None:
        pid = daemon.process.pid
        self.resident_mb = daemon.resident_mb
        self.n_descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        self.n_processes = len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def tells(token: str, kind: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a message brings an event of that kind there."""

    def wanted(message: dict[str, Any]) -> bool:
        if message.get("method") != "$/progress" or message["params"]["token"] != token:
            return False
        return any(each["type"] == kind for each in message["params"]["value"].get("events", ()))

    return wanted


if __name__ == "__main__":
    main()
