"""A project that is opened in an editor, and the model behind its daemon: a real HTTP server that plays a script."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.clients.waiting import WAIT_S
from tests.e2e.command_line import clean_environment
from tests.e2e.conftest import HttpModel
from tests.model_server import Call, ModelServer, Received, Step


@dataclass(frozen=True, slots=True)
class Project:
    """A git repository with a home beside it; tests of one editor share it, each with files of its own."""

    folder: Path
    model: HttpModel
    server: ModelServer
    environment: dict[str, str]
    """Environment of the editor, and so of the daemon: `pygent-ls` is on its path."""

    def file(self, name: str, text: str) -> Path:
        """A new file."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def told(self) -> list[str]:
        """What the model was told by its tools, in the last request."""
        return self.model.requests[-1].texts("tool")


@contextmanager
def project(parent: Path, answer: Callable[[Received, int], Step] | None = None) -> Generator[Project]:
    """Make it in an empty folder. `answer` takes the place of the scripts of its model."""
    folder, home = (parent.resolve() / name for name in ("project", "home"))
    folder.mkdir()
    home.mkdir()
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True, timeout=WAIT_S)
    model = HttpModel()
    with ModelServer(answer or model.answer) as server:
        environment = clean_environment(
            home,
            PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            PYGENT_MODEL="openai/gpt-4o",
            PYGENT_API_BASE=server.url,
            OPENAI_API_KEY="sk-test",
        )
        yield Project(folder, model, server, environment)


def edit(path: Path, old: str, new: str) -> Step:
    """An answer that edits a file."""
    return Step(calls=(Call(name="edit_file", arguments={"path": path.name, "old": old, "new": new}),))


def write(path: Path, text: str) -> Step:
    """An answer that writes a whole file."""
    return Step(calls=(Call(name="create_file", arguments={"path": path.name, "content": text, "overwrite": True}),))
