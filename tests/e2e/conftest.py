"""What the tests of whole daemons share: a workspace, and one daemon with a real HTTP model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from tests.clients.programs import are_here
from tests.e2e.lsp_client import EditorClient, editor_client
from tests.model_server import ModelServer, Received, Step

NEEDS = {"test_voice.py": "espeak-ng", "test_team_gateway.py": "initdb"}

collect_ignore = [file for file, program in NEEDS.items() if not are_here(program)]

SHARED = pytest.mark.asyncio(loop_scope="session")
"""Mark for tests that use `editor`, whose daemon they share: they run in its event loop."""

WITH_HTTP = SHARED
"""Mark for tests that use `rig`: they run in its event loop too."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty workspace folder; the daemon's home will lie beside it."""
    made = (tmp_path / "project").resolve()
    made.mkdir()
    return made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[EditorClient]:
    """Yield an editor, as `editor` does."""
    folder = tmp_path_factory.mktemp("shared").resolve() / "project"
    folder.mkdir()
    async with editor_client(folder, {}, may_be_warm=False) as editor:
        yield editor


@pytest.fixture
def editor(shared_editor: EditorClient, folder: Path) -> EditorClient:
    """An editor on a daemon that runs already, for tests that need nothing of their own but a folder and a session:
    it has closed what was open and has opened `folder`."""
    shared_editor.start_over(folder)
    return shared_editor


@dataclass
class HttpModel:
    """What the provider will answer, and what it was asked, of the test that runs."""

    steps: list[Step] = field(default_factory=list[Step])
    requests: list[Received] = field(default_factory=list[Received])

    def answer(self, request: Received, _: int) -> Step:
        """The next step of the script."""
        self.requests.append(request)
        return self.steps.pop(0) if self.steps else Step(status=400, error="the test's script is over")

    def play(self, *steps: Step) -> None:
        """Begin a new script."""
        self.steps, self.requests = list(steps), []


@dataclass(frozen=True, slots=True)
class Rig:
    """An editor, its daemon, and a real HTTP server behind litellm.

    Importing litellm takes seconds, so the tests of a worker share them: each has its own session, token and files.
    """

    folder: Path
    editor: EditorClient
    model: HttpModel
    server: ModelServer


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def http_rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig]:
    """Yield a rig, as described at `Rig`."""
    folder = tmp_path_factory.mktemp("http").resolve() / "project"
    folder.mkdir()
    model = HttpModel()
    async with (
        ModelServer(model.answer) as server,
        editor_client(folder, {**server.env(), "PYGENT_MODEL": "openai/mock"}, may_be_warm=False) as editor,
    ):
        yield Rig(folder, editor, model, server)


@pytest.fixture
def rig(http_rig: Rig) -> Rig:
    """The shared rig; what earlier tests saw on it is forgotten."""
    http_rig.editor.forget()
    return http_rig
