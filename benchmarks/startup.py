"""Time from the spawn of the daemon to its answer to `initialize`, beside a bare pygls server on the same machine.

The two are started in turn, A B A B …, so that a machine that grows slower does so for both. The ratio is taken pair by
pair. The aim is a median ratio of at most 1.5.

The front end for the Agent Client Protocol is started in the same pairs.

In the same pairs, from the spawn to the first byte of the first request to a model's provider, the prompt being sent at
once: at most twice the bare server's spawn to `initialize`. And the memory after 50 tool calls: at most 100 MB.

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
from time import monotonic, perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from daemon import Daemon, resident_mb
from machine import write_result
from provider import calls, provider, told_by

PAIRS = 15
"""Odd, so that the median is one of them."""

BARE = 'from pygls.lsp.server import LanguageServer; LanguageServer("bare", "1").start_io()'

OURS = ["-m", "pygent_ls"]

ACP = ["-m", "pygent_ls", "acp"]

N_CALLS = 50


def main() -> None:
    """Measure and write."""
    n_pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    with tempfile.TemporaryDirectory() as home:
        started("-c", BARE, home=home)
        started(*OURS, home=home)  # both warm: the bytecode is written, the files are in the system's cache
        asked(Path(home), n_calls=0)
        started(*ACP, home=home, in_lines=True)
        rounds = [
            (
                started(*OURS, home=home),
                started("-c", BARE, home=home),
                asked(Path(home), n_calls=0),
                started(*ACP, home=home, in_lines=True),
            )
            for _ in range(n_pairs)
        ]
        after_tools = asked(Path(home), n_calls=N_CALLS)
    ours, bare, first, acp = ([each[n] for each in rounds] for n in range(4))
    write_result(
        "startup",
        {
            "what": "spawn to the reply to initialize, in seconds; resident memory then, in MB",
            "pairs": n_pairs,
            "pygent_ls": summary(ours),
            "bare_pygls": summary(bare),
            "ratio": ratio(ours, bare),
            "acp": summary(acp),
            "acp_to_pygent_ls": ratio(acp, ours),
            "first_model_request": summary(first),
            "first_model_request_to_bare_pygls": ratio(first, bare),
            f"resident_mb_after_{N_CALLS}_tool_calls": round(after_tools["resident_mb"], 1),
        },
    )


def started(*arguments: str, home: str, in_lines: bool = False) -> dict[str, float]:
    """Start a server, wait for its reply, and end it. `in_lines`: it speaks the Agent Client Protocol."""
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
    if in_lines:
        request["params"] = {"protocolVersion": 1, "clientCapabilities": {}}
    body = json.dumps(request).encode()
    process.stdin.write(body + b"\n" if in_lines else b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    process.stdin.flush()
    header = process.stdout.readline()
    seconds = perf_counter() - begin
    assert header.lower().startswith(b'{"jsonrpc"' if in_lines else b"content-length"), header
    resident = resident_mb(process.pid)
    process.kill()
    process.wait()
    return {"seconds": seconds, "resident_mb": resident}


def asked(home: Path, *, n_calls: int) -> dict[str, float]:
    """Start the daemon with a prompt for a model of the native adapter, and wait for the turn's end."""
    folder = home / "work"
    folder.mkdir(exist_ok=True)
    for number in range(n_calls):
        (folder / f"f{number}.txt").write_text(f"This is file {number}.\n" * 10)
    with provider() as url:
        environment = {"OPENAI_API_KEY": "sk-benchmark", "OPENAI_BASE_URL": url, "PYGENT_MODEL": "openai/mock"}
        begin = monotonic()
        with Daemon(folder, home, **environment, PYGENT_MAX_ITERATIONS="0") as daemon:
            result = daemon.request("pygent/turn/start", {"prompt": calls(n_calls)})
            assert result["stopReason"] == "end_turn", result
            figures = {"seconds": told_by(url)[0].began_s - begin, "resident_mb": daemon.resident_mb}
            daemon.leave()
            return figures


def ratio(some: list[dict[str, float]], others: list[dict[str, float]]) -> dict[str, float]:
    """Ratios of the seconds, pair by pair."""
    found = [one["seconds"] / other["seconds"] for one, other in zip(some, others, strict=True)]
    return {"median": round(statistics.median(found), 2), "min": round(min(found), 2), "max": round(max(found), 2)}


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
