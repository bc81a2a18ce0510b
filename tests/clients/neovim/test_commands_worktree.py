"""`:Pygent worktree`: a session in a worktree beside the user's files, the merge of its changes, and its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.neovim.changing import bypass_permissions, connect, edits, replaced, turn
from tests.clients.neovim.chats import chat
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.dialogs import answer
from tests.clients.neovim.picking import Picker
from tests.clients.neovim.test_commands import completed
from tests.model_server import Step
from tests.tools.repository import git, make_repository


@pytest.fixture
def repository(folder: Path) -> Path:
    make_repository(folder)
    (folder / "cart.py").write_text("total = 0\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "cart: begin")
    return folder


def test_a_session_works_in_a_worktree_and_its_changes_are_merged(start: Start, repository: Path, home: Path) -> None:
    bypass_permissions(home)
    editor = start([edits(replaced("cart.py", "total = 0", "total = 1")), Step(text="Counted.")], "cart.py")
    picker = Picker(editor)
    connect(editor)

    editor.command("Pygent worktree sums")
    editor.until("local s = require('pygent.sessions').current() return s and s.info.worktree == 'sums'")
    turn(editor, "count")
    assert (repository / "cart.py").read_text() == "total = 0\n"
    editor.until(lambda: completed(editor, "Pygent worktree merge s") == ["sums"])
    editor.command("Pygent sessions")
    ((title,),) = picker.offered()
    assert "worktree sums" in title

    editor.command("Pygent worktree merge sums")
    editor.until(lambda: any("Staged 1 changed file" in line for line in chat(editor)))
    assert git(repository, "status", "--porcelain") == "M  cart.py\n"
    assert (repository / "cart.py").read_text() == "total = 1\n"

    editor.command("Pygent new")
    editor.until("return require('pygent.sessions').current().info.worktree == nil")
    editor.command("Pygent worktree discard sums")
    answer(editor, "Discard the worktree sums?", "2")
    editor.until(lambda: any("Deleted the worktree" in line for line in chat(editor)))
    assert git(repository, "worktree", "list").count("\n") == 1
