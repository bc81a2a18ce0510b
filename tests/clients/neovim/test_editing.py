"""Edits of the agent in buffers: made whole and without a trace elsewhere, or refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.workspace.files.document_text import digest
from tests.clients.neovim.changing import (
    TRUSTING,
    apply,
    change,
    connect,
    edits,
    of_file,
    replaced,
    results,
    text_edit,
    turn,
    version_of,
)
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.model_server import Step

LINES = "".join(f"line {number}\n" for number in range(1, 31))


def test_an_edit_of_an_open_file_is_made_in_its_buffer_and_proven(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\n")
    editor = start([edits(replaced("a.txt", "two", "three\nfour")), Step(text="done")], **TRUSTING)
    buffer = editor.edit("a.txt")

    turn(editor)

    assert results(editor)[0][0], results(editor)
    assert editor.lines(buffer) == ["one", "three", "four"]
    assert (folder / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("before", "calls", "after"),
    [
        pytest.param("a\nb\n", [("b\n", "b\nc\n")], "a\nb\nc\n", id="lines at the end"),
        pytest.param("a\nb\n", [("a\nb\n", "a\nb")], "a\nb", id="no last line break any more"),
        pytest.param("a\nb", [("b", "b\n")], "a\nb\n", id="a last line break"),
        pytest.param("a\nb", [("b", "b\nc")], "a\nb\nc", id="still no last line break"),
        pytest.param("a\n", [("a\n", "")], "", id="nothing left"),
        pytest.param("a\n\n\n", [("a\n\n\n", "a\n\n")], "a\n\n", id="an empty line at the end is gone"),
        pytest.param("ä€\U0001f600 x\n", [("x", "y\U0001f600")], "ä€\U0001f600 y\U0001f600\n", id="wide characters"),
        pytest.param("a\r\nb\r\n", [("b", "b2\r\nc")], "a\r\nb2\r\nc\r\n", id="dos"),
        pytest.param("a\r\nb\nc\n", [("b", "B")], "a\r\nB\nc\n", id="mixed line ends"),
        pytest.param("a\nb\nc\nd\n", [("a", "A"), ("d", "D")], "A\nb\nc\nD\n", id="two places one after the other"),
    ],
)
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
def test_an_edit_is_proven_and_written_exactly(
    start: Start, folder: Path, before: str, calls: list[tuple[str, str]], after: str, *, is_open: bool
) -> None:
    path = folder / "a.txt"
    path.write_bytes(before.encode())
    steps = [edits(replaced("a.txt", old, new)) for old, new in calls]
    editor = start([*steps, Step(text="done")], **TRUSTING)
    if is_open:
        editor.edit("a.txt")

    turn(editor)

    assert [ok for ok, _ in results(editor)] == [True] * len(calls), results(editor)
    editor.command("silent wall")
    assert path.read_bytes() == after.encode()


def test_a_new_file_has_a_buffer_with_what_was_written(start: Start, folder: Path) -> None:
    new = {"path": "made/here.txt", "content": "one\ntwo\n"}
    editor = start([edits(new, name="create_file"), Step(text="done")], **TRUSTING)

    turn(editor)

    assert results(editor)[0][0], results(editor)
    assert editor.lines("here.txt") == ["one", "two"]
    editor.command("silent wall")
    assert (folder / "made/here.txt").read_text() == "one\ntwo\n"


def test_an_edit_of_an_older_version_is_refused_and_changes_nothing(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    old = version_of(editor, buffer)
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { 'typed' })")

    answer = apply(editor, of_file(folder / "a.txt", [text_edit((0, 0), (0, 4), "LINE")], old))

    assert answer["applied"] is False
    assert "a.txt" in answer["failureReason"]
    assert f"version {old}" in answer["failureReason"]
    assert editor.lines(buffer)[:2] == ["typed", "line 1"]


@pytest.mark.parametrize("text", ["one\ntwo\n", "one\r\ntwo", "\n", "", "eins ä\n"])
@pytest.mark.parametrize("is_loaded", [True, False], ids=["loaded", "closed"])
def test_an_edit_of_a_text_that_a_file_no_longer_holds_is_refused(
    start: Start, folder: Path, text: str, *, is_loaded: bool
) -> None:
    path = folder / "other.txt"
    path.write_bytes(text.encode())
    editor, _ = opened(start, folder)
    if is_loaded:
        editor.command("badd other.txt | call bufload('other.txt')")
    of_this = of_file(path, [text_edit((0, 0), (0, 0), "new ")])
    of_this["documentChanges"][0]["textDocument"]["digest"] = digest(text)

    path.write_bytes(b"by another program\n" + text.encode())
    refused = apply(editor, of_this)
    is_unchanged = editor.lines("other.txt")[0] == "by another program"
    path.write_bytes(text.encode())
    made = apply(editor, of_this)

    assert refused["applied"] is False
    assert "another program has changed other.txt" in refused["failureReason"]
    assert is_unchanged
    assert made["applied"] is True
    assert editor.lines("other.txt")[0].startswith("new ")


def test_an_edit_of_two_files_of_which_one_is_refused_changes_neither(start: Start, folder: Path) -> None:
    (folder / "b.txt").write_text("b\n")
    editor, buffer = opened(start, folder)
    edit = of_file(folder / "b.txt", [text_edit((0, 0), (0, 1), "B")])
    edit["documentChanges"] += of_file(folder / "a.txt", [text_edit((0, 0), (0, 4), "LINE")], 1)["documentChanges"]

    answer = apply(editor, edit)

    assert answer["applied"] is False
    assert editor.lines("b.txt") == ["b"]
    assert editor.lines(buffer)[0] == "line 1"


@pytest.mark.parametrize(
    ("option", "reason"),
    [("nomodifiable", "'modifiable'"), ("readonly", "'readonly'"), ("buftype=nofile", "'buftype' is nofile")],
)
def test_a_buffer_that_may_not_be_changed_is_refused_with_the_reason(
    start: Start, folder: Path, option: str, reason: str
) -> None:
    editor, buffer = opened(start, folder)
    editor.command(f"setlocal {option}")

    answer = change(editor, buffer, text_edit((0, 0), (0, 4), "LINE"))

    assert answer["applied"] is False
    assert reason in answer["failureReason"]


def test_a_file_that_cannot_be_loaded_is_refused_with_the_reason(start: Start, folder: Path) -> None:
    editor, _ = opened(start, folder)
    (folder / "d").mkdir()

    answers = [
        apply(editor, of_file(folder / name, [text_edit((0, 0), (0, 0), "x")]))["failureReason"]
        for name in ("d", "missing.txt")
    ]

    assert answers == ["d is a directory, not a file", "missing.txt does not exist"]


def test_a_file_with_unsaved_changes_elsewhere_is_refused_and_nothing_is_asked(start: Start, folder: Path) -> None:
    (folder / "b.txt").write_text("b\n")
    editor, _ = opened(start, folder)
    other = "set swapfile directory=. | edit b.txt | call setline(1, 'unsaved') | preserve"
    editor.lua(
        "vim.system({ vim.v.progpath, '--clean', '--headless', '+' .. ..., '+call system(\"cp .b.txt.swp kept\")', "
        "'+qa!' }):wait()",
        other,
    )
    (folder / "kept").rename(folder / ".b.txt.swp")
    editor.command("set swapfile updatecount=200 directory=.")

    answer = apply(editor, of_file(folder / "b.txt", [text_edit((0, 0), (0, 0), "x")]))

    assert answer["applied"] is False
    assert ".b.txt.swp" in answer["failureReason"]


def test_marks_extmarks_and_jumps_stay_with_their_text(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    editor.command("normal! 2Gma5Gmb8Gmc20Gmd10GmA")
    editor.lua(
        "local n = vim.api.nvim_create_namespace('test'); vim.api.nvim_buf_set_extmark(0, n, 7, 5, {}); "
        "vim.cmd('normal! 12Gx'); _G.jumps = #vim.fn.getjumplist()[1]"
    )

    answer = change(
        editor,
        buffer,
        text_edit((1, 0), (1, 4), "LINE"),
        text_edit((4, 6), (4, 6), " more\nand more"),
        text_edit((7, 0), (7, 4), "a longer line"),
        text_edit((14, 0), (17, 0), "fewer\n"),
    )

    assert answer["applied"] is True
    marks = {each["mark"]: each["pos"][1] for each in editor.lua("return vim.fn.getmarklist(0)")}
    assert {mark: marks[mark] for mark in ("'a", "'b", "'c", "'d")} == {"'a": 2, "'b": 5, "'c": 9, "'d": 19}
    assert editor.lua("return vim.api.nvim_buf_get_mark(0, 'A')[1]") == 11
    mark = editor.lua("return vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('test'), 0, -1, {})")
    assert mark[0][1:] == [8, len("a longer line ")]
    assert editor.lua("return #vim.fn.getjumplist()[1] == _G.jumps")
    assert editor.lua('return vim.fn.line("\'.")') == 13


def test_manual_folds_stay_open_or_closed_as_they_are(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    editor.command("setlocal foldmethod=manual")
    editor.command("5,10fold")
    editor.command("15,20fold")
    editor.command("15foldopen")
    editor.command("25,25fold")

    change(
        editor,
        buffer,
        text_edit((0, 0), (0, 0), "new\nnew\n"),
        text_edit((4, 0), (4, 4), "LINE"),
        text_edit((9, 0), (9, 4), "LINE"),
        text_edit((24, 0), (24, 4), "LINE"),
    )

    closed = "return { vim.fn.foldclosed(...), vim.fn.foldclosedend(...) }"
    assert editor.lua(closed, 8) == [7, 12]
    assert editor.lua(closed, 18) == [-1, -1]
    assert editor.lua("return { vim.fn.foldlevel(17), vim.fn.foldlevel(22), vim.fn.foldlevel(23) }") == [1, 1, 0]
    assert editor.lua(closed, 27) == [27, 27] or editor.lua("return vim.fn.foldlevel(27)") == 1


def test_cursors_and_views_of_all_windows_stay_with_their_text(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 301)))
    editor = start()
    buffer = editor.edit("a.txt")
    connect(editor)
    editor.command("normal! 150Gzt")
    editor.command("split")
    editor.command("normal! 200Gzt3l")
    editor.command("redraw")
    views = (
        "return vim.tbl_map(function(w) return vim.api.nvim_win_call(w, function() "
        "return { vim.fn.line('w0'), vim.fn.getline('.'), vim.fn.col('.') } end) end, vim.api.nvim_list_wins())"
    )
    before = editor.lua(views)

    change(editor, buffer, text_edit((1, 0), (1, 0), "new\nnew\nnew\n"), text_edit((199, 0), (199, 0), "the "))
    editor.command("redraw")

    assert [each[0] for each in editor.lua(views)] == [each[0] + 3 for each in before]
    assert [each[1:] for each in editor.lua(views)] == [["the line 200", 8], ["line 150", 1]]


def test_a_selection_stays_on_its_text(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    editor.keys("10GVj")
    editor.until("return vim.fn.mode() == 'V'")

    change(editor, buffer, text_edit((1, 0), (1, 0), "new\nnew\n"))

    editor.keys("d")
    editor.until("return vim.fn.mode() == 'n'")
    left = editor.lines(buffer)
    assert "line 9" in left
    assert "line 12" in left
    assert "line 10" not in left
    assert "line 11" not in left


def opened(start: Start, folder: Path, text: str = LINES) -> tuple[Editor, int]:
    """An editor with a file of thirty lines that the daemon sees."""
    (folder / "a.txt").write_text(text)
    editor = start()
    buffer = editor.edit("a.txt")
    connect(editor)
    return editor, buffer


def test_a_replacement_in_60000_lines_is_made_and_told_truly(start: Start, folder: Path) -> None:
    lines = [f"line foo {number}" for number in range(60_000)]
    (folder / "a.txt").write_text("\n".join(lines) + "\n")
    editor = start()
    buffer = editor.edit("a.txt")
    connect(editor)
    editor.command("30000 | normal! 6|mx")
    many = [text_edit((row, 5), (row, 8), "bar") for row in range(60_000)]

    answer = change(editor, buffer, *many)

    assert answer == {"applied": True}
    assert editor.lines(buffer) == [line.replace("foo", "bar") for line in lines]
    assert editor.lua("return { vim.fn.line('.'), vim.fn.col('.'), vim.fn.line([['x]]) }") == [30000, 6, 30000]
    editor.command("silent undo")
    assert editor.lines(buffer) == lines


@pytest.mark.parametrize("is_shown", [True, False], ids=["shown", "unloaded"])
@pytest.mark.parametrize("every", [1, 3], ids=["every_line", "every_third_line"])
def test_a_word_is_replaced_in_60000_lines_and_told_truly(
    start: Start, folder: Path, every: int, is_shown: bool
) -> None:
    text = "".join(f"{'foo' if number % every == 0 else 'plain'} {number}\n" for number in range(60_000))
    n_changed, n_hunks = 60_000 // every, 1 if every == 1 else 60_000 // every
    (folder / "long.txt").write_text(text)
    replaces = edits({"path": "long.txt", "old": "foo", "new": "bar", "all": True})
    editor = start([edits({"path": "long.txt"}, name="read_file"), replaces, Step(text="done")], **TRUSTING)
    editor.edit("long.txt" if is_shown else "other.txt")
    connect(editor)

    turn(editor)
    editor.until("return #require('pygent.review').waiting() == ...", n_hunks, what="hunks that wait")

    is_well, told = results(editor)[-1]
    assert is_well
    assert f"+{n_changed} −{n_changed} lines" in told
    assert "\n".join(editor.lines("long.txt")) + "\n" == text.replace("foo", "bar")
    editor.command("buffer long.txt | silent write")
    assert (folder / "long.txt").read_text() == text.replace("foo", "bar")


def test_characters_that_the_encoding_of_a_file_lacks_are_refused(start: Start, folder: Path) -> None:
    (folder / "a.txt").write_bytes("caf\u00e9\n".encode("latin-1"))
    editor = start()
    buffer = editor.edit("a.txt")
    connect(editor)

    refused = change(editor, buffer, text_edit((0, 0), (0, 3), "5 \u20ac"))
    assert not refused["applied"]
    assert "its encoding, latin1, has no character \u20ac" in refused["failureReason"]
    assert editor.lines(buffer) == ["caf\u00e9"]

    assert change(editor, buffer, text_edit((0, 0), (0, 3), "th")) == {"applied": True}
    editor.command("silent write")
    assert (folder / "a.txt").read_bytes() == "th\u00e9\n".encode("latin-1")
