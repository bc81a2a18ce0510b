"""Eglot that knows which program to start, and no more: it tells of changes when Emacs has been idle, not before."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import pytest

from tests.clients.emacs.conftest import Rig, emacs_with_eglot
from tests.clients.project import edit
from tests.model_server import Step

NEARLY_NOTHING = """
(require 'eglot)
(add-to-list 'auto-mode-alist '("\\\\.md\\\\'" . text-mode))
(add-to-list 'eglot-server-programs '((python-mode text-mode) . ("pygent-ls")))
(setq eglot-confirm-server-initiated-edits nil)
"""

NOTHING_ASKED = "(zerop (hash-table-count (jsonrpc--request-continuations (eglot-current-server))))"
"""Until it is so, eglot waits for an answer, and what comes right behind that one it leaves unread."""

LONG = "".join(f"Line {number} of an answer that is not short.\n" for number in range(40)).rstrip()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Generator[Rig]:
    with emacs_with_eglot(tmp_path_factory.mktemp("alone"), NEARLY_NOTHING) as made:
        yield made


def goes_on(alone: Rig) -> None:
    """Let the model answer, when eglot has what it waits for."""
    alone.project.server.wait_for(lambda: len(alone.project.model.requests) == 1)
    alone.emacs.until(NOTHING_ASKED)
    alone.project.server.resume()


def test_an_answer_arrives_whole_and_once_whenever_emacs_tells_of_its_parts(alone: Rig) -> None:
    path = alone.opens("late.pygent.md", "## You\n\nTell me.\n")
    alone.project.model.play(Step(text=LONG, chunk=40, chunk_delay_s=0.02, pause_after=1))

    alone.emacs.runs("eglot-code-actions")
    alone.emacs.answers("Pick an action", "Send")
    goes_on(alone)
    alone.emacs.until('(string-suffix-p "## You\\n\\n" (buffer-string))')

    assert alone.emacs.text(path) == f"## You\n\nTell me.\n\n## pygent\n\n{LONG}\n\n## You\n\n"


def test_an_edit_after_a_question_is_told_with_the_next_key(alone: Rig) -> None:
    path = alone.opens("key.py", "ONE = 1  # pygent: two\n")
    alone.project.model.play(replace(edit(path, "ONE = 1", "ONE = 2"), pause_after=1), Step(text="It is two."))

    alone.emacs.runs("eglot-code-actions")
    alone.emacs.answers("Pick an action", "Run pygent comment")
    goes_on(alone)
    alone.emacs.answers("Choose an option", "Allow once")
    alone.emacs.until('(string-search "ONE = 2" (buffer-string))')
    alone.emacs.types("\x1b<")

    alone.emacs.says("It is two.")
    assert "Edited key.py" in alone.project.told()[-1]
