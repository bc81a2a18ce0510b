"""Cost of a key in a file under review: processor time of the daemon from `didChange` to the publication of the hunks.

A file of 60,000 lines, 20 hunks: at most 5 ms more than without a review. Each key waits for the publication that it
causes, so that none is left out; an editor whose user types fast gets one for several keys.

usage: python benchmarks/review.py [KEYS]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from daemon import Daemon
from machine import write_result

KEYS = 200

LINES = 60_000

HUNKS = (0, 1, 20)

CAPABILITIES = {"experimental": {"pygent": {"chatPanel": True, "pendingReview": True}}}


def main() -> None:
    """Measure and write."""
    n_keys = int(sys.argv[1]) if len(sys.argv) > 1 else KEYS
    figures = {f"{n_hunks} hunks": _costs(n_hunks, n_keys) for n_hunks in HUNKS}
    write_result("review", {"lines": LINES, "keys": n_keys, "ms_per_key": figures})


def _costs(n_hunks: int, n_keys: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as scratch:
        folder, home = Path(scratch).resolve() / "project", Path(scratch).resolve() / "home"
        folder.mkdir()
        home.mkdir()
        text = "".join(f"    total += price_of(item_{number})\n" for number in range(LINES))
        path = folder / "long.py"
        path.write_text(text)
        with Daemon(folder, home, CAPABILITIES) as daemon:
            return _measured(daemon, path.as_uri(), text, n_hunks, n_keys)


def _measured(daemon: Daemon, uri: str, text: str, n_hunks: int, n_keys: int) -> dict[str, float]:
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    daemon.tell("textDocument/didOpen", {"textDocument": document})
    version = 1

    def type_at(line: int, new: str) -> None:
        nonlocal version
        version += 1
        place = {"line": line, "character": 0}
        change = {"range": {"start": place, "end": place}, "text": new}
        told = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
        daemon.tell("textDocument/didChange", told)

    for number in range(n_hunks):
        type_at(LINES // (n_hunks + 1) * (number + 1) + number, "# made by the agent\n")
    if n_hunks:
        daemon.request("pygent/review/add", {"uri": uri, "sessionId": "bench", "before": text})

    def settle() -> None:
        if n_hunks:
            daemon.until(
                lambda message: (
                    message.get("method") == "pygent/review/didChange" and message["params"]["version"] == version
                )
            )
        else:
            daemon.request("pygent/status", {})

    costs: list[float] = []
    for _ in range(n_keys):
        before = _processor_ms(daemon)
        type_at(LINES // 2 + 7, "x")
        settle()
        costs.append(_processor_ms(daemon) - before)
    return {"median": round(statistics.median(costs), 2), "p95": round(statistics.quantiles(costs, n=20)[-1], 2)}


def _processor_ms(daemon: Daemon) -> float:
    """Processor time of all threads of the daemon."""
    tasks = Path(f"/proc/{daemon.process.pid}/task").iterdir()
    return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks) / 1e6


if __name__ == "__main__":
    main()
