"""One Emacs for the tests of a worker, eglot set up in it as `docs/editors.md` says; they are left out without one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.emacs.emacs import Emacs, emacs
from tests.clients.page import set_up
from tests.clients.programs import are_here
from tests.clients.project import Project, project

collect_ignore_glob = [] if are_here("emacs") else ["test_*.py"]

HEADING = "Emacs (eglot)"

RUFF = """
(setq python-flymake-command
      '("ruff" "check" "--quiet" "--isolated" "--output-format=concise" "--stdin-filename=stdin" "-"))
"""
"""What looks for problems in a Python file: another program than the daemon."""


@dataclass(frozen=True, slots=True)
class Rig:
    """An Emacs, the project that it has open, and the model."""

    emacs: Emacs
    project: Project

    def opens(self, name: str, text: str) -> Path:
        """Open a new file, and wait until the daemon has it."""
        path = self.project.file(name, text)
        self.emacs.opens(path)
        if not self.emacs.eval("(eglot-managed-p)"):
            self.emacs.runs("eglot")
        self.emacs.until("(eglot-managed-p)")
        return path


@contextmanager
def emacs_with_eglot(parent: Path, init: str | None = None) -> Generator[Rig]:
    """A new one, whose project lies in this empty folder; its set-up is that of the page where no other is given."""
    with (
        project(parent) as opened,
        emacs(init or set_up(HEADING, "elisp") + RUFF, opened.folder, opened.environment) as started,
    ):
        yield Rig(started, opened)


@pytest.fixture(scope="session")
def shared_rig(tmp_path_factory: pytest.TempPathFactory) -> Generator[Rig]:
    """Yield a rig, as `rig` does."""
    with emacs_with_eglot(tmp_path_factory.mktemp("emacs")) as made:
        yield made


@pytest.fixture
def rig(shared_rig: Rig) -> Rig:
    """The shared one, in a session of its own, with nothing half done by a test before."""
    shared_rig.project.model.play()
    shared_rig.emacs.starts_over()
    return shared_rig
