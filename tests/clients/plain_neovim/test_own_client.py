"""Neovim's own client and no plugin: code actions, questions, edits, commands."""

from __future__ import annotations

import pytest

from tests.clients.plain_neovim.conftest import Rig
from tests.clients.project import edit, write
from tests.model_server import Call, Step

PYTHON = "import os\n\n\ndef one():\n    return 1\n"

SHOWN = "return vim.fn.bufwinid('.pygent.md') ~= -1"

A_CHECKER_FINDS = """
vim.diagnostic.set(vim.api.nvim_create_namespace("checker"), 0, {
  { lnum = 0, col = 7, end_col = 9, message = "os is unused", source = "checker", code = "F401" },
})
"""


def test_a_problem_that_another_checker_found_is_fixed_and_the_fix_undone(rig: Rig) -> None:
    path = rig.opens("problem.py", PYTHON)
    rig.project.model.play(edit(path, "import os\n", "import re\n"), Step(text="It is re now."))
    rig.editor.lua(A_CHECKER_FINDS)

    rig.editor.keys("gra")
    rig.chooses(1)
    rig.chooses(1)

    rig.until(lambda: "It is re now." in rig.text(".pygent.md"))
    assert "line 1: os is unused [checker F401]" in rig.project.model.requests[0].texts("user")[-1]
    assert "Edited problem.py" in rig.project.told()[-1]
    assert rig.text("problem.py") == PYTHON.replace("os", "re")
    assert rig.editor.lua("return vim.bo.modified")
    assert path.read_text() == PYTHON

    rig.editor.keys("u")
    rig.until(lambda: rig.text("problem.py") == PYTHON)
    rig.editor.keys("<C-r>")
    rig.until(lambda: rig.text("problem.py") != PYTHON)
    rig.editor.command("Pygent undo")
    rig.until(lambda: rig.text("problem.py") == PYTHON)


def test_the_answer_is_shown_beside_what_is_edited(rig: Rig) -> None:
    rig.opens("beside.py", PYTHON)
    rig.project.model.play(Step(text="It gives one."))

    rig.editor.command("Pygent ask what does one give?")

    rig.until(lambda: rig.editor.lua(SHOWN))
    rig.until(lambda: "It gives one." in rig.text(".pygent.md"))
    assert rig.editor.lua("return vim.fs.basename(vim.api.nvim_buf_get_name(0))") == "beside.py"
    assert rig.editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })") == 1


def test_a_refused_edit_leaves_the_buffer_alone_and_tells_the_model(rig: Rig) -> None:
    path = rig.opens("comment.py", "def one():  # pygent: return two\n    return 1\n")
    rig.project.model.play(edit(path, "return 1", "return 2"), Step(text="Then it stays."))
    rig.until(lambda: rig.editor.lua("return #vim.lsp.codelens.get(0) == 1"))

    rig.editor.keys("grl")
    rig.chooses(4)

    rig.until(lambda: "Then it stays." in rig.text(".pygent.md"))
    assert "return 1" in rig.text("comment.py")
    assert "reject" in rig.project.told()[-1].lower()


DECIDE = """
local line, title = ...
vim.api.nvim_win_set_cursor(0, { line, 0 })
vim.lsp.buf.code_action({ apply = true, filter = function(action) return vim.startswith(action.title, title) end })
"""


def test_changes_under_review_have_hints_and_are_accepted_and_rejected_by_code_actions(rig: Rig) -> None:
    path = rig.opens("review.py", "one = 1\ntwo = 2\nthree = 3\n")
    edits = (edit(path, "one = 1", "one = 10"), edit(path, "three = 3", "three = 30"))
    rig.project.model.play(*edits, Step(text="Both are changed."))

    def hinted_lines() -> list[int]:
        return rig.editor.lua("return vim.tbl_map(function(each) return each.lnum + 1 end, vim.diagnostic.get(0))")

    rig.editor.command("Pygent ask change both")
    rig.chooses(1)
    rig.chooses(1)
    rig.until(lambda: "Both are changed." in rig.text(".pygent.md"))
    rig.until(lambda: sorted(hinted_lines()) == [1, 3])

    rig.editor.lua(DECIDE, 3, "Reject change")
    rig.until(lambda: hinted_lines() == [1])
    assert rig.text("review.py") == "one = 10\ntwo = 2\nthree = 3\n"
    rig.editor.lua(DECIDE, 1, "Accept change")
    rig.until(lambda: hinted_lines() == [])
    assert rig.text("review.py") == "one = 10\ntwo = 2\nthree = 3\n"


def test_an_edit_brings_a_buffer_up_to_date_that_neovim_has_not_loaded_again(rig: Rig) -> None:
    rig.editor.command("set noautoread")
    path = rig.opens("stale.py", PYTHON)
    rig.project.model.play(Step(text="It gives one, stale or not."))
    rig.editor.command("Pygent ask what does one give?")
    rig.until(lambda: "It gives one, stale or not." in rig.text(".pygent.md"))
    path.write_text(f"import sys\n{PYTHON}")
    read = Step(calls=(Call(name="read_file", arguments={"path": path.name}),))
    rig.project.model.play(read, edit(path, "return 1", "return 2"), Step(text="It gives two."))

    rig.editor.command("Pygent ask give two")
    rig.chooses(1)

    rig.until(lambda: "It gives two." in rig.text(".pygent.md"))
    assert "Edited stale.py" in rig.project.told()[-1]
    assert rig.text("stale.py") == f"import sys\n{PYTHON}".replace("return 1", "return 2")
    assert path.read_text() == f"import sys\n{PYTHON}"
    rig.editor.command("silent undo")
    assert rig.text("stale.py") == PYTHON


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
@pytest.mark.parametrize(
    ("name", "before", "after", "saved"),
    [
        ("lines.txt", "one\n", "one\ntwo\n", "one\ntwo\n"),
        ("empty_line.txt", "one\n", "one\n\n", "one\n\n"),
        ("crlf.txt", "one\r\n", "one\r\ntwo\r\n", "one\r\ntwo\r\n"),
        ("empty.txt", "", "one\ntwo\n", "one\ntwo\n"),
        ("no_line_break.txt", "one", "one\ntwo", "one\ntwo\n"),  # as 'fixendofline' has it
    ],
)
def test_lines_are_added_at_the_end_without_an_empty_one(
    rig: Rig, name: str, before: str, after: str, saved: str, *, is_open: bool
) -> None:
    rig.opens("beside.py", PYTHON)
    path = rig.project.folder / f"{'open' if is_open else 'closed'}_{name}"
    path.write_bytes(before.encode())
    if is_open:
        rig.editor.edit(path)
    answer = f"They are in {path.name}."
    rig.project.model.play(write(path, after), Step(text=answer))

    rig.editor.command("Pygent ask add what is missing")
    rig.chooses(1)

    rig.until(lambda: answer in rig.text(".pygent.md"))
    assert "did not apply" not in rig.project.told()[-1]
    rig.editor.command(f"buffer {path} | write")
    assert path.read_bytes().decode() == saved


def test_a_turn_ends_with_the_command(rig: Rig) -> None:
    rig.opens("ends.py", PYTHON)
    rig.project.model.play(Step(hang=True))
    rig.editor.command("Pygent ask will you ever answer?")
    rig.until(lambda: len(rig.project.model.requests) == 1)
    n_before = rig.project.server.disconnects

    rig.editor.command("Pygent cancel")

    rig.project.server.wait_for(lambda: rig.project.server.disconnects > n_before)
