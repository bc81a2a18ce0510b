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
from tests.clients.neovim.nvim import PLUGIN, PROGRAM, WAIT_S
from tests.e2e.command_line import clean_environment
from tests.model_server import ModelServer, Step


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
        nvim = [str(PROGRAM), "--clean", "-n", "-i", "NONE", "--cmd", f"set rtp^={PLUGIN}", *files]
        columns, lines = map(str, size)
        found._tmux("-f", os.devnull, "new-session", "-d", "-x", columns, "-y", lines, "-c", str(folder), *nvim)  # pyright: ignore[reportPrivateUsage]
        try:
            yield found
        finally:
            subprocess.run(
                ["tmux", "-S", str(found.socket), "kill-server"], env=environment, timeout=WAIT_S, check=False
            )
