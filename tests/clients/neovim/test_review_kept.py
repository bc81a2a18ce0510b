"""What waits for review is the daemon's: it outlives daemon and editor, and its rejections can be undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.neovim.changing import TRUSTING, edits, replaced, turn
from tests.clients.neovim.chats import count, open_chat
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor, bare_neovim
from tests.clients.neovim.reviews import DONE, LINES, TWO_HUNKS, added, edited, marks, until_waiting, waiting
from tests.clients.neovim.test_lifecycle import TOLD, until_told

N_CLIENTS = "return #vim.lsp.get_clients({ name = 'pygent' })"

CHANGED = LINES.replace("line 3\n", "line three\nand more\n").replace("line 20\nline 21\n", "").splitlines()


def end_daemons(editor: Editor) -> None:
    editor.lua("for _, each in ipairs(vim.lsp.get_clients({ name = 'pygent' })) do each:stop() end")
    editor.until(f"{N_CLIENTS} == 0", what="the end of the daemon")


def test_what_waits_outlives_the_daemon_and_is_drawn_while_one_runs(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    editor.keys("ggOmine<Esc>")
    editor.until(lambda: added(editor, buffer) == [4, 5] or None, what="hunks further below")

    end_daemons(editor)
    editor.until(lambda: marks(editor, buffer) == [], what="no marks without a daemon")
    assert waiting(editor) == []
    assert editor.lua("return vim.fn.maparg('gda', 'n')") == ""

    editor.lua(TOLD)
    editor.command("Pygent restart")
    until_told(editor, "restarted, for")
    editor.until(lambda: added(editor, buffer) == [4, 5] or None, what="marks of the next daemon")
    editor.keys("4Ggdrih")
    until_waiting(editor, 1)

    assert editor.lines(buffer) == ["mine", *[f"line {n}" for n in range(1, 31) if n not in (20, 21)]]


def test_a_rejection_that_no_model_knows_of_is_told_after_a_restart(start: Start, folder: Path) -> None:
    editor, _ = edited(start, folder)
    open_chat(editor, enter=False)
    until_waiting(editor, 2)
    editor.command("3Pygent reject")
    editor.until(lambda: count(editor, "· Done · 1 change rejected") == 1, what="the end of the turn")

    editor.lua(TOLD)
    editor.command("Pygent restart")
    until_told(editor, "restarted, for")
    editor.until(lambda: count(editor, "· Done · 1 change rejected") == 1, what="the rejection, again")
    turn(editor, "and now?")

    assert "+and more" in str(editor.model.requests[-1].body["messages"])
    editor.until(lambda: count(editor, "· You rejected 1 change in a.txt") == 1)
    editor.until(lambda: count(editor, "· Done · 1 change rejected") == 1)


def test_what_waits_outlives_neovim(start: Start, folder: Path, home: Path) -> None:
    editor, _ = edited(start, folder)
    until_waiting(editor, 2)
    editor.command("silent write")
    end_daemons(editor)
    editor.keys(":qa!<CR>")

    (home / "later").mkdir()
    with bare_neovim(editor.environment, home / "later", folder) as nvim:
        later = Editor(nvim=nvim, folder=folder, model=editor.model, environment=editor.environment)
        later.lua("require('pygent.daemon.client').need(function() end)")
        until_waiting(later, 2)
        buffer = later.edit("a.txt")
        later.until(lambda: added(later, buffer) == [3, 4] or None, what="marks in the file")
        later.keys("3Ggdrih")
        until_waiting(later, 1)
        assert later.lines(buffer)[2:4] == ["line 3", "line 4"]


def test_text_that_neovim_never_saved_waits_no_more_in_the_next_one(start: Start, folder: Path, home: Path) -> None:
    editor, _ = edited(start, folder)
    until_waiting(editor, 2)
    end_daemons(editor)
    editor.keys(":qa!<CR>")

    (home / "later").mkdir()
    with bare_neovim(editor.environment, home / "later", folder) as nvim:
        later = Editor(nvim=nvim, folder=folder, model=editor.model, environment=editor.environment)
        later.lua("require('pygent.daemon.client').need(function() end)")
        until_waiting(later, 2)
        later.edit("a.txt")
        until_waiting(later, 0)
        assert later.lines() == LINES.splitlines()


def test_a_command_undoes_rejections_one_by_one(start: Start, folder: Path) -> None:
    (folder / "b.txt").write_text("one\ntwo\n")
    both = edits(replaced("a.txt", "line 2\n", "LINE 2\n"), replaced("b.txt", "two\n", "TWO\n"))
    editor, buffer = edited(start, folder, both)
    until_waiting(editor, 1)
    until_waiting(editor, 1, "b.txt")
    editor.command("silent wall")
    editor.command(f"bwipeout {editor.nvim.funcs.bufnr('b.txt')}")
    editor.command("2Pygent reject")
    until_waiting(editor, 0)
    editor.command("Pygent! reject")
    until_waiting(editor, 0, "b.txt")
    assert editor.lines("b.txt") == ["one", "two"]
    editor.keys("ggOmine<Esc>")
    editor.until(lambda: editor.lines(buffer)[0] == "mine")

    editor.command("Pygent review undo")
    until_waiting(editor, 1, "b.txt")
    assert editor.lines("b.txt") == ["one", "TWO"]
    editor.until(lambda: "the last rejection is undone; b.txt waits for review again" in editor.messages())
    editor.command("Pygent review undo")
    until_waiting(editor, 1)
    assert editor.lines(buffer)[:3] == ["mine", "line 1", "LINE 2"]
    editor.until(lambda: added(editor, buffer) == [3] or None)

    editor.command("Pygent review undo")
    editor.until(lambda: "There is no rejection to undo" in editor.messages())
    editor.command("Pygent review redo")
    assert "unknown argument redo: use `undo`" in editor.messages()


def test_created_and_deleted_files_come_and_go_when_rejections_are_undone(
    start: Start, folder: Path, home: Path
) -> None:
    config = home / "config" / "pygent-ls"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('allow_bypass = true\nmode = "bypass"\n')
    (folder / "old.txt").write_text("old\n")
    new = edits({"path": "new.txt", "content": "new\n"}, name="create_file")
    editor = start([new, edits({"path": "old.txt"}, name="delete_file"), DONE])
    editor.edit("other.txt")
    turn(editor)
    until_waiting(editor, 1, "new.txt")
    until_waiting(editor, 1, "old.txt")
    editor.command("Pygent! reject")
    until_waiting(editor, 0, "new.txt")
    until_waiting(editor, 0, "old.txt")
    assert (folder / "old.txt").exists()

    editor.command("Pygent review undo")
    editor.command("Pygent review undo")

    until_waiting(editor, 1, "new.txt")
    until_waiting(editor, 1, "old.txt")
    assert not (folder / "old.txt").exists()
    assert editor.lines("new.txt") == ["new"]


def test_marks_go_with_what_is_typed_while_hunks_are_told(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)

    for n in range(20):
        editor.keys(f"ggOtyped {n}<Esc>")
        if n == 10:
            editor.keys("/three<CR>gdaih")
    editor.until(lambda: len(editor.lines(buffer)) == 49 or None, what="the typed lines")
    until_waiting(editor, 1)
    editor.until(lambda: waiting(editor) == [(41, ["line 20", "line 21"], [])] or None, what="the other hunk")

    typed = [f"typed {n}" for n in reversed(range(20))]
    assert editor.lines(buffer) == [*typed, *CHANGED]
    editor.command("Pygent! reject")
    until_waiting(editor, 0)
    assert editor.lines(buffer)[40:42] == ["line 20", "line 21"]


def test_a_decision_right_after_typing_is_about_the_lines_it_was_given_for(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)

    editor.keys("3Goin the hunk<Esc>kkOabove<Esc>jjgdrih")
    until_waiting(editor, 1)

    assert editor.lines(buffer)[:5] == ["line 1", "above", "line 2", "line 3", "line 4"]


def test_a_refused_rejection_is_told_in_one_line_and_its_hunks_still_wait(start: Start, folder: Path) -> None:
    editor, buffer = edited(start, folder)
    until_waiting(editor, 2)
    editor.command("setlocal readonly")

    editor.command("Pygent! reject")
    editor.until(lambda: "a.txt was not changed: The editor did not apply the edit" in editor.messages())

    assert "'readonly' is set in its buffer" in editor.messages()
    assert "line 5" not in editor.messages()
    assert len(waiting(editor)) == 2
    assert editor.lines(buffer) == CHANGED


def test_a_file_that_was_never_open_is_decided_where_it_is(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text(LINES.replace("line 9\n", "line 9\r\n"))  # which the daemon writes itself
    editor = start([TWO_HUNKS, DONE], **TRUSTING)
    editor.edit("other.txt")
    turn(editor)
    until_waiting(editor, 2)
    assert editor.lua("return vim.fn.bufexists(...)", str(folder / "a.txt")) == 0

    editor.command("Pygent! reject")
    until_waiting(editor, 0)

    editor.command("silent wall")
    assert (folder / "a.txt").read_bytes() == LINES.replace("line 9\n", "line 9\r\n").encode()


@pytest.fixture
def projects(folder: Path) -> tuple[Path, Path]:
    """Two repositories, each with a file `a.txt`."""
    for name in ("one", "two"):
        (folder / name / ".git").mkdir(parents=True)
        (folder / name / "a.txt").write_text("old\n")
    return folder / "one", folder / "two"


def test_the_end_of_one_daemon_leaves_what_waits_in_the_project_of_the_other(
    start: Start, projects: tuple[Path, Path]
) -> None:
    change = edits(replaced("a.txt", "old", "new"))
    editor = start([change, DONE, change, DONE], **TRUSTING)
    buffers: list[int] = []
    for project in projects:
        buffers.append(editor.edit(project / "a.txt"))
        turn(editor)
    for project, buffer in zip(projects, buffers, strict=True):
        editor.until(lambda path=project / "a.txt": len(waiting(editor, str(path))) == 1)
        editor.until(lambda buffer=buffer: added(editor, buffer) == [1])

    root = str(projects[0])
    editor.lua(
        "local root = ...; for _, each in ipairs(vim.lsp.get_clients({ name = 'pygent' })) do "
        "if each.root_dir == root then each:stop() end end",
        root,
    )
    editor.until(f"{N_CLIENTS} == 1", what="the end of one daemon")

    editor.until(lambda: marks(editor, buffers[0]) == [], what="no marks without its daemon")
    assert added(editor, buffers[1]) == [1]
    editor.command("Pygent! reject")
    editor.until(lambda: editor.lines(buffers[1]) == ["old"])
    assert editor.lines(buffers[0]) == ["new"]
