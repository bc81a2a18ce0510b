"""The map of a repository of 10,000 files in six languages, asked for in a real daemon, and how responsive that stays.

A turn whose model calls `repo_map`: with nothing known (as often as it takes to parse all files), again with nothing
changed, after one file has changed, and with another daemon. Meanwhile a request that costs nothing is sent again and
again: its slowest answer is how long the daemon's event loop was blocked. For comparison, the same while the turn calls
`find_files`, while the daemon does nothing, and while a thread of a process with such a loop parses files, as an index
without a program of its own would.

The aim is that no answer takes longer than 100 ms, and that the map after one change takes 3 s at most.

usage: python benchmarks/repository_map.py [FILES]
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from daemon import Daemon
from machine import write_result

from pygent_ls.syntax.symbols import outline_of

FILES = 10_000

THREAD_FILES = 500
"""Number of files that a thread parses for comparison."""

IDLE_S = 3.0

LANGUAGES: Mapping[str, tuple[str, str, str]] = {
    ".py": (
        "from d{there}.m{other} import Part{other}, make_part{other}\n",
        "class Step{own}x{n}(Part{other}):\n    def run(self, value: int) -> int:\n        return value + {n}\n\n",
        "class Part{own}:\n    pass\n\ndef make_part{own}() -> Part{own}:\n    return make_part{other}()\n",
    ),
    ".ts": (
        "import {{ Part{other}, makePart{other} }} from '../d{there}/m{other}';\n",
        "export class Step{own}x{n} extends Part{other} {{\n  run(v: number): number {{ return v + {n}; }}\n}}\n",
        "export class Part{own} {{}}\nexport function makePart{own}(): Part{own} {{ return makePart{other}(); }}\n",
    ),
    ".go": (
        'import "example.org/d{there}"\n',
        "type Step{own}x{n} struct{{ part Part{other} }}\n\nfunc (s *Step{own}x{n}) Run() int {{ return {n} }}\n",
        "type Part{own} struct{{}}\n\nfunc MakePart{own}() *Part{own} {{ MakePart{other}(); return nil }}\n",
    ),
    ".java": (
        "import d{there}.m{other};\n",
        "class Step{own}x{n} extends Part{other} {{\n  int run(int value) {{ return value + {n}; }}\n}}\n",
        "class Part{own} {{ static Part{own} make() {{ return new Part{other}(); }} }}\n",
    ),
    ".rs": (
        "use crate::m{other}::{{Part{other}, make_part{other}}};\n",
        "pub struct Step{own}x{n} {{ part: Part{other} }}\nimpl Step{own}x{n} {{ fn run() -> u32 {{ {n} }} }}\n",
        "pub struct Part{own} {{}}\npub fn make_part{own}() -> Part{own} {{ make_part{other}(); Part{own} {{}} }}\n",
    ),
    ".c": (
        '#include "m{other}.h"\n',
        "static int step{own}x{n}(int value) {{ return value + make_part{other}({n}); }}\n",
        "struct part{own} {{ int size; }};\nint make_part{own}(int size) {{ return make_part{other}(size); }}\n",
    ),
}
"""Texts of a file by suffix: its import, a part that is repeated, and its end."""


def main() -> None:
    """Measure and write."""
    n_files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    with tempfile.TemporaryDirectory() as scratch:
        folder, home = Path(scratch).resolve() / "project", Path(scratch).resolve() / "home"
        home.mkdir()
        kilobytes = make(folder, n_files)
        figures: dict[str, object] = {
            "what": "seconds of a turn, and milliseconds of the slowest answer to another request meanwhile",
            "files": n_files,
            "kilobytes": kilobytes,
        }
        figures |= in_daemons(folder, home, n_files)
        files = sorted(path for path in folder.rglob("*.*") if path.suffix in LANGUAGES)[:THREAD_FILES]
        texts = [(path.read_text(), path.suffix) for path in files]
        figures[f"thread_of_{THREAD_FILES}_files"] = asyncio.run(in_a_thread(texts))
        figures["kept_kilobytes"] = sum(each.stat().st_size for each in home.rglob("symbols/*")) // 1_000
    write_result("repository_map", figures)


def make(folder: Path, n_files: int) -> int:
    """A repository whose files refer to others, some much more often; return its size in kilobytes."""
    chance = random.Random(n_files)
    size = 0
    for own in range(n_files):
        suffix = list(LANGUAGES)[own % len(LANGUAGES)]
        other = int(own * chance.random() ** 2) // len(LANGUAGES) * len(LANGUAGES) + own % len(LANGUAGES)
        names = {"own": own, "other": min(other, own), "there": min(other, own) // 100}
        begin, middle, end = LANGUAGES[suffix]
        text = begin.format(**names)
        text += "".join(middle.format(n=n, **names) for n in range(chance.randint(1, 24))) + end.format(**names)
        path = folder / f"d{own // 100}" / f"m{own}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        size += len(text)
    subprocess.run(["git", "init", "-q", folder], check=True)
    return size // 1_000


def in_daemons(folder: Path, home: Path, n_files: int) -> dict[str, object]:
    script = home / "script.jsonl"
    maps: dict[str, Any] = {"text": "", "tool_calls": [{"name": "repo_map", "input": {}}]}
    finds = {"text": "", "tool_calls": [{"name": "find_files", "input": {"pattern": "*.py"}}]}
    done = {"text": "Done."}
    script.write_text("".join(f"{json.dumps(each)}\n" for each in ({"loop": True}, maps, done)))
    figures: dict[str, object] = {}
    with Daemon(folder, home, PYGENT_MODEL=f"scripted:{script}") as daemon:
        turn(daemon, "/help")
        figures["idle"] = idle(daemon)
        before = daemon.resident_mb
        first = [turn(daemon)]
        while n_parsed(home) < n_files:
            first.append(turn(daemon))
        figures["first"] = {
            "s": round(sum(each["s"] for each in first), 2),
            "slowest_answer_ms": max(each["slowest_answer_ms"] for each in first),
            "turns": len(first),
        }
        figures["again"] = turn(daemon)
        changed = folder / "d0" / "m0.py"
        changed.write_text(changed.read_text() + "\nclass Changed: pass\n")
        figures["one_file_changed"] = turn(daemon)
        figures["daemon_grew_mb"] = round(daemon.resident_mb - before, 1)
    with Daemon(folder, home, PYGENT_MODEL=f"scripted:{script}") as daemon:
        turn(daemon, "/help")
        figures["another_daemon"] = turn(daemon)
    script.write_text("".join(f"{json.dumps(each)}\n" for each in (finds, done)))
    with Daemon(folder, home, PYGENT_MODEL=f"scripted:{script}") as daemon:
        turn(daemon, "/help")
        figures["find_files"] = turn(daemon)
    return figures


def n_parsed(home: Path) -> int:
    """Number of files of which an outline is kept."""
    return sum(each.read_bytes().count(b"\n") - 1 for each in home.rglob("symbols/*.tsv"))


def turn(daemon: Daemon, prompt: str = "go") -> dict[str, float]:
    """A turn, and the slowest answer meanwhile."""
    begin = perf_counter()
    request = daemon.begin("pygent/turn/start", {"prompt": prompt})
    has_ended = False
    slowest = 0.0
    while not has_ended:
        sent = perf_counter()
        ping = daemon.begin("pygent/tools/list", {})

        def is_answer(message: Mapping[str, Any], ping: int = ping) -> bool:
            nonlocal has_ended
            has_ended |= message.get("id") == request and "method" not in message
            return message.get("id") == ping and "method" not in message

        daemon.until(is_answer)
        slowest = max(slowest, perf_counter() - sent)
    seconds = round(perf_counter() - begin, 2)
    return {"s": seconds, "slowest_answer_ms": round(slowest * 1000, 1)}


def idle(daemon: Daemon) -> dict[str, float]:
    """The slowest answer of a daemon that does nothing else."""
    begin, slowest = perf_counter(), 0.0
    while perf_counter() - begin < IDLE_S:
        sent = perf_counter()
        daemon.request("pygent/tools/list", {})
        slowest = max(slowest, perf_counter() - sent)
    return {"s": IDLE_S, "slowest_answer_ms": round(slowest * 1000, 1)}


async def in_a_thread(texts: Sequence[tuple[str, str]]) -> dict[str, float]:
    """The longest time that an event loop waits while a thread of its process parses texts."""
    outline_of(*texts[0])
    slowest, begin = 0.0, perf_counter()
    parsing = asyncio.ensure_future(asyncio.to_thread(lambda: [outline_of(*each) for each in texts]))
    while not parsing.done():
        sent = perf_counter()
        await asyncio.sleep(0)
        slowest = max(slowest, perf_counter() - sent)
    await parsing
    return {"s": round(perf_counter() - begin, 2), "slowest_answer_ms": round(slowest * 1000, 1)}


if __name__ == "__main__":
    main()
