"""A real Neovim with the plugin, the real daemon and a scripted model.

with neovim(folder, home, [Step(text="Hello")]) as editor:
    editor.command("Pygent ask hi")
    editor.until("return require('pygent.sessions').current() ~= nil")
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tests.clients.launching import daemon_program
from tests.clients.neovim.rpc import LOOK_AGAIN_S, Nvim
from tests.clients.waiting import WAIT_S
from tests.e2e.command_line import clean_environment
from tests.model_server import ModelServer, Step

SHARE_OF_WAIT = 0.05
"""Maximum time until the next look, as a share of the time waited so far."""

PLUGIN = Path(__file__).parents[3] / "clients" / "neovim"

PROGRAM = Path(sys.executable).parent / "nvim"

WITHOUT_PYTHON = ("--cmd", "let g:loaded_python3_provider = 0")
"""Else Neovim starts several processes of Python with the first Python file, to see whether scripts in it could run."""

SCREEN = (120, 40)
"""Columns and lines."""


@dataclass(slots=True)
class Editor:
    """One Neovim; what it runs by itself goes on between the calls."""

    nvim: Nvim
    folder: Path
    model: ModelServer
    environment: Mapping[str, str]

    def lua(self, code: str, *arguments: Any) -> Any:
        """What the chunk returns; `...` are the arguments. Raises `NeovimError`."""
        return self.nvim.exec_lua(code, *arguments)

    def command(self, command: str) -> None:
        """As typed behind `:`. Raises `NeovimError`."""
        self.nvim.command(command)

    def keys(self, keys: str) -> None:
        """As typed, in the notation of mappings; they are taken in when Neovim gets to it."""
        self.nvim.input(keys)

    def edit(self, path: Path | str) -> int:
        """Open a file of the folder in the current window; its buffer."""
        self.nvim.command(f"edit {self.nvim.funcs.fnameescape(str(self.folder / path))}")
        return cast("int", self.nvim.api.get_current_buf())

    def lines(self, buffer: int | str = 0) -> list[str]:
        """The text of a buffer, by its number or by a part of its name."""
        number = self.nvim.funcs.bufnr(buffer) if isinstance(buffer, str) else buffer
        return cast("list[str]", self.nvim.api.buf_get_lines(number, 0, -1, True))

    def messages(self) -> str:
        """What `:messages` shows, and what was told by `vim.notify`."""
        return cast("str", self.nvim.funcs.execute("messages"))

    def until(self, condition: str | Callable[[], object], *arguments: Any, what: str = "") -> Any:
        """The first value that is neither nil nor false: of a Lua chunk, or of a function."""
        began_s = time.monotonic()
        while True:
            mode = self.nvim.api.get_mode()
            if not mode["blocking"]:
                found = self.lua(condition, *arguments) if isinstance(condition, str) else condition()
                if found:
                    return found
            waited_s = time.monotonic() - began_s
            if waited_s > WAIT_S:
                state = f"Neovim waits for a key (mode {mode['mode']})" if mode["blocking"] else self.messages()
                raise AssertionError(f"not within {WAIT_S} s: {what or condition}\n{state}")
            self.nvim.wait_for_news(waited_s * SHARE_OF_WAIT)

    def until_over(self, n_turns: int = 1) -> None:
        """No turn runs in any session that is followed, and at least so many have ended."""
        self.until(
            "local n_ended = 0; for _, s in ipairs(require('pygent.sessions').all()) do "
            "if s.conversation.running_turn_id then return false end; "
            "for _, turn in pairs(s.conversation.turns) do "
            "if turn.state == 'finished' then n_ended = n_ended + 1 end end end; return n_ended >= ...",
            n_turns,
            what="the end of the turn",
        )


@contextmanager
def bare_neovim(environment: Mapping[str, str], home: Path, cwd: Path, *arguments: str) -> Generator[Nvim]:
    """A Neovim without settings of its own, with the plugin in its path, and a screen. Its socket lies in `home`."""
    address = home / "nvim.sock"
    clean = ("nvim", "--clean", "--headless", "-n", "-i", "NONE", *WITHOUT_PYTHON)
    process = subprocess.Popen(
        [*clean, "--listen", str(address), "--cmd", f"set rtp^={PLUGIN}", *arguments],
        executable=PROGRAM,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        nvim = _attached(address, process)
        try:
            nvim.api.ui_attach(*SCREEN, {"rgb": True, "ext_linegrid": True})
            yield nvim
        finally:
            nvim.close()
    finally:
        process.terminate()  # it leaves as with `:qa!`, whatever it waits for
        try:
            process.wait(WAIT_S)
        finally:
            process.kill()


def _attached(address: Path, process: subprocess.Popen[bytes]) -> Nvim:
    deadline = time.monotonic() + WAIT_S
    while True:
        with suppress(FileNotFoundError, ConnectionRefusedError):  # the socket is there before Neovim listens
            return Nvim(address)
        assert time.monotonic() < deadline, "Neovim does not listen"
        with suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"Neovim did not start: exit code {process.wait(LOOK_AGAIN_S)}")


@contextmanager
def neovim(
    folder: Path, home: Path, script: Sequence[Step] | Callable[..., Step], *arguments: str, **environment: str
) -> Generator[Editor]:
    """Neovim in that folder; the daemon starts when something needs it."""
    with ModelServer(script) as model, daemon_program(home) as programs:
        given = clean_environment(home, **{**model.env(), "PYGENT_MODEL": "openai/mock", **environment})
        given["PATH"] = f"{programs}{os.pathsep}{given['PATH']}"
        given["NVIM_LOG_FILE"] = str(home / "nvim.log")
        with bare_neovim(given, home, folder, *arguments) as nvim:
            yield Editor(nvim=nvim, folder=folder, model=model, environment=given)
