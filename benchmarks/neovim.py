"""Neovim with the plugin, while an answer of 5,000 tokens streams into the chat: how late its timers come.

A timer of `vim.uv` is asked for each 5 ms. How much later it comes is how long a key that is pressed then would wait.
The answer is markdown with lists and fences, once as fast as it can be sent, once a token each millisecond; beside it
stands what the same Neovim shows while nothing happens. The aim is 20 ms.

It needs what `make test` installs: Neovim, and the packages of the tests.

usage: python benchmarks/neovim.py
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from machine import write_result

from tests.clients.neovim.lateness import TOKEN_CHARS, answer, begin, is_drawn, late_ms
from tests.clients.neovim.nvim import Editor, neovim
from tests.model_server import Step

N_TOKENS = 5000
N_RUNS = 5
IDLE_S = 5.0

WAYS = {"as_fast_as_can_be": 0.0, "a_token_each_millisecond": 0.001}
"""Seconds after each token."""


def main() -> None:
    """Measure, and write the result."""
    figures = {way: told([run(delay_s) for _ in range(N_RUNS)]) for way, delay_s in WAYS.items()}
    figures["nothing_happens"] = told([idle()])
    what = (
        f"how late timers come in Neovim while {N_TOKENS} tokens stream into the chat, in milliseconds; {N_RUNS} runs"
    )
    write_result("neovim", {"what": what, **figures})


def run(delay_s: float) -> list[float]:
    """The lateness of each timer in one turn of a fresh Neovim, in milliseconds."""
    with opened([Step(text=answer(N_TOKENS), chunk=TOKEN_CHARS, chunk_delay_s=delay_s)]) as editor:
        begin(editor)
        editor.command("Pygent ask how does it parse?")
        while not is_drawn(editor):
            time.sleep(0.25)
        return late_ms(editor)


@contextmanager
def opened(script: Sequence[Step]) -> Generator[Editor]:
    """A Neovim that shows a file and the chat, with the daemon at work."""
    with tempfile.TemporaryDirectory(prefix="pv-") as made:
        folder, home = Path(made) / "project", Path(made) / "home"
        folder.mkdir()
        home.mkdir()
        with neovim(folder, home, script) as editor:
            editor.edit("notes.txt")
            editor.command("Pygent chat")
            editor.until("return require('pygent.sessions').current() ~= nil")
            yield editor


def idle() -> list[float]:
    """The same while nothing happens."""
    with opened([]) as editor:
        begin(editor)
        time.sleep(IDLE_S)
        editor.lua("_G.is_over = true")
        return late_ms(editor)


def told(runs: Sequence[Sequence[float]]) -> dict[str, float]:
    """Times of all timers of all runs."""
    late = sorted(each for one in runs for each in one)
    return {
        "timers": len(late),
        "median": round(statistics.median(late), 2),
        "p95": round(late[len(late) * 95 // 100], 2),
        "p99": round(late[len(late) * 99 // 100], 2),
        "max": round(late[-1], 2),
    }


if __name__ == "__main__":
    main()
