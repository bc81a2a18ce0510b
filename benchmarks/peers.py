"""pygent-ls beside other agents, against one scripted provider, interleaved in one run.

Programs: `codex app-server`, `opencode acp`, `vibe-acp`, and as floors in Python bare loops over httpx and aiohttp and
agents of pydantic-ai and openai-agents. In each round a program is started once and does everything, one program after
the other, so that a machine that grows slower does so for all. Figures are medians. All times are of one clock, the
system's monotonic one, which the provider and this front end share.

It runs without a network, in bubblewrap, if that is installed: no program can reach anything outside of loopback.

usage: python benchmarks/peers.py [ROUNDS [PROGRAM ...]]     (first: .ci/benchmark-peers/install)
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from drawn import draw, missed
from machine import write_result
from peer_programs import MANY_SESSIONS, STARTS, Program, Pygent, installed
from provider import Told, calls, flood, paced, provider, stall, told_by

ROUNDS = 5
"""Odd, so that the median is one of them."""

SLOW = ("opencode_acp", "vibe_acp", "pydantic_ai", "openai_agents")
"""Programs that take minutes for a round, and take part in the first one only."""

N_CALLS = 200

AROUND = 5
"""Calls on either side of the one that is looked at: a median of eleven."""

N_TURNS = 50

N_FLOOD = 20_000

N_PACED, PAUSE_US = 200, 10_000
"""A hundred tokens a second."""

N_CANCELS = 5

N_AT_ONCE, N_EACH, EACH_US = 8, 1_000, 1_000
"""Sessions that stream at once, each a thousand tokens a second."""

CLOSED_WITHIN_S = 2.0
"""How long the provider is asked whether a connection was closed."""

FIRST_REQUEST_WITHIN_S = 30.0

TYPING_S = 2.0
"""How long a quick user takes to type the first prompt."""

DOCUMENT = 'value = compute(1, "some text")\n' * 31_250
"""1 MB."""

N_CHANGES, CHANGE_S = 100, 0.1
"""Changes of the document while an answer streams, and the time between two."""

OFFLINE = ["bwrap", "--dev-bind", "/", "/", "--unshare-net", "--die-with-parent", "--"]

OURS = "pygent_ls"

Figures = dict[str, float]
"""Figures of one round; infinite for what did not happen."""

Medians = dict[str, float | None]
"""None for what did not happen."""


def main() -> None:
    """Measure and write."""
    if shutil.which("bwrap") and "PEERS_OFFLINE" not in os.environ:
        os.environ["PEERS_OFFLINE"] = "1"
        os.execvp(OFFLINE[0], [*OFFLINE, sys.executable, *sys.argv])
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    programs = {name: each for name, each in installed().items() if name in sys.argv[2:] or len(sys.argv) < 3}
    runs: dict[str, list[Figures]] = {name: [] for name in programs}
    too_slow: list[str] = []
    with tempfile.TemporaryDirectory(prefix="peers-") as scratch, provider() as url:
        folder = Path(scratch).resolve() / "work"
        folder.mkdir()
        for number in range(N_CALLS):
            (folder / f"f{number}.txt").write_text(f"This is file {number}.\n" * 10)
        homes = {name: Path(scratch).resolve() / name for name in programs}
        for name, program in programs.items():  # warm: bytecode, databases and the system's cache of files
            homes[name].mkdir()
            with Run(program, folder, homes[name], url) as run:
                run.turn("Hello.")
                if isinstance(run.program, Pygent):
                    run.program.daemon.leave()  # it stores its caches when an editor ends it
        for number in range(n_rounds):
            for name, program in programs.items():
                if number and name in SLOW:
                    continue
                with Run(program, folder, homes[name], url) as run:
                    only_start = name in STARTS
                    runs[name].append(run.start() if only_start else run.everything(many=name in MANY_SESSIONS))
                with Run(program, folder, homes[name], url) as run:
                    runs[name][-1] |= run.typed_prompt()
                if program is Pygent:
                    runs[name][-1] |= first_ask(folder, homes[name], url)
                print(name, runs[name][-1], file=sys.stderr, flush=True)
            too_slow = report(runs, is_whole=len(sys.argv) < 3)
    sys.exit(f"missed: {'; '.join(too_slow)}" if too_slow else 0)


def report(runs: Mapping[str, Sequence[Figures]], *, is_whole: bool) -> list[str]:
    """Write the figures of the rounds so far; only print them if programs were chosen. Returns the aims that they
    miss."""
    figures = {name: median(each) for name, each in runs.items()}
    rounds = {name: len(each) for name, each in runs.items()}
    what = "medians of rounds in which every program took its turn"
    result = {"what": what, "rounds": rounds, **figures, "ratios": ratios(figures)}
    if is_whole:
        write_result("peers", result)
        draw()
        return missed(result)
    print(result)
    return []


@dataclass
class Run:
    """One program, from its start to its end."""

    kind: type[Program]
    folder: Path
    home: Path
    url: str
    began_s: float = field(default_factory=monotonic)

    def __enter__(self) -> Run:
        told_by(self.url)
        self.began_s = monotonic()
        self.program = self.kind(self.folder, self.home, self.url)
        self.answered_s = monotonic()
        self.session = self.program.open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.program.process.kill()
        self.program.process.wait()

    def everything(self, *, many: bool) -> Figures:
        """Every figure, in an order in which the memory is measured before the floods."""
        figures = self.start()
        figures |= self._memory()
        figures |= self._tool_turns()
        figures |= self._latency()
        figures |= self._flood()
        figures |= self._cancel()
        if many:
            figures |= self._at_once()
        if isinstance(self.program, Pygent):
            figures |= self._typing(self.program)
        return figures

    def start(self) -> Figures:
        """Figures of the start."""
        return {"initialize_ms": (self.answered_s - self.began_s) * 1000, **self._first_request()}

    def typed_prompt(self) -> Figures:
        """Time from a prompt that comes a while after the start, as a user types it, to the request to the model."""
        sleep(TYPING_S)
        told_by(self.url)
        asked_s = monotonic()
        self.turn("Hello.")
        return {"typed_prompt_ms": (told_by(self.url)[0].began_s - asked_s) * 1000}

    def turn(self, prompt: str) -> list[tuple[float, str]]:
        """One turn: each piece of the answer, and when it came."""
        self.program.ask(self.session, prompt)
        return list(self._pieces())

    def _pieces(self) -> Iterable[tuple[float, str]]:
        while True:
            said = self.program.read()
            if said is None:
                continue
            if said.text is None:
                return
            yield monotonic(), said.text

    def _first_request(self) -> Figures:
        self.turn("Hello.")
        return {"first_request_ms": (told_by(self.url)[0].began_s - self.began_s) * 1000}

    def _memory(self) -> Figures:
        for _ in range(N_TURNS):
            self.turn("And now?")
        told_by(self.url)
        resident, anonymous = memory_mb(self.program.process.pid)
        return {"resident_mb": resident, "anonymous_mb": anonymous}

    def _tool_turns(self) -> Figures:
        self.session = self.program.open()
        self.turn(calls(N_CALLS))
        told = told_by(self.url)
        assert len(told) == N_CALLS + 1, len(told)
        gaps = [(each.began_s - (last.ended_s or 0.0)) * 1000 for last, each in pairwise(told)]
        return {
            f"tool_turn_at_{at}_ms": statistics.median(gaps[max(0, at - AROUND - 1) : at + AROUND])
            for at in (10, 100, N_CALLS)
        }

    def _latency(self) -> Figures:
        self.session = self.program.open()
        late = lateness(self.turn(paced(N_PACED, PAUSE_US)), told_by(self.url)[-1])
        late.sort()
        return {"delta_ms": statistics.median(late), "delta_p95_ms": late[len(late) * 95 // 100]}

    def _flood(self) -> Figures:
        self.session = self.program.open()
        pieces = self.turn(flood(N_FLOOD))
        assert "".join(text for _, text in pieces).split() == [f"w{at}" for at in range(N_FLOOD)]
        seconds = pieces[-1][0] - told_by(self.url)[-1].sent_s[0]
        return {"tokens_per_s": N_FLOOD / seconds, "messages_of_a_flood": len(pieces)}

    def _cancel(self) -> Figures:
        took: list[float] = []
        for _ in range(N_CANCELS):
            self.session = self.program.open()
            told_by(self.url)
            self.program.ask(self.session, stall())
            pieces = iter(self._pieces())
            next(pieces)
            cancelled_s = monotonic()
            self.program.cancel(self.session)
            list(pieces)
            took.append((closed_s(self.url) - cancelled_s) * 1000)
        return {"cancel_ms": statistics.median(took)}

    def _at_once(self) -> Figures:
        """Tokens per second of one session, and of all at once."""
        one = self._streamed([self.session])
        all_of_them = self._streamed([self.program.open() for _ in range(N_AT_ONCE)])
        return {"one_session_tokens_per_s": one, "sessions_at_once_tokens_per_s": all_of_them}

    def _typing(self, program: Pygent) -> Figures:
        """How late deltas are while a document of 1 MB is sent again and again."""
        document = {"uri": (self.folder / "typed.py").as_uri(), "version": 1}
        opened = {**document, "languageId": "python", "text": DOCUMENT}
        program.daemon.tell("textDocument/didOpen", {"textDocument": opened})
        changes = [
            framed(
                "textDocument/didChange", {"textDocument": {**document, "version": 2 + at}, "contentChanges": [each]}
            )
            for at, each in enumerate([{"text": f"{DOCUMENT}{at}"} for at in range(N_CHANGES)])
        ]
        assert program.process.stdin is not None
        stdin = program.process.stdin
        over = Event()

        def type_on() -> None:
            for each in changes:
                if over.wait(CHANGE_S):
                    return
                stdin.write(each)
                stdin.flush()

        self.session = program.open()
        told_by(self.url)
        typing = Thread(target=type_on)
        program.ask(self.session, paced(N_PACED, PAUSE_US))
        typing.start()
        pieces = list(self._pieces())
        over.set()
        typing.join()
        late = sorted(lateness(pieces, told_by(self.url)[-1]))
        return {"typing_delta_ms": statistics.median(late), "typing_delta_p95_ms": late[len(late) * 95 // 100]}

    def _streamed(self, sessions: Sequence[str]) -> float:
        running = set(sessions)
        for each in sessions:
            self.program.ask(each, paced(N_EACH, EACH_US))
        last_s = 0.0
        while running:
            said = self.program.read()
            if said is not None and said.text is None:
                running.discard(said.session)
            elif said is not None:
                last_s = monotonic()
        return len(sessions) * N_EACH / (last_s - min(each.sent_s[0] for each in told_by(self.url)))


def first_ask(folder: Path, home: Path, url: str) -> Figures:
    """Time after `initialized` until the first `pygent.ask` is answered, and until its request reaches the model."""
    told_by(url)
    program = Pygent(folder, home, url)
    initialized_s = monotonic()
    asked = program.daemon.begin("workspace/executeCommand", {"command": "pygent.ask", "arguments": ["Hello."]})
    program.daemon.result(asked)
    figures = {"first_ask_answered_ms": (monotonic() - initialized_s) * 1000}
    until_s = initialized_s + FIRST_REQUEST_WITHIN_S
    while not (told := told_by(url, forget=False)) and monotonic() < until_s:
        sleep(0.01)
    program.process.kill()
    program.process.wait()
    return {**figures, "first_ask_requested_ms": (told[0].began_s - initialized_s) * 1000}


def framed(method: str, params: Mapping[str, Any]) -> bytes:
    """A notification with its header."""
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def lateness(pieces: Sequence[tuple[float, str]], told: Told) -> list[float]:
    """Milliseconds from the provider's write of each word to its arrival."""
    text, came_s = "", list[float]()
    for at_s, piece in pieces:
        text += piece
        came_s += [at_s] * (len(re.findall(r"w\d+ ", text)) - len(came_s))
    assert len(came_s) == len(told.sent_s), (len(came_s), len(told.sent_s))
    return [(came - sent) * 1000 for came, sent in zip(came_s, told.sent_s, strict=True)]


