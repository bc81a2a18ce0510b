"""Emacs with eglot and nothing of ours in it but a set-up: code actions, questions, edits, commands."""

from __future__ import annotations

import os
import select
from hashlib import sha256
from pathlib import Path

import pytest

from tests.clients.emacs.conftest import Rig, emacs_with_eglot
from tests.clients.project import edit
from tests.clients.waiting import WAIT_S
from tests.model_server import Call, Step

PYTHON = "import os\n\n\ndef one():\n    return 1\n"


def test_a_problem_is_fixed_through_a_code_action_and_a_question_and_the_fix_undone(rig: Rig) -> None:
    path = rig.opens("problem.py", PYTHON)
    rig.project.model.play(edit(path, "import os\n", "import re\n"), Step(text="It is re now.\n\nUse it."))
    rig.emacs.until("(flymake-diagnostics)")

    rig.emacs.types("\x1b<")
    rig.emacs.runs("eglot-code-actions")
    rig.emacs.answers("Pick an action", "Fix with pygent: F401")
    question = rig.emacs.answers("Choose an option", "Allow once")

    rig.emacs.says("It is re now.")
    assert "edit_file: Edit problem.py (+1 −1)" in question
    assert "Always allow adds: edit_file(problem.py)" in question
    asked = rig.project.model.requests[0].texts("user")[-1]
    assert "line 1: F401" in asked
    assert "Edited problem.py" in rig.project.told()[-1]
    assert rig.emacs.text(path) == PYTHON.replace("os", "re")
    assert rig.emacs.eval("(buffer-modified-p)")
    assert path.read_text() == PYTHON

    rig.emacs.runs("undo")
    rig.emacs.until('(string-prefix-p "import os" (buffer-string))')
    rig.emacs.runs("undo-redo")
    rig.emacs.until('(string-prefix-p "import re" (buffer-string))')
    rig.emacs.runs("pygent-undo")
    rig.emacs.until('(string-prefix-p "import os" (buffer-string))')
    assert rig.emacs.text(path) == PYTHON


def test_a_refused_edit_leaves_the_buffer_alone_and_tells_the_model(rig: Rig) -> None:
    path = rig.opens("comment.py", "def one():  # pygent: return two\n    return 1\n")
    rig.project.model.play(edit(path, "return 1", "return 2"), Step(text="Then it stays."))

    rig.emacs.runs("eglot-code-actions")
    rig.emacs.answers("Pick an action", "Run pygent comment: return two")
    rig.emacs.answers("Choose an option", "Reject")

    rig.emacs.says("Then it stays.")
    assert "return 1" in rig.emacs.text(path)
    assert "reject" in rig.project.told()[-1].lower()


def test_what_is_selected_is_explained(rig: Rig) -> None:
    rig.opens("selected.py", PYTHON)
    rig.project.model.play(Step(text="It gives one."))

    rig.emacs.types("\x18h")  # C-x h: all of it
    rig.emacs.runs("eglot-code-actions")
    rig.emacs.answers("Pick an action", "Explain")

    rig.emacs.says("It gives one.")
    assert "def one():" in rig.project.model.requests[0].texts("user")[-1]


def test_a_question_that_was_left_goes_with_the_turn_that_is_cancelled(rig: Rig) -> None:
    path = rig.opens("left.py", PYTHON)
    rig.project.model.play(edit(path, "return 1", "return 2"), Step(text="Never said."))
    rig.emacs.runs("pygent-ask")
    rig.emacs.answers("Ask pygent", "two, please")
    rig.emacs.asked("Choose an option")

    rig.emacs.quits()
    rig.emacs.runs("pygent-cancel")

    rig.emacs.says("The turn ended: cancelled")
    assert rig.emacs.text(path) == PYTHON
    rig.project.model.play(Step(text="Here again."))
    rig.emacs.runs("pygent-ask")
    rig.emacs.answers("Ask pygent", "still there?")
    rig.emacs.says("Here again.")


def test_files_that_no_buffer_shows_are_made_and_edited(rig: Rig) -> None:
    closed = rig.project.file("closed.py", PYTHON)
    rig.opens("open.py", PYTHON)
    made = Call(name="create_file", arguments={"path": "made.py", "content": "MADE = 1\n"})
    rig.project.model.play(Step(calls=(made,)), edit(closed, "return 1", "return 2"), Step(text="Both are done."))

    rig.emacs.runs("pygent-ask")
    rig.emacs.answers("Ask pygent", "make one, edit one")
    rig.emacs.answers("create_file: ", "Allow once")
    rig.emacs.answers("edit_file: ", "Allow once")
    rig.emacs.asked("Server wants to edit")
    rig.emacs.types("y")

    rig.emacs.says("Both are done.")
    assert (rig.project.folder / "made.py").read_text() == "MADE = 1\n"
    assert "Edited closed.py" in rig.project.told()[-1]
    assert rig.emacs.text(closed) == PYTHON.replace("return 1", "return 2")
    assert closed.read_text() == PYTHON


def test_a_buffer_that_was_reverted_and_so_opened_twice_is_edited(rig: Rig) -> None:
    path = rig.opens("reverted.py", PYTHON)
    path.write_text(PYTHON + "\n# more\n")
    rig.emacs.types("\x1bxrevert-buffer\ryes\r")
    rig.emacs.until('(string-search "# more" (buffer-string))')
    rig.project.model.play(edit(path, "# more", "# less"), Step(text="Less it is."))

    rig.emacs.runs("pygent-ask")
    rig.emacs.answers("Ask pygent", "less")
    rig.emacs.answers("Choose an option", "Allow once")

    rig.emacs.says("Less it is.")
    assert "Edited reverted.py" in rig.project.told()[-1]
    assert rig.emacs.text(path).endswith("# less\n")


@pytest.mark.parametrize(("n_lines", "n_others"), [(20_000, 0), (20_000, 2), (60_000, 0)])
def test_a_word_in_many_lines_is_replaced_in_seconds(rig: Rig, n_lines: int, n_others: int) -> None:
    text = "".join(f"value = {number}\n" + f"other = {number}\n" * n_others for number in range(n_lines))
    path = rig.opens(f"long_{n_lines}_{n_others}.py", text)
    read = Call(name="read_file", arguments={"path": path.name})
    replace = Call(name="edit_file", arguments={"path": path.name, "old": "value", "new": "result", "all": True})
    rig.project.model.play(Step(calls=(read,)), Step(calls=(replace,)), Step(text="All of them."))

    rig.emacs.runs("pygent-ask")
    rig.emacs.answers("Ask pygent", "another name")
    question = rig.emacs.answers("Choose an option", "Allow once")
    rig.emacs.says("All of them.")

    assert f"(+{n_lines} −{n_lines})" in question
    assert f"[… {2 * n_lines} changed lines in total]" in question
    assert f"Edited {path.name}: +{n_lines} −{n_lines} lines" in rig.project.told()[-1]
    expected = sha256(text.replace("value", "result").encode()).hexdigest()
    assert rig.emacs.eval("(secure-hash 'sha256 (current-buffer))") == expected


def test_emacs_leaves_no_daemon_behind(tmp_path: Path) -> None:
    with emacs_with_eglot(tmp_path) as rig:
        rig.opens("ends.py", PYTHON)
        daemon = os.pidfd_open(rig.emacs.eval("(process-id (jsonrpc--process (eglot-current-server)))"))
        try:
            assert rig.emacs.ends() == 0

            assert select.select([daemon], [], [], WAIT_S)[0]
        finally:
            os.close(daemon)
