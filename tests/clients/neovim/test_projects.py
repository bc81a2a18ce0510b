"""Several projects in one Neovim: each buffer's commands go to the daemon of its own project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.neovim.changing import TRUSTING, edits, replaced, turn
from tests.clients.neovim.chats import chat
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.dialogs import shown, until_asked
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.picking import Picker
from tests.clients.neovim.test_lifecycle import (
    TOLD,
    daemon_ids,
    processes_of,
    until_none_is_left,
    until_told,
    use_real,
)
from tests.model_server import Call, Received, Step

ROOT = "return require('pygent.daemon.root').current()"

ROOTS = """
local roots = vim.tbl_map(function(c) return c.root_dir end, vim.lsp.get_clients({ name = "pygent" }))
table.sort(roots)
return roots
"""


def echo(request: Received, _: int) -> Step:
    said = next(word for word in ("one", "two", "six") if word in request.texts("user")[-1])
    return Step(text=f"Said {said}")


@pytest.fixture
def projects(folder: Path) -> tuple[Path, Path]:
    """Two repositories beside each other, each with a file `a.txt`; Neovim starts in the folder around them."""
    for name in ("one", "two"):
        (folder / name / ".git").mkdir(parents=True)
        (folder / name / "a.txt").write_text("old\n")
    return folder / "one", folder / "two"


def session(editor: Editor) -> str:
    return editor.lua("return require('pygent.sessions').current().id")


# Which root a buffer has


@pytest.mark.parametrize(
    ("commands", "root"),
    [
        ("edit {one}/a.txt", "one"),
        ("edit {one}/deep/new.txt", "one"),
        ("edit {one}/nested/n.txt", "one/nested"),
        ("cd {one} | edit {two}/a.txt", "two"),
        ("edit {one}/a.txt | cd {two}", "one"),
        ("edit {folder}/link/a.txt", "two"),
        ("edit {one}/link.txt", "two"),
        ("cd {one}/deep | edit {folder}/loose/x.txt", "one"),
        ("edit {folder}/loose/x.txt", ""),
        ("cd {two} | edit {folder}/loose/x.txt", "two"),
        ("cd {folder}/loose | edit {folder}/other/y.txt", "other"),
        ("cd {two} | enew", "two"),
        ("edit {one}/a.txt | cd {two} | enew", "two"),
        ("edit {one}/a.txt | cd {two} | help", "one"),
        ("edit {one}/a.txt | cd {two} | copen", "one"),
        ("edit {one}/a.txt | cd {two} | checkhealth nvim", "one"),
        ("edit {one}/a.txt | tabnew | tcd {two} | help", "two"),
        ("tcd {two} | tabnew | tcd {one} | help | only", "two"),
        ("edit {one}/a.txt | lcd {two} | terminal", "two"),
        ("edit {one}/a.txt | edit {two}", "two"),
        ("edit {one}/a.txt | edit oil://{two}/", "two"),
        ("edit {one}/a.txt | edit fugitive://{two}/.git//0/a.txt", "two"),
        ("edit {one}/a.txt | edit minifiles://7/{two}/deep", "two"),
        ("edit {one}/a.txt | noautocmd edit scp://host/{two}/a.txt", ""),
    ],
)
def test_the_root_is_that_of_the_buffer(
    start: Start, projects: tuple[Path, Path], folder: Path, commands: str, root: str
) -> None:
    one, two = projects
    for path in (one / "nested" / ".git", one / "deep", folder / "loose", folder / "other"):
        path.mkdir(parents=True)
    (folder / "link").symlink_to(two)
    (one / "link.txt").symlink_to(two / "a.txt")
    editor = start([])

    editor.command(commands.format(one=one, two=two, folder=folder))

    assert editor.lua(ROOT) == str(folder / root)


@pytest.mark.parametrize(
    ("path", "root"), [("notes/todo.txt", "notes"), ("todo.txt", ""), ("code/a.py", "code"), ("code/deep/a.py", "code")]
)
def test_a_home_under_version_control_is_no_project(start: Start, folder: Path, path: str, root: str) -> None:
    for each in (".git", "notes", "code/.git", "code/deep"):
        (folder / each).mkdir(parents=True)
    editor = start([])
    editor.lua("vim.env.HOME = ...", str(folder))

    editor.edit(path)

    assert editor.lua(ROOT) == str(folder / root)
    assert editor.lua("return require('pygent.daemon.consent').is_needed(...)", str(folder / root)) == (root == "")
    assert editor.lua("return require('pygent.daemon.consent').is_needed(...)", str(folder.parent))


@pytest.mark.parametrize(
    ("option", "root"),
    [
        ("root = '~/link/'", "two"),
        ("root = function(buffer) return vim.api.nvim_buf_get_name(buffer):match('^.*/two') end", "one"),
        ("root_markers = { 'Makefile' }", "one/deep"),
    ],
)
def test_an_option_says_which_folder_it_is(
    start: Start, projects: tuple[Path, Path], folder: Path, option: str, root: str
) -> None:
    one, two = projects
    (folder / "link").symlink_to(two)
    (one / "deep").mkdir()
    (one / "deep" / "Makefile").touch()
    editor = start([])
    editor.lua(f"vim.env.HOME = ...; require('pygent').setup({{ {option} }})", str(folder))

    editor.edit(one / "deep" / "x.txt")

    assert editor.lua(ROOT) == str(folder / root)


# Two projects that are open side by side


def test_a_file_of_another_project_has_its_own_daemon_and_its_own_chat(
    start: Start, projects: tuple[Path, Path]
) -> None:
    one, two = projects
    editor = start(echo)
    editor.edit(one / "a.txt")
    editor.command("Pygent ask one")
    editor.until_over()
    first = session(editor)
    editor.edit(two / "a.txt")
    editor.command("Pygent ask two")
    editor.until_over(2)

    assert editor.lua(ROOTS) == [str(one), str(two)]
    assert session(editor) != first
    editor.until(lambda: "Said two" in chat(editor))
    assert "Said one" not in chat(editor)
    editor.command("Pygent chat")
    editor.edit(one / "a.txt")
    editor.command("Pygent chat")
    editor.until("return vim.bo.filetype == 'pygent-chat'")
    assert session(editor) == first
    editor.command(f"cd {two}")
    editor.command("Pygent ask six")
    editor.until(lambda: "Said six" in chat(editor))
    assert session(editor) == first
    editor.command("wincmd p")
    editor.command(f"edit {two}/a.txt")
    editor.command("Pygent chat")
    editor.until("return vim.bo.filetype == 'pygent-chat'", what="the chat of the other project in place of this one")
    assert "Said two" in editor.lines()
    editor.command("Pygent chat")
    editor.until("return require('pygent.chat').window() == nil")


def test_an_answer_that_comes_when_the_cursor_is_elsewhere_is_for_the_project_it_was_asked_in(
    start: Start, projects: tuple[Path, Path]
) -> None:
    one, two = projects
    editor = start(echo)
    for project in projects:
        editor.edit(project / "a.txt")
        turn(editor, project.name)
    editor.edit(one / "a.txt")
    first = session(editor)
    editor.lua("vim.ui.select = function(items, options, choose) _G.choose = function() choose(items[1]) end end")
    editor.command("Pygent sessions")
    editor.until("return _G.choose ~= nil")
    editor.edit(two / "a.txt")
    second = session(editor)

    editor.lua("_G.choose()")

    editor.until("return require('pygent.chat').window()")
    shown = editor.lua("local c = require('pygent.chat'); return c.of(vim.api.nvim_win_get_buf(c.window())).session.id")
    assert shown == first
    editor.command("wincmd p")
    assert session(editor) == second


def test_a_question_of_another_project_says_so(start: Start, projects: tuple[Path, Path]) -> None:
    one, two = projects
    editor = start([Step(calls=(Call(name="shell", arguments={"command": "touch x"}),)), Step(text="Done")])
    editor.edit(one / "a.txt")
    editor.command("Pygent ask go")
    editor.edit(two / "a.txt")

    until_asked(editor, "touch x")

    assert f"In another project: {one}" in shown(editor)


def test_edits_of_both_wait_for_review_where_they_stand(start: Start, projects: tuple[Path, Path]) -> None:
    change = edits(replaced("a.txt", "old", "new"))
    editor = start([change, Step(text="Done"), change, Step(text="Done")], **TRUSTING)
    for project in projects:
        editor.edit(project / "a.txt")
        turn(editor)
    waiting = "return vim.tbl_map(function(w) return w.path end, require('pygent.review').waiting())"
    editor.until(lambda: len(editor.lua(waiting)) == 2)
    one, two = projects
    editor.edit(one / "a.txt")
    editor.keys("gdrih")

    editor.until(lambda: editor.lua(waiting) == [str(two / "a.txt")])
    assert editor.lines() == ["old"]
    editor.edit(two / "a.txt")
    assert editor.lines() == ["new"]
    editor.command("Pygent undo")
    editor.until(lambda: editor.lines() == ["old"])


def test_restart_is_of_the_project_and_with_a_bang_of_all(start: Start, projects: tuple[Path, Path]) -> None:
    one, two = projects
    editor = start(echo)
    editor.lua(TOLD)
    for project in projects:
        editor.edit(project / "a.txt")
        turn(editor, project.name)
    before = daemon_ids(editor)
    editor.command("Pygent restart")
    until_told(editor, f"restarted, for {two}")
    after = daemon_ids(editor)
    assert after[str(one)] == before[str(one)]
    assert after[str(two)] != before[str(two)]
    editor.command("Pygent! restart")
    until_told(editor, f"restarted, for {one}")
    editor.until(
        lambda: {root for root, number in daemon_ids(editor).items() if number not in after.values()} == before.keys(),
        what="all daemons to be others",
    )
    for project, said in ((one, "Said one"), (two, "Said two")):
        editor.edit(project / "a.txt")
        editor.command("Pygent chat")
        editor.until(lambda said=said: said in chat(editor))


def test_stop_stops_what_runs_in_the_project_alone(start: Start, projects: tuple[Path, Path]) -> None:
    one = projects[0]
    editor = start([Step(text="Half of one", stall_after=2), Step(text="Half of two", stall_after=2)])
    running = "return require('pygent.sessions').current():is_running()"
    for project in projects:
        editor.edit(project / "a.txt")
        editor.command("Pygent ask go")
        editor.until("local s = require('pygent.sessions').current(); return s and s:is_running()")
    editor.command("Pygent! stop")

    editor.until(lambda: not editor.lua(running))
    editor.edit(one / "a.txt")
    assert editor.lua(running)
    editor.command("Pygent stop")
    editor.until(lambda: not editor.lua(running))


def test_each_window_has_the_statusline_of_its_project(start: Start, projects: tuple[Path, Path]) -> None:
    one, two = projects
    editor = start(echo)
    editor.lua("function _G.Line() return require('pygent').statusline() end")
    editor.command("set laststatus=2 statusline=%{v:lua.Line()}")
    editor.edit(one / "a.txt")
    turn(editor, "one")
    editor.command(f"split {two}/a.txt")
    editor.until(
        "local found = {}; for _, w in ipairs(vim.api.nvim_list_wins()) do "
        "table.insert(found, vim.api.nvim_eval_statusline(vim.wo[w].statusline ~= '' and vim.wo[w].statusline "
        "or vim.o.statusline, { winid = w }).str) end; return vim.deep_equal(found, { '', 'pygent: openai/mock' })"
    )


def test_who_leaves_with_two_daemons_leaves_no_process_behind(
    start: Start, home: Path, projects: tuple[Path, Path]
) -> None:
    editor = start([Step(text="Half of one", stall_after=2), Step(text="Half of two", stall_after=2)])
    use_real(editor)
    for project in projects:
        editor.edit(project / "a.txt")
        editor.command("Pygent ask go")
        editor.until("local s = require('pygent.sessions').current(); return s and s:is_running()")
    assert len([line for line in processes_of(home) if "pygent_ls" in line]) >= 2

    editor.keys(":qa!<CR>")

    until_none_is_left(home)


def test_lsp_enable_starts_the_daemon_of_each_project_and_none_for_the_file_of_no_project(
    start: Start, projects: tuple[Path, Path], folder: Path
) -> None:
    one, two = projects
    library = folder.parent / "library"
    library.mkdir()
    for each in (one, two, library):
        (each / "a.py").write_text("x = 1\n")
    editor = start([])
    editor.command("lua vim.lsp.enable('pygent')")
    editor.edit(one / "a.py")
    editor.until("return #vim.lsp.get_clients({ name = 'pygent', bufnr = 0 }) == 1")
    editor.edit(library / "a.py")
    editor.edit(two / "a.py")
    editor.until("return #vim.lsp.get_clients({ name = 'pygent', bufnr = 0 }) == 1")

    assert editor.lua(ROOTS) == [str(one), str(two)]


@pytest.mark.parametrize("agrees", [False, True])
def test_a_loose_file_of_the_home_folder_asks_first(start: Start, folder: Path, *, agrees: bool) -> None:
    (folder / "todo.txt").write_text("x\n")
    (folder / "one" / ".git").mkdir(parents=True)
    editor = start([Step(text="Hello")])
    picker = Picker(editor)
    editor.lua("vim.env.HOME = ...", str(folder))
    editor.command(f"cd {folder}/one")
    editor.command("cd ..")
    editor.edit("todo.txt")
    picker.will_choose("Yes" if agrees else "No")
    editor.command("Pygent ask hi")

    assert picker.offered() == [["No", "Yes"]]
    if agrees:
        editor.until_over()
        assert editor.lua(ROOTS) == [str(folder)]
    else:
        editor.until(lambda: "is not a project; open a file of one" in editor.messages())
        assert editor.lua(ROOTS) == []
