"""`:Pygent undo` and `checkpoints`: what the agent did, taken back."""

from __future__ import annotations

from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.picking import Picker
from tests.clients.neovim.prompts import told
from tests.model_server import Call, Step


def edit(old: str, new: str) -> tuple[Step, Step]:
    """A turn that edits the file."""
    call = Call(name="edit_file", arguments={"path": "code.py", "old": old, "new": new})
    return Step(calls=(call,)), Step(text="done")


def edited(start: Start, *steps: Step) -> Editor:
    """After the first two of the steps: the file was `one`, and is `two`."""
    editor = start([*edit("one", "two"), *steps])
    (editor.folder / "code.py").write_text("one\nrest\n", encoding="utf-8")
    editor.lua("require('pygent').setup({ settings = { mode = 'accept_edits' }, review = { when = 'off' } })")
    editor.edit("code.py")
    turn(editor)
    return editor


def turn(editor: Editor) -> None:
    n_before = len(editor.model.answered_s)
    editor.command("Pygent ask change it")
    editor.until(lambda: len(editor.model.answered_s) == n_before + 2, what="both answers of the model")
    editor.until_over()


def text(editor: Editor) -> list[str]:
    return editor.lines("code.py")


def test_undo_takes_back_the_last_turn_and_says_so(start: Start) -> None:
    editor = edited(start)
    assert text(editor) == ["two", "rest"]

    editor.command("Pygent undo")
    told(editor, "Restored: code.py.")

    editor.until(lambda: text(editor) == ["one", "rest"])
    editor.command("Pygent undo")
    told(editor, "There is no turn to undo.")


def test_what_the_user_changed_since_is_left_alone_until_they_say_so(start: Start) -> None:
    editor = edited(start)
    picker = Picker(editor)
    editor.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('code.py'), 1, 2, false, { 'mine' })")
    editor.command("bufdo silent! update")

    picker.will_choose("Restore")
    editor.command("Pygent undo")
    told(editor, "Not restored: code.py")
    assert picker.offered() == [["Leave as is", "Restore"]]

    editor.until(lambda: text(editor) == ["one", "rest"])


def test_undo_with_a_bang_asks_nothing(start: Start) -> None:
    editor = edited(start)
    picker = Picker(editor)
    editor.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('code.py'), 1, 2, false, { 'mine' })")
    editor.command("bufdo silent! update")

    editor.command("Pygent! undo")

    editor.until(lambda: text(editor) == ["one", "rest"])
    assert editor.lua("return #_G.offered") == 0
    assert picker


def test_a_checkpoint_is_looked_at_and_gone_back_to(start: Start) -> None:
    editor = edited(start, *edit("two", "three"))
    turn(editor)
    picker = Picker(editor)
    assert text(editor) == ["three", "rest"]

    picker.will_choose(1, "Show the changes")
    editor.command("Pygent checkpoints")
    titles, actions = picker.offered(2)
    assert [title.split(" · ")[1:] for title in titles] == [["just now", "1 file"]] * 2
    assert len(actions) == 4
    editor.until("return vim.bo.filetype == 'diff'")
    assert {"-two", "+three"} <= set(editor.lines(0))
    editor.keys("q")
    editor.until("return vim.bo.filetype ~= 'diff'")

    picker.will_choose(2, "files only")
    editor.command("Pygent checkpoints")
    told(editor, "restored: code.py")
    editor.until(lambda: text(editor) == ["one", "rest"])
    picker.will_choose(3, "conversation only")
    editor.command("Pygent checkpoints")
    told(editor, "conversation restored")
    assert text(editor) == ["one", "rest"]
