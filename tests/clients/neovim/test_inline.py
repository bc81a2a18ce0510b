"""`:Pygent edit` changes lines in place: no chat opens, and the changes wait for review."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.clients.neovim.changing import TRUSTING, edits, replaced
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.dialogs import answer
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.prompts import kill_daemon, type_keys
from tests.model_server import Step

TEXT = "import os\n\ndef load():\n    return 1\n\ndef save():\n    return 2\n"

ASYNC = edits(replaced("a.py", "def load():", "async def load():"))

DONE = Step(text="It is async now.")


def opened(start: Start, folder: Path, script: Sequence[Step], **environment: str) -> tuple[Editor, int]:
    (folder / "a.py").write_text(TEXT, encoding="utf-8")
    editor = start(script, **environment)
    return editor, editor.edit("a.py")


def said(editor: Editor, buffer: int) -> dict[int, str]:
    """What stands beside lines that are edited, by the line from 1."""
    found = editor.lua(
        "return vim.api.nvim_buf_get_extmarks(..., vim.api.nvim_create_namespace('pygent.inline'), 0, -1, "
        "{ details = true })",
        buffer,
    )
    return {row + 1: "".join(text for text, *_ in details.get("virt_text", [])) for _, row, _, details in found}


def until_said(editor: Editor, buffer: int, words: str) -> dict[int, str]:
    def texts() -> dict[int, str] | None:
        found = said(editor, buffer)
        return found if any(words in text for text in found.values()) else None

    return editor.until(texts, what=f"{words!r} beside the lines")


def until_quiet(editor: Editor, buffer: int) -> None:
    """Nothing is edited."""
    editor.until(lambda: said(editor, buffer) == {}, what="the end of the edit")


def hunks(editor: Editor, path: Path) -> list[str]:
    """The new lines that wait for review."""
    return editor.lua(
        "return vim.iter(require('pygent.review').waiting(...)):map(function(e) return e.hunk.new_lines end):flatten()"
        ":totable()",
        str(path),
    )


def windows(editor: Editor) -> int:
    return editor.lua("return #vim.api.nvim_list_wins()")


def test_lines_are_changed_in_place_from_unsaved_text_and_wait_for_review(start: Start, folder: Path) -> None:
    step = edits(replaced("a.py", "def load():  # mine", "async def load():  # mine"))
    editor, buffer = opened(start, folder, [step, DONE], **TRUSTING)
    editor.lua("vim.api.nvim_buf_set_lines(0, 2, 3, true, { 'def load():  # mine' })")

    editor.command("3,4Pygent edit make it async")

    editor.until(lambda: hunks(editor, folder / "a.py") == ["async def load():  # mine\n"], what="the hunk")
    until_quiet(editor, buffer)
    assert windows(editor) == 1
    assert editor.lines(buffer)[2] == "async def load():  # mine"
    asked = editor.model.requests[0].texts("user")[-1]
    assert "lines 3-4 of a.py" in asked
    assert "make it async" in asked
    assert "def load():  # mine" in str(editor.model.requests[0].body["messages"]), "the text as it is in the buffer"
    assert editor.lua("return require('pygent.sessions').current()") is None, "prompts go to no inline session"


def test_how_it_goes_stands_beside_the_lines_and_moves_with_them(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder, [Step(hang=True)])

    editor.command("3,4Pygent edit make it async")
    until_said(editor, buffer, "● working")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { '# above' })")
    assert said(editor, buffer) == {4: " ● working · :Pygent stop"}

    editor.model.wait_for(lambda: len(editor.model.requests) == 1)
    editor.command("5")
    editor.command("Pygent stop")
    until_quiet(editor, buffer)
    editor.model.wait_for(lambda: editor.model.disconnects == 1)
    assert editor.lines(buffer) == ["# above", *TEXT.splitlines()]


def test_the_permission_prompt_comes_and_a_rejection_is_said_in_place(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder, [ASYNC, Step(text="You did not want it.")])

    editor.command("3Pygent edit make it async")
    until_said(editor, buffer, "waiting for your answer")
    answer(editor, "async def load", "r")

    found = until_said(editor, buffer, "no changes")
    assert found == {3: " ✗ no changes: You did not want it."}
    assert "no changes: You did not want it." in editor.messages()
    editor.lua("vim.api.nvim_buf_set_lines(0, -1, -1, true, { '# more' })")
    until_quiet(editor, buffer)


def test_a_failure_of_the_model_and_the_end_of_the_daemon_are_said_in_place(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder, [Step(status=400, error="no such model"), Step(hang=True)])

    editor.command("3Pygent edit make it async")
    until_said(editor, buffer, "✗ ")
    assert "no such model" in said(editor, buffer)[3]
    editor.command("6Pygent edit make it async")
    editor.until(lambda: "● working" in said(editor, buffer).get(6, "") or None, what="the second edit")
    kill_daemon(editor)

    editor.until(lambda: "✗ " in said(editor, buffer).get(6, "") or None, what="the end of the daemon")


def test_a_second_edit_waits_for_the_first_and_takes_the_lines_as_they_are_then(start: Start, folder: Path) -> None:
    longer = edits(replaced("a.py", "def load():\n", "def load():\n    # one\n    # two\n"))
    paused = Step(calls=longer.calls, pause_after=1)
    editor, buffer = opened(start, folder, [paused, DONE, Step(text="No."), Step(text="No.")], **TRUSTING)

    editor.command("3,4Pygent edit explain it")
    until_said(editor, buffer, "● working")
    editor.command("6,7Pygent edit make it async")
    editor.command("1Pygent edit sort")
    assert "… queued" in said(editor, buffer)[6]
    editor.command("1")
    editor.command("Pygent stop")
    assert 1 not in said(editor, buffer), "what has not begun is over at once"
    editor.model.resume()

    until_said(editor, buffer, "no changes: No.")
    assert "lines 8-9 of a.py" in editor.model.requests[2].texts("user")[-1]
    assert len(editor.model.requests) == 3


def test_the_model_sees_no_edit_before_and_the_session_is_the_same(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder, [Step(text="First."), Step(text="Second.")])
    for words, told in (("do one", "First."), ("do two", "Second.")):
        editor.command(f"3Pygent edit {words}")
        until_said(editor, buffer, told)

    assert "do one" not in str(editor.model.requests[1].body["messages"])
    names = editor.lua("return vim.tbl_map(function(s) return s.info.name end, require('pygent.sessions').all())")
    assert names == ["Inline edits"]


def test_as_an_operator_it_asks_for_words_and_the_dot_repeats_them(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder, [Step(text="No."), Step(text="No.")])
    editor.lua("vim.keymap.set({ 'n', 'x' }, 'gE', '<Plug>(pygent-edit)')")

    type_keys(editor, "3GgEj")
    editor.until("return vim.api.nvim_get_mode().mode == 'c'", what="the question for words")
    editor.keys("make it async<CR>")
    until_said(editor, buffer, "no changes")
    type_keys(editor, "6G.")

    editor.until(lambda: "no changes" in said(editor, buffer).get(6, "") or None, what="the second edit")
    first, second = (request.texts("user")[-1] for request in editor.model.requests)
    assert "lines 3-4 of a.py" in first
    assert "lines 6-7 of a.py" in second
    assert "make it async" in second


def test_what_is_no_file_cannot_be_edited(start: Start, folder: Path) -> None:
    editor, _ = opened(start, folder, [])
    editor.command("enew")
    editor.command("Pygent edit make it async")

    assert "this buffer has no file" in editor.messages()
    assert editor.lua("return #vim.lsp.get_clients({ name = 'pygent' })") == 0
