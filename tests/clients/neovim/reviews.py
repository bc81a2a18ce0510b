"""Edits of the agent that wait for review, as tests make them and look at them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.clients.neovim.changing import TRUSTING, edits, replaced, results, turn
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.model_server import Step

LINES = "".join(f"line {number}\n" for number in range(1, 31))

DONE = Step(text="done")

TWO_HUNKS = edits(
    replaced("a.txt", "line 3\n", "line three\nand more\n"),
    replaced("a.txt", "line 20\nline 21\n", ""),
)


def edited(start: Start, folder: Path, *steps: Step, text: str = LINES) -> tuple[Editor, int]:
    """An editor in which a turn has edited a file that is open."""
    (folder / "a.txt").write_text(text)
    editor = start([*(steps or (TWO_HUNKS,)), DONE, DONE, DONE], **TRUSTING)
    buffer = editor.edit("a.txt")
    turn(editor)
    assert all(ok for ok, _ in results(editor)), results(editor)
    return editor, buffer


def waiting(editor: Editor, name: str = "a.txt") -> list[tuple[int, list[str], list[str]]]:
    """The hunks of a file: the first line, from 1, what was there, and what is."""
    found = editor.lua(
        "return vim.tbl_map(function(each) return { each.hunk.new_first + 1, each.hunk.old_lines, "
        "each.hunk.new_lines } end, require('pygent.review').waiting(...))",
        str(editor.folder / name),
    )
    return [
        (line, [old.rstrip("\n") for old in before], [new.rstrip("\n") for new in now]) for line, before, now in found
    ]


def until_waiting(editor: Editor, count: int, name: str = "a.txt") -> None:
    editor.until(lambda: len(waiting(editor, name)) == count or None, what=f"{count} hunks")


def marks(editor: Editor, buffer: int) -> list[tuple[int, Mapping[str, Any]]]:
    """What is drawn: lines from 1, and how."""
    found = editor.lua(
        "return vim.api.nvim_buf_get_extmarks(..., vim.api.nvim_create_namespace('pygent.review'), 0, -1, "
        "{ details = true })",
        buffer,
    )
    return [(row + 1, details) for _, row, _, details in found]


def drawn(editor: Editor, buffer: int, key: str) -> list[int]:
    """The lines that have a mark of that sort."""
    return [line for line, details in marks(editor, buffer) if key in details]


def added(editor: Editor, buffer: int) -> list[int]:
    """The lines that are drawn as new or changed."""
    found = [(line, details) for line, details in marks(editor, buffer) if details.get("hl_group") == "PygentAdded"]
    return [each for line, details in found for each in range(line, details["end_row"] + 1)]
