"""Buffers are saved before a program reads their files, and read again after it; what cannot be saved is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.clients.neovim.changing import bypass_permissions, connect, edits, replaced, results, send, turn
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.dialogs import answer
from tests.clients.neovim.nvim import Editor
from tests.model_server import Step


def opened(start: Start, folder: Path) -> tuple[Editor, int]:
    """An editor with a file that has unsaved changes."""
    (folder / "a.txt").write_text("one\n")
    editor = start()
    buffer = editor.edit("a.txt")
    connect(editor)
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'ONE' })")
    return editor, buffer


def saved(editor: Editor, folder: Path, *names: str) -> list[str]:
    """Which of these files the client says it has saved."""
    answer = editor.lua(
        "local uris = ...; local client = require('pygent.daemon.client').ready(); local answer; "
        "coroutine.wrap(function() answer = client.handlers['pygent/client/save'](nil, { uris = uris }, "
        "{ client_id = client.id }) end)(); return answer",
        [(folder / name).as_uri() for name in names],
    )
    return [name for name in names if (folder / name).as_uri() in answer["saved"]]


def shell(command: str) -> Step:
    return edits({"command": command}, name="shell")


def test_what_the_agent_changed_is_saved_before_a_command_and_read_again_after_it(
    start: Start, folder: Path, home: Path
) -> None:
    (folder / "a.txt").write_text("one\n")
    steps = [edits(replaced("a.txt", "one", "two")), shell("cat a.txt && echo three >> a.txt"), Step(text="done")]
    bypass_permissions(home)
    editor = start(steps)
    buffer = editor.edit("a.txt")

    turn(editor)

    assert "two" in results(editor)[1][1]
    assert (folder / "a.txt").read_text() == "two\nthree\n"
    editor.until(lambda: editor.lines(buffer) == ["two", "three"], what="the file's new text")
    assert not editor.lua("return vim.bo[...].modified", buffer)


@pytest.mark.parametrize(
    ("choice", "is_well", "on_disk"), [("1", True, "two\n"), ("2", True, "one\n"), ("3", False, "one\n")]
)
def test_a_command_asks_about_an_edited_buffer_that_cannot_be_saved(
    start: Start, folder: Path, home: Path, choice: str, is_well: bool, on_disk: str
) -> None:
    (folder / "a.txt").write_text("one\n")
    (folder / "mine.txt").write_text("mine\n")
    bypass_permissions(home)
    editor = start([edits(replaced("a.txt", "one", "two")), shell("cat a.txt mine.txt > seen.txt"), Step(text="done")])
    editor.edit("mine.txt")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'not saved' })")
    editor.edit("a.txt")
    editor.command("autocmd BufWriteCmd *.txt echo")
    connect(editor)
    send(editor)

    answer(editor, "a.txt has unsaved changes, and shell reads files from disk.", choice)
    editor.until_over()

    assert results(editor)[1][0] == is_well
    assert (folder / "a.txt").read_text() == on_disk
    assert (folder / "seen.txt").exists() == is_well
    assert not is_well or (folder / "seen.txt").read_text() == f"{on_disk}mine\n"


def test_a_buffer_with_other_unsaved_changes_is_left_as_it_is(start: Start, folder: Path, home: Path) -> None:
    (folder / "b.txt").write_text("b\n")
    steps = [shell("echo new > b.txt; echo new > a.txt"), Step(text="done")]
    (folder / "a.txt").write_text("one\n")
    bypass_permissions(home)
    editor = start(steps)
    clean = editor.edit("b.txt")
    buffer = editor.edit("a.txt")
    editor.command("set noautoread")
    connect(editor)
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'mine' })")

    turn(editor)

    editor.until(lambda: editor.lines(clean) == ["new"], what="the file's new text")
    assert editor.lines(buffer) == ["mine"]
    assert editor.nvim.api.get_mode() == {"mode": "n", "blocking": False}


def test_autocommands_of_the_user_run_and_may_change_the_text(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    editor.command("autocmd BufWritePre *.txt call setline(2, 'formatted')")

    assert saved(editor, folder, "a.txt") == ["a.txt"]

    assert (folder / "a.txt").read_text() == "ONE\nformatted\n"
    assert not editor.lua("return vim.bo[...].modified", buffer)


def test_a_buffer_that_is_typed_in_is_saved_and_typing_goes_on(start: Start, folder: Path) -> None:
    editor, buffer = opened(start, folder)
    editor.keys("A typed")
    editor.until(lambda: editor.lines(buffer) == ["ONE typed"])

    assert saved(editor, folder, "a.txt") == ["a.txt"]

    assert (folder / "a.txt").read_text() == "ONE typed\n"
    editor.keys(" more")
    editor.until(lambda: editor.lines(buffer) == ["ONE typed more"])


@pytest.mark.parametrize(
    ("obstacle", "reason"),
    [
        ("setlocal readonly", "'readonly' is set"),
        ("autocmd BufWriteCmd *.txt echo", "an autocommand prevented it"),
        ("autocmd BufWritePre *.txt throw 'no'", "no"),
    ],
)
def test_what_cannot_be_saved_is_told(start: Start, folder: Path, obstacle: str, reason: str) -> None:
    editor, _ = opened(start, folder)
    editor.command("set confirm")
    editor.command(obstacle)

    assert saved(editor, folder, "a.txt") == []

    assert "a.txt was not saved: " in editor.messages()
    assert reason in editor.messages()
    assert (folder / "a.txt").read_text() == "one\n"
    assert editor.lua("return vim.o.confirm")


def test_a_file_that_another_program_wrote_is_not_overwritten_however_often_it_is_tried(
    start: Start, folder: Path
) -> None:
    editor, buffer = opened(start, folder)
    (folder / "a.txt").write_text("of another program\n")
    os.utime(folder / "a.txt", (1_000_000_000, 1_000_000_000))

    assert [saved(editor, folder, "a.txt") for _ in range(2)] == [[], []]

    assert "another program has changed the file" in editor.messages()
    assert (folder / "a.txt").read_text() == "of another program\n"
    assert editor.lines(buffer) == ["ONE"]


def test_a_file_that_already_holds_the_text_counts_as_saved(start: Start, folder: Path) -> None:
    editor, _ = opened(start, folder)
    (folder / "a.txt").write_text("ONE\n")
    os.utime(folder / "a.txt", (1_000_000_000, 1_000_000_000))

    assert saved(editor, folder, "a.txt") == ["a.txt"]


def test_a_file_that_is_not_open_is_not_saved(start: Start, folder: Path) -> None:
    editor, _ = opened(start, folder)

    assert saved(editor, folder, "a.txt", "other.txt") == ["a.txt"]
