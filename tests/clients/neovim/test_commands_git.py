"""`:Pygent code-review`, `findings` and `commit-message`: what is found is listed, and messages are written for git."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.neovim.changing import connect
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.prompts import told
from tests.model_server import Call, Step
from tests.tools.repository import git, make_repository

FINDING = {
    "path": "cart.py",
    "first_line": 2,
    "last_line": 2,
    "title": "Add up the items",
    "body": "total([1, 2]) returns 2 instead of 3.",
    "priority": 1,
}

TEMPLATE = "\n# Please enter the commit message for your changes.\n#\n"

DIAGNOSTICS = """
local all = vim.diagnostic.get(vim.fn.bufnr("cart.py"))
local found = vim.tbl_filter(function(each) return each.source == "pygent review" end, all)
return vim.tbl_map(function(each) return { each.lnum, each.col, each.message } end, found)
"""

QUICKFIX = (
    "return vim.tbl_map(function(each) return { each.lnum, each.col, each.text, each.type } end, vim.fn.getqflist())"
)


@pytest.fixture
def repository(folder: Path) -> Path:
    make_repository(folder)
    (folder / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "cart: add the total")
    (folder / "cart.py").write_text("def total(items):\n    return max(items)\n")
    return folder


def test_findings_are_diagnostics_and_a_quickfix_list(start: Start, repository: Path) -> None:
    del repository
    editor = start([Step(calls=(Call(name="report_finding", arguments=FINDING),)), Step(text="Wrong.")], "cart.py")
    connect(editor)

    editor.command("Pygent code-review uncommitted")
    editor.until(lambda: _diagnostics(editor) == [[1, 4, f"{FINDING['title']}\n{FINDING['body']}"]], what="the finding")

    editor.command("Pygent findings")
    editor.until(lambda: editor.lua(QUICKFIX) == [[2, 5, "P1 Add up the items", "W"]], what="the list")
    editor.command("Pygent! findings")
    told(editor, "all findings are dismissed")
    editor.until(lambda: _diagnostics(editor) == [], what="no finding")
    editor.command("Pygent findings")
    told(editor, "no findings; `:Pygent code-review` reviews changes")


def _diagnostics(editor: Editor) -> object:
    return editor.lua(DIAGNOSTICS)


def test_a_commit_message_is_written_into_the_buffer_of_git(start: Start, repository: Path) -> None:
    file = repository / ".git" / "COMMIT_EDITMSG"
    file.write_text(TEMPLATE)
    editor = start([Step(text="cart: take the largest\n\nIt was asked for."), Step(text="cart: take the maximum")])
    editor.command(f"edit {file}")

    editor.command("Pygent commit-message")
    written = ["cart: take the largest", "", "It was asked for.", "", *TEMPLATE.splitlines()[1:]]
    editor.until(lambda: editor.lines(0) == written, what="the message")

    editor.command("Pygent commit-message")
    told(editor, "the buffer already has a message; `:Pygent! commit-message` replaces it")
    editor.command("Pygent! commit-message")
    replaced = ["cart: take the maximum", "", *TEMPLATE.splitlines()[1:]]
    editor.until(lambda: editor.lines(0) == replaced, what="the other message")


def test_what_is_typed_meanwhile_stays(start: Start, repository: Path) -> None:
    file = repository / ".git" / "COMMIT_EDITMSG"
    file.write_text(TEMPLATE)
    editor = start([Step(text="cart: take the largest", pause_after=1)])
    editor.command(f"edit {file}")
    editor.command("Pygent commit-message")
    editor.until(lambda: editor.model.requests, what="the request")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'mine' })")
    editor.model.resume()
    told(editor, "you have typed a message meanwhile, which stays; `:Pygent! commit-message` replaces it")
    assert editor.lines(0)[0] == "mine"


def test_elsewhere_that_is_said(start: Start, repository: Path) -> None:
    del repository
    editor = start([], "cart.py")
    editor.command("Pygent commit-message")
    told(editor, "this is no buffer in which git asks for a message; run it there, such as in `git commit`")
