"""What tests of the Neovim plugin share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.clients.neovim.nvim import Editor, bare_neovim, neovim
from tests.clients.programs import are_here
from tests.e2e.command_line import clean_environment
from tests.model_server import Step

collect_ignore = [
    *([] if are_here("tmux") else ["test_terminal.py"]),
    *([] if are_here("espeak-ng") else ["test_commands_voice.py"]),
]

Start = Callable[..., Editor]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty project."""
    made = (tmp_path / "project").resolve()
    made.mkdir()
    return made


@pytest.fixture
def home() -> Generator[Path]:
    """The home of the daemon and of Neovim; its path is short, since a socket lies in it."""
    with tempfile.TemporaryDirectory(prefix="pv-") as made:
        yield Path(made).resolve()


@pytest.fixture
def start(folder: Path, home: Path) -> Generator[Start]:
    """`start([Step(text="Hello")])` is an `Editor` in `folder`, which ends with the test."""
    with ExitStack() as stack:

        def begin(script: Sequence[Step] | Callable[..., Step] = (), *arguments: str, **environment: str) -> Editor:
            return stack.enter_context(neovim(folder, home, script, *arguments, **environment))

        yield begin


@pytest.fixture(scope="session")
def lua() -> Generator[Callable[..., Any]]:
    """Runs Lua in a Neovim that the tests of a worker share: for what keeps no state."""
    with tempfile.TemporaryDirectory(prefix="pv-") as made:
        home = Path(made)
        with bare_neovim(clean_environment(home), home, home) as nvim:
            yield nvim.exec_lua
