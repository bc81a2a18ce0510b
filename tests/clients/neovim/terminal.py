"""A real Neovim on a real terminal: tmux shows what a person sees, and takes the keys that they press.

with terminal(folder, home, [Step(text="Hello")]) as screen:
    screen.keys(":Pygent ask hi", "Enter")
    screen.shows("Hello")
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.clients.launching import daemon_program
from tests.clients.neovim.nvim import PLUGIN, PROGRAM, WITHOUT_PYTHON
from tests.clients.waiting import WAIT_S
from tests.e2e.command_line import clean_environment
from tests.model_server import ModelServer, Step


@dataclass(frozen=True, slots=True)
class Terminal:
    """A terminal in which Neovim runs."""

    model: ModelServer
    socket: Path
    environment: Mapping[str, str]

    def keys(self, *keys: str) -> None:
        """Press keys: text as it is, else by tmux's names: Enter, Escape, C-c."""
        self._tmux("send-keys", "-t", "0", *keys)

    def resize(self, columns: int, lines: int) -> None:
        """Make it as large as that."""
        self._tmux("resize-window", "-t", "0", "-x", str(columns), "-y", str(lines))

    @property
    def screen(self) -> str:
        """What is on it, a line a row."""
        return self._tmux("capture-pane", "-t", "0", "-p")

    def shows(self, *texts: str) -> str:
        """Wait until it shows all of them; the screen."""
        return self.until(lambda screen: all(text in screen for text in texts), f"{texts}")

    def shows_no(self, text: str) -> str:
        """Wait until it does not show that; the screen."""
        return self.until(lambda screen: text not in screen, f"no {text}")

    def until(self, is_so: Callable[[str], bool], what: str) -> str:
        """Wait until something is so of the screen; the screen."""
        deadline = time.monotonic() + WAIT_S
        while not is_so(screen := self.screen):
            assert time.monotonic() < deadline, f"not within {WAIT_S} s: {what}; the screen shows\n{screen}"
        return screen

    def _tmux(self, *arguments: str) -> str:
        return subprocess.run(
            ["tmux", "-S", str(self.socket), *arguments],
            env=dict(self.environment),
            capture_output=True,
            encoding="utf-8",
            timeout=WAIT_S,
            check=True,
        ).stdout


@contextmanager
def terminal(
    folder: Path, home: Path, script: Sequence[Step], *files: str, size: tuple[int, int] = (120, 40)
) -> Generator[Terminal]:
    """Neovim with these files in a terminal of so many columns and lines. Its socket lies in `home`."""
    with ModelServer(script) as model, daemon_program(home) as programs:
        environment = clean_environment(home, **model.env(), PYGENT_MODEL="openai/mock")
        environment |= {
            "PATH": f"{programs}{os.pathsep}{environment['PATH']}",
            "TERM": "screen-256color",
            "SHELL": shutil.which("sh") or "/bin/sh",
        }
        environment.pop("TMUX", None)
        found = Terminal(model=model, socket=home / "tmux", environment=environment)
        nvim = [str(PROGRAM), "--clean", "-n", "-i", "NONE", *WITHOUT_PYTHON, "--cmd", f"set rtp^={PLUGIN}", *files]
        columns, lines = map(str, size)
        found._tmux("-f", os.devnull, "new-session", "-d", "-x", columns, "-y", lines, "-c", str(folder), *nvim)  # pyright: ignore[reportPrivateUsage]
        try:
            yield found
        finally:
            subprocess.run(
                ["tmux", "-S", str(found.socket), "kill-server"], env=environment, timeout=WAIT_S, check=False
            )
