"""One Neovim for the tests of a worker, without the plugin: its own client, set up as `docs/editors.md` says."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import pytest

from tests.clients.neovim.nvim import PLUGIN, Editor, bare_neovim
from tests.clients.page import set_up
from tests.clients.project import Project, project
from tests.clients.waiting import WAIT_S

READY, INSERTS, LIST = "n", "i", "c"
"""Modes: the last one is also that in which it shows a list to choose from."""

NO_KEY_FOR_MESSAGES = "set messagesopt=wait:0,history:500"
"""Neovim else waits for a key where two messages come at once: here, whenever it happens to."""

ATTACHED = "return #vim.lsp.get_clients({ name = 'pygent', bufnr = 0 }) == 1"


@dataclass(frozen=True, slots=True)
class Rig:
    """A Neovim, the project that it has open, and the model."""

    editor: Editor
    project: Project

    def opens(self, name: str, text: str) -> Path:
        """Open a new file, and wait until the daemon has it."""
        path = self.project.file(name, text)
        self.editor.edit(name)
        self.until(lambda: self.editor.lua(ATTACHED))
        return path

    def until(self, true: Callable[[], object]) -> None:
        """Wait until something is true, and Neovim asks nothing."""
        deadline = monotonic() + WAIT_S
        while self._mode() not in (READY, INSERTS) or not true():
            assert monotonic() < deadline, f"not within {WAIT_S} s; {self._seen()}"
            self.editor.nvim.wait_for_news()

    def chooses(self, number: int) -> None:
        """Wait until Neovim shows a list, and take this one of it."""
        self._until_asks(True)
        self.editor.keys(f"{number}<CR>")
        self._until_asks(False)

    def starts_over(self) -> None:
        """Leave what asks, end what runs, close all, and begin a session."""
        self.editor.keys("<C-c><Esc>")
        self.until(lambda: True)
        self.editor.command("silent! Pygent cancel")
        self.editor.command("silent! Pygent newSession")
        self.editor.command("silent! only | silent! %bwipeout!")

    def text(self, name: str) -> str:
        """Return the text of the buffer whose name contains this; nothing without such a buffer."""
        found = self.editor.nvim.funcs.bufnr(name)
        return "".join(f"{line}\n" for line in self.editor.lines(found)) if found != -1 else ""

    def _until_asks(self, wanted: bool) -> None:
        deadline = monotonic() + WAIT_S
        while (self._mode() == LIST) != wanted:
            assert monotonic() < deadline, f"Neovim {'asks nothing' if wanted else 'still asks'}"
            self.editor.nvim.wait_for_news()

    def _seen(self) -> str:
        mode = self._mode()
        if mode not in (READY, INSERTS):
            return f"Neovim waits for a key in mode {mode!r}"
        api = self.editor.nvim.api
        buffers = {api.buf_get_name(each): self.editor.lines(each) for each in api.list_bufs()}
        return f"Neovim said:\n{self.editor.messages()}\nand holds {buffers}"

    def _mode(self) -> str:
        return self.editor.nvim.api.get_mode()["mode"][0]


@pytest.fixture(scope="session")
def shared_rig(tmp_path_factory: pytest.TempPathFactory) -> Generator[Rig]:
    """Yield a rig, as `rig` does."""
    with (
        project(tmp_path_factory.mktemp("neovim")) as opened,
        tempfile.TemporaryDirectory(prefix="pv-") as short,
    ):
        init = Path(short) / "init.lua"
        init.write_text(set_up("Neovim", "lua"), encoding="utf-8")
        given = {**opened.environment, "NVIM_LOG_FILE": f"{short}/nvim.log"}
        without_plugin = ("--cmd", f"set rtp-={PLUGIN}", "--cmd", NO_KEY_FOR_MESSAGES, "-S", str(init))
        with bare_neovim(given, Path(short), opened.folder, *without_plugin) as nvim:
            yield Rig(Editor(nvim=nvim, folder=opened.folder, model=opened.server, environment=given), opened)


@pytest.fixture
def rig(shared_rig: Rig) -> Rig:
    """The shared one, in a session of its own, with nothing half done by a test before."""
    shared_rig.project.model.play()
    shared_rig.starts_over()
    return shared_rig
