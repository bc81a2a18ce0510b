"""What the loop itself costs: from the last byte of a model's answer to the first of the next request, for 200 calls of
`read_file` in one turn; beside it the same loop written with httpx and nothing else, in the same run.

The longer conversation takes longer to write as JSON, in any loop; what that costs is measured alone. Beyond it a call
must not cost more at 200 than twice what it costs at 10. Then, how long a cancel takes: while a model does not answer
(aim 500 ms), and while a command runs (aim 3 s).

usage: python benchmarks/loop.py [MODEL]     (openai/mock; litellm/openai/mock for the other adapter)
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from daemon import Daemon
from machine import write_result
from peer_programs import Httpx
from provider import Told, calls, provider, stall, told_by

N_CALLS = 200

AROUND = 5
"""Calls on either side of the one that is looked at: a median of eleven."""

PROMPT = calls(N_CALLS)


def main() -> None:
    """Measure and write."""
    model = sys.argv[1] if len(sys.argv) > 1 else "openai/mock"
    with tempfile.TemporaryDirectory() as scratch:
        folder, home = Path(scratch).resolve() / "work", Path(scratch).resolve() / "home"
        for each in (folder, home):
            each.mkdir()
        for number in range(N_CALLS):
            (folder / f"f{number}.txt").write_text(f"This is file {number}.\n" * 10)
        figures: dict[str, Any] = {
            "what": "milliseconds from the end of an answer to the next request, medians around the 10th, 100th, 200th",
            "model": model,
            "pygent_ls": ours(folder, home, model),
            "plain_httpx": plain(folder),
            "cancel": cancels(folder, home, model),
        }
        ratios = {
            f"ratio_{at}": round(figures["pygent_ls"][at] / figures["plain_httpx"][at], 1) for at in ("at_10", "at_200")
        }
    write_result("loop", {**figures, **ratios})


def ours(folder: Path, home: Path, model: str) -> dict[str, float]:
    """The daemon's loop."""
    with provider() as url, Daemon(folder, home, **environment(url, model)) as daemon:
        result = daemon.request("pygent/turn/start", {"prompt": PROMPT})
        assert result["iterations"] == N_CALLS + 1, result
        return {**between(told_by(url)), "resident_mb": round(daemon.resident_mb, 1)}


def environment(url: str, model: str) -> dict[str, str]:
    """In which that provider is the model's, and nothing is left out of a request."""
    return {
        "OPENAI_API_KEY": "sk-benchmark",
        "OPENAI_BASE_URL": url,
        "OPENAI_API_BASE": url,
        "PYGENT_MODEL": model,
        "PYGENT_MAX_ITERATIONS": "0",
        "PYGENT_COMPACTION_STRATEGY": "off",
    }


def plain(folder: Path) -> dict[str, float]:
    """The loop over httpx of `python_loops.py`."""
    with provider() as url:
        program = Httpx(folder, folder, url)
        program.ask(program.open(), PROMPT)
        while (said := program.read()) is None or said.text is not None:
            pass
        program.process.kill()
        program.process.wait()
        return between(told_by(url))


def between(told: Sequence[Told]) -> dict[str, float]:
    """The medians, and what writing those requests as JSON costs alone."""
    gaps = [(each.began_s - (last.ended_s or 0.0)) * 1000 for last, each in pairwise(told)]
    found: dict[str, float] = {}
    for at in (10, 100, 200):
        near = gaps[max(0, at - AROUND - 1) : at + AROUND]
        found[f"at_{at}"] = round(statistics.median(near), 2)
        found[f"serialising_at_{at}"] = round(serialising(told[min(at, len(gaps))].n_bytes), 2)
    found["beyond_serialising_200_to_10"] = round(
        (found["at_200"] - found["serialising_at_200"]) / (found["at_10"] - found["serialising_at_10"]), 2
    )
    return found


def serialising(n_bytes: int) -> float:
    """Milliseconds to write a conversation of that size as JSON, with messages as long as ours."""
    message = {"role": "tool", "tool_call_id": "call_1", "content": "This is a file.\n" * 20}
    messages = [message] * max(1, n_bytes // len(json.dumps(message)))
    times: list[float] = []
    for _ in range(7):
        begin = perf_counter()
        json.dumps(messages).encode()
        times.append((perf_counter() - begin) * 1000)
    return statistics.median(times)


def cancels(folder: Path, home: Path, model: str) -> dict[str, float]:
    """Return the milliseconds from the request to cancel to the turn's result."""
    with provider() as url, Daemon(folder, home, **environment(url, model)) as daemon:
        daemon.request("pygent/turn/start", {"prompt": "Load what loads late."})
        hanging = [cancelled(daemon, {"prompt": stall(0)}, "turn_started") for _ in range(9)]
    script = folder.parent / "script.jsonl"
    call = {"tool_calls": [{"name": "shell", "input": {"command": "trap '' TERM; echo up; sleep 60; true"}}]}
    script.write_text('{"loop": true}\n' + json.dumps(call) + "\n")
    with Daemon(folder, home, PYGENT_MODEL=f"scripted:{script}") as daemon:
        running = [cancelled(daemon, {"prompt": "Run it."}, "tool_progress") for _ in range(3)]
    return {
        "model_does_not_answer": round(statistics.median(hanging), 1),
        "command_ignores_sigterm": round(statistics.median(running), 1),
    }


def cancelled(daemon: Daemon, params: dict[str, Any], after: str) -> float:
    """Start a turn, wait for that event, cancel, and wait for the end."""
    session = daemon.request("pygent/session/new", {})["sessionId"]
    asked = daemon.begin("pygent/turn/start", {**params, "sessionId": session, "partialResultToken": session})
    daemon.until(lambda message: any(each["type"] == after for each in events_in(message)))
    begin = perf_counter()
    daemon.begin("pygent/turn/cancel", {"sessionId": session})
    assert daemon.result(asked)["stopReason"] == "cancelled"
    return (perf_counter() - begin) * 1000


def events_in(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The events that a message brings."""
    if message.get("method") != "$/progress":
        return []
    return message["params"]["value"].get("events", [])


if __name__ == "__main__":
    main()