def closed_s(url: str) -> float:
    """When the last connection was closed; infinite if it was not."""
    until_s = monotonic() + CLOSED_WITHIN_S
    while monotonic() < until_s:
        told = told_by(url, forget=False)
        if told and told[-1].closed_s is not None:
            return told[-1].closed_s
        sleep(0.02)
    return float("inf")


def memory_mb(pid: int) -> tuple[float, float]:
    """Resident and anonymous memory of a process and its children."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    sizes = [int(re.findall(rf"{name}:\s+(\d+)", status)[0]) / 1000 for name in ("VmRSS", "RssAnon")]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text(encoding="ascii").split():
            sizes = [size + more for size, more in zip(sizes, memory_mb(int(child)), strict=True)]
    return sizes[0], sizes[1]


def median(runs: Sequence[Figures]) -> Medians:
    """Medians of the rounds."""
    medians = {name: statistics.median(each[name] for each in runs) for name in runs[0]}
    return {name: round(value, 2) if isfinite(value) else None for name, value in medians.items()}


def ratios(figures: dict[str, Medians]) -> dict[str, Any]:
    """Ours to the others'."""
    others = {name: each for name, each in figures.items() if name != OURS}
    return {
        f"to_{name}": {
            figure: round(mine / theirs, 2)
            for figure, mine in figures[OURS].items()
            if mine and (theirs := each.get(figure))
        }
        for name, each in others.items()
        if OURS in figures
    }


if __name__ == "__main__":
    main()
