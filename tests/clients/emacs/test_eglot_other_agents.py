"""An agent that others wrote, in Emacs with eglot alone: it asks, edits what is unsaved, its change is rejected, and
another one is undone."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.clients import qwen
from tests.clients.emacs.conftest import HEADING, RUFF, Rig
from tests.clients.emacs.emacs import emacs
from tests.clients.page import set_up
from tests.clients.project import project


@pytest.fixture
def rig(tmp_path: Path) -> Generator[Rig]:
    """An Emacs whose daemon has the agent as its model."""
    answers = qwen.editing(tmp_path.resolve() / "project" / "numbers.py", "two = 2", "two = 3")
    with project(tmp_path, answers) as opened:
        home = Path(opened.environment["HOME"])
        qwen.set_up(home, Path(opened.environment["XDG_CONFIG_HOME"]) / "pygent-ls")
        environment = {**opened.environment, "PYGENT_MODEL": qwen.MODEL, "OPENAI_BASE_URL": opened.server.url}
        with emacs(set_up(HEADING, "elisp") + RUFF, opened.folder, environment) as started:
            yield Rig(started, opened)


def test_its_edits_of_unsaved_text_are_asked_about_rejected_and_undone(rig: Rig) -> None:
    path = rig.opens("numbers.py", "one = 1\ntwo = 2\n")
    rig.emacs.types("typed = 0\r")
    rig.emacs.until('(string-prefix-p "typed = 0" (buffer-string))')

    rig.emacs.runs("pygent-ask")
    rig.emacs.answers("Ask pygent", "Make it three.")
    rig.emacs.answers("Choose an option", "Allow once")
    rig.emacs.until('(string-search "two = 3" (buffer-string))')
    rig.emacs.says("It is done.")
    rig.emacs.eval('(progn (goto-char (point-min)) (search-forward "two"))')
    rig.emacs.runs("eglot-code-actions")
    rig.emacs.answers("Pick an action", "Reject change")
    rig.emacs.until('(string-search "two = 2" (buffer-string))')
    assert rig.emacs.text(path) == "typed = 0\none = 1\ntwo = 2\n"

    rig.emacs.runs("pygent-ask")
    rig.emacs.answers("Ask pygent", "Make it three after all.")
    question = rig.emacs.answers("Choose an option", "Allow once")
    rig.emacs.until('(string-search "two = 3" (buffer-string))')
    rig.emacs.until('(with-current-buffer "*Messages*" (= 2 (how-many "It is done." (point-min) (point-max))))')
    said = "".join(text for request in rig.project.server.requests for text in request.texts("user"))
    assert "took some back" in said
    assert "-two = 2\n+two = 3" in said
    assert "Qwen Code: Edit numbers.py (+1 −1)" in question
    assert rig.emacs.text(path) == "typed = 0\none = 1\ntwo = 3\n"
    assert path.read_text() == "one = 1\ntwo = 2\n"

    rig.emacs.runs("pygent-undo")
    rig.emacs.until('(string-search "two = 2" (buffer-string))')
    assert rig.emacs.text(path) == "typed = 0\none = 1\ntwo = 2\n"
