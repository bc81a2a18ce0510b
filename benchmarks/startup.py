"""From the spawn of the daemon to its answer to `initialize`, beside a bare pygls server on the same machine.

The two are started in turn, A B A B …, so that a machine that grows slower does so for both. The ratio is taken pair by
pair. The aim is a median ratio of at most 1.5.

usage: python benchmarks/startup.py [PAIRS]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from machine import write_result

PAIRS = 15
"""Odd, so that the median is one of them."""

BARE = 'from pygls.lsp.server import LanguageServer; LanguageServer("bare", "1").start_io()'

OURS = ["-m", "pygent_ls"]


def main() -> None:
    """Measure and write."""
    n_pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    with tempfile.TemporaryDirectory() as home:
        started("-c", BARE, home=home)
        started(*OURS, home=home)  # both warm: the bytecode is written, the files are in the cache
        pairs = [(started(*OURS, home=home), started("-c", BARE, home=home)) for _ in range(n_pairs)]
    ours, bare = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    ratios = [one["seconds"] / other["seconds"] for one, other in pairs]
    write_result(
        "startup",
        {
            "what": "spawn to the reply to initialize, in seconds; resident memory then, in MB",
            "pairs": n_pairs,
            "pygent_ls": summary(ours),
            "bare_pygls": summary(bare),
            "ratio": {
                "median": round(statistics.median(ratios), 2),
                "min": round(min(ratios), 2),
                "max": round(max(ratios), 2),
            },
        },
    )


def started(*arguments: str, home: str) -> dict[str, float]:
    """Start a server, wait for its reply, and end it."""
    environment = {"PATH": os.environ["PATH"], "HOME": home}
    begin = perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    request: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"processId": None, "rootUri": None, "capabilities": {}},
    }
    body = json.dumps(request).encode()
    process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    process.stdin.flush()
    header = process.stdout.readline()
    seconds = perf_counter() - begin
    assert header.lower().startswith(b"content-length"), header
    resident = resident_mb(process.pid)
    process.kill()
    process.wait()
    return {"seconds": seconds, "resident_mb": resident}


def resident_mb(pid: int) -> float:
    """Memory that a process holds; 0 where the system does not tell it this way."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def summary(runs: list[dict[str, float]]) -> dict[str, float]:
    """Medians, and the best."""
    seconds = [run["seconds"] for run in runs]
    return {
        "median_s": round(statistics.median(seconds), 3),
        "min_s": round(min(seconds), 3),
        "resident_mb": round(statistics.median(run["resident_mb"] for run in runs), 1),
    }


if __name__ == "__main__":
    main()
