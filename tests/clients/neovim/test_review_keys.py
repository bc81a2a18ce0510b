"""The keys of a review: operators with `.`, a text object, and ways to the hunks of all files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.neovim.changing import bypass_permissions, edits, replaced, results, turn
from tests.clients.neovim.chats import open_chat
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.reviews import DONE, LINES, edited, until_waiting, waiting

CHANGED = (2, 5, 9, 12, 20, 21)


@pytest.fixture
def reviewed(start: Start, folder: Path) -> Editor:
    """An editor in which five hunks wait, the last of two lines."""
    editor, _ = edited(start, folder, edits(*[replaced("a.txt", f"line {n}\n", f"LINE {n}\n") for n in CHANGED]))
    until_waiting(editor, 5)
    return editor


def lines_of(*changed: int) -> list[str]:
    return [f"{'LINE' if n in changed else 'line'} {n}" for n in range(1, 31)]


def places(editor: Editor, name: str = "a.txt") -> list[int]:
    return [line for line, _, _ in waiting(editor, name)]


def test_an_operator_rejects_all_hunks_of_a_motion_and_the_dot_repeats_it(reviewed: Editor) -> None:
    reviewed.keys("ggjgdr4j")
    until_waiting(reviewed, 3)
    assert reviewed.lines() == lines_of(9, 12, 20, 21)
    reviewed.keys("9G.")
    until_waiting(reviewed, 1)

    assert reviewed.lines() == lines_of(20, 21)
    assert places(reviewed) == [20]


def test_an_operator_accepts_all_hunks_of_a_motion_and_the_dot_repeats_it(reviewed: Editor) -> None:
    reviewed.keys("2Ggda4j")
    until_waiting(reviewed, 3)
    reviewed.keys("9G.")
    until_waiting(reviewed, 1)

    assert places(reviewed) == [20]
    assert reviewed.lines() == lines_of(*CHANGED)


def test_the_key_of_an_operator_typed_twice_takes_lines_as_many_as_the_count(reviewed: Editor) -> None:
    reviewed.keys("5Ggdrgdr")
    until_waiting(reviewed, 4)
    reviewed.keys("8G2gdagda")
    until_waiting(reviewed, 3)

    assert places(reviewed) == [2, 12, 20]
    assert reviewed.lines() == lines_of(2, 9, 12, 20, 21)
    reviewed.keys("11G.")
    until_waiting(reviewed, 2)
    assert places(reviewed) == [2, 20]


def test_text_objects_around_something_are_motions_too(reviewed: Editor) -> None:
    reviewed.lua("vim.api.nvim_buf_set_lines(0, 6, 7, true, { '' })")
    reviewed.keys("2Ggdaap")

    until_waiting(reviewed, 3)
    assert places(reviewed) == [9, 12, 20]


def test_the_hunk_at_the_cursor_is_a_text_object(reviewed: Editor) -> None:
    reviewed.keys("21Gvih<Esc>")
    reviewed.until("return vim.fn.line(\"'<\") == 20 and vim.fn.line(\"'>\") == 21 and vim.fn.visualmode() == 'V'")
    reviewed.keys("gdrih")
    until_waiting(reviewed, 4)
    reviewed.keys("9G.")
    until_waiting(reviewed, 3)
    assert reviewed.lines() == lines_of(2, 5, 12)

    reviewed.keys("12Gyih")
    reviewed.until("return vim.fn.getreg('\"') == 'LINE 12\\n'")
    reviewed.keys("15Gdih")
    reviewed.until(lambda: "no edit at the cursor; ]h goes to the next" in reviewed.messages())
    assert reviewed.lines() == lines_of(2, 5, 12)


def test_the_dot_goes_on_in_another_file_when_all_of_the_first_is_decided(start: Start, folder: Path) -> None:
    (folder / "b.txt").write_text("one\ntwo\n")
    both = edits(replaced("a.txt", "line 2\n", "LINE 2\n"), replaced("b.txt", "two\n", "TWO\n"))
    editor, _ = edited(start, folder, both)
    until_waiting(editor, 1)
    until_waiting(editor, 1, "b.txt")
    editor.keys("2Ggdrih")
    until_waiting(editor, 0)

    editor.command("Pygent review")
    assert editor.lines() == ["one", "TWO"]
    editor.keys(".")

    until_waiting(editor, 0, "b.txt")
    assert editor.lines() == ["one", "two"]


def test_no_key_hides_one_of_neovims_own(reviewed: Editor) -> None:
    """Neither `gr…` nor any other that Neovim maps, also where a language server is attached."""
    found = reviewed.lua(
        "local own, others = {}, {} "
        "for _, mode in ipairs({ 'n', 'x', 'o' }) do "
        "for _, map in ipairs(vim.list_extend(vim.api.nvim_get_keymap(mode), vim.api.nvim_buf_get_keymap(0, mode))) do "
        "local is_own = vim.startswith(map.desc or '', 'pygent: ') "
        "table.insert(is_own and own or others, mode .. ' ' .. map.lhs) end end return { own, others }"
    )
    own, others = found
    assert {"n gda", "n gdr", "x gdr", "o ih", "n ]h"} <= set(own)
    assert {"n grn", "n gra", "n grr"} <= set(others)
    collisions = [(key, other) for key in own for other in others if key.startswith(other) or other.startswith(key)]
    assert collisions == []


@pytest.fixture
def several(start: Start, folder: Path, home: Path) -> Editor:
    """An editor in which two hunks wait in `a.txt`, one in `gone.txt`, which is deleted, and three in `other.py`."""
    (folder / "gone.txt").write_text("one\ntwo\n")
    (folder / "other.py").write_text(LINES)
    (folder / "a.txt").write_text(LINES)
    bypass_permissions(home)
    steps = [
        edits(*[replaced("other.py", f"line {n}\n", f"LINE {n}\n") for n in (3, 10, 20)]),
        edits(*[replaced("a.txt", f"line {n}\n", f"LINE {n}\n") for n in (4, 8)]),
        edits({"path": "gone.txt"}, name="delete_file"),
        DONE,
    ]
    editor = start(steps)
    editor.edit("a.txt")
    turn(editor)
    assert all(ok for ok, _ in results(editor)), results(editor)
    for name, count in {"a.txt": 2, "gone.txt": 1, "other.py": 3}.items():
        until_waiting(editor, count, name)
    return editor


def until_at(editor: Editor, name: str, line: int) -> None:
    editor.until(
        "local name, line = ...; return vim.fn.expand('%:t') == name and vim.fn.line('.') == line",
        name,
        line,
        what=f"{name}:{line}",
    )


def test_the_next_hunk_may_be_one_of_another_file(several: Editor) -> None:
    several.keys("gg]h]h")
    until_at(several, "a.txt", 8)
    several.keys("]h")
    until_at(several, "gone.txt", 1)
    assert "hunk 1 of 1 in gone.txt" in several.messages()
    several.keys("]h")
    until_at(several, "other.py", 3)
    assert "hunk 1 of 3 in other.py" in several.messages()
    several.keys("2]h")
    until_at(several, "other.py", 20)
    several.keys("]h")
    until_at(several, "a.txt", 4)
    assert "hunk 1 of 2 in a.txt" in several.messages()
    several.keys("[h")
    until_at(several, "other.py", 20)
    assert "hunk 3 of 3 in other.py" in several.messages()


def test_a_deleted_file_is_shown_where_it_can_be_decided(several: Editor) -> None:
    several.keys("8G]h")
    until_at(several, "gone.txt", 1)
    assert waiting(several, "gone.txt") == [(1, ["one", "two"], [])]
    several.keys("gdrih")

    until_waiting(several, 0, "gone.txt")
    assert (several.folder / "gone.txt").read_text() == "one\ntwo\n"
    several.until(lambda: several.lines() == ["one", "two"], what="the text in its buffer")


def test_a_window_that_shows_the_file_is_gone_to(several: Editor) -> None:
    several.command("split other.py | wincmd p")
    window = several.lua("return vim.fn.win_getid(vim.fn.winnr('#'))")
    several.keys("4G[h")

    until_at(several, "other.py", 20)
    assert several.nvim.api.get_current_win() == window


def test_a_selection_stays_in_its_file(several: Editor) -> None:
    several.keys("ggV2]h")
    until_at(several, "a.txt", 8)
    several.keys("]h")
    several.until(lambda: "no further edit waits in this file" in several.messages())

    several.keys("gda")
    until_waiting(several, 0)


def test_a_command_goes_to_the_next_hunk_from_anywhere(several: Editor) -> None:
    open_chat(several)
    several.command("Pygent review")
    until_at(several, "a.txt", 4)
    several.command("enew")
    several.command("Pygent! review")
    until_at(several, "other.py", 20)
    several.command("Pygent! accept")
    several.command("Pygent review")
    assert "no edit waits for review" in several.messages()


def test_a_file_that_cannot_be_opened_here_is_told(several: Editor) -> None:
    several.command("set nohidden")
    several.keys("8G]h")

    several.until(lambda: "gone.txt cannot be opened" in several.messages())
    until_at(several, "a.txt", 8)
