"""What waits for review is seen in Neovim's default colours, dark and light."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.clients.neovim.changing import edits, replaced
from tests.clients.neovim.conftest import Start
from tests.clients.neovim.nvim import Editor
from tests.clients.neovim.reviews import drawn, edited, marks, until_waiting

READABLE = 3.0
"""The contrast that WCAG asks for marks and large text."""

THREE_SORTS = edits(
    replaced("a.txt", "line 3\n", "line three\n"),
    replaced("a.txt", "line 8\n", "line 8\nnew\n"),
    replaced("a.txt", "line 20\n", ""),
)


@pytest.fixture(params=["dark", "light"])
def reviewed(request: pytest.FixtureRequest, start: Start, folder: Path) -> Editor:
    """An editor in which a changed, an added and a deleted line wait."""
    editor, _ = edited(start, folder, THREE_SORTS)
    until_waiting(editor, 3)
    editor.command(f"set termguicolors background={request.param}")
    return editor


def colours(editor: Editor, group: str) -> tuple[int | None, int | None]:
    """Foreground and background of a group."""
    found: dict[str, Any] = editor.lua("return vim.api.nvim_get_hl(0, { name = ..., link = false })", group)
    return found.get("fg"), found.get("bg")


def contrast(one: int | None, other: int | None) -> float:
    """The ratio of two colours, from 1 to 21."""
    assert one is not None
    assert other is not None
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: int) -> float:
    parts = [(colour >> shift & 255) / 255 for shift in (16, 8, 0)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_changed_part_of_a_line_stands_out_from_its_line(reviewed: Editor) -> None:
    _, line = colours(reviewed, "PygentAdded")
    text, changed = colours(reviewed, "PygentChanged")

    assert contrast(changed, line) >= READABLE
    assert contrast(text, changed) >= READABLE
    reviewed.command("redraw")
    column = reviewed.lua("return vim.fn.screenpos(0, 3, 6).col")
    shown = [reviewed.lua("return vim.fn.screenattr(vim.fn.screenpos(0, 3, 1).row, ...)", column + n) for n in (-1, 0)]
    assert len(set(shown)) == 2, "the mark lies over the line"


def test_the_keys_and_the_deleted_lines_can_be_read(reviewed: Editor) -> None:
    _, normal = colours(reviewed, "Normal")
    _, line = colours(reviewed, "PygentAdded")
    hint, _ = colours(reviewed, "PygentHint")
    deleted, _ = colours(reviewed, "PygentDeleted")

    assert contrast(hint, line) >= READABLE
    assert contrast(hint, normal) >= READABLE
    assert contrast(deleted, normal) >= READABLE


def test_added_changed_and_deleted_lines_have_signs_of_their_own(reviewed: Editor) -> None:
    buffer = reviewed.nvim.api.get_current_buf()
    signs = {
        line: (details["sign_text"].strip(), details["sign_hl_group"])
        for line, details in marks(reviewed, buffer)
        if "sign_text" in details
    }

    assert signs == {3: ("┃", "PygentChangedSign"), 9: ("┃", "PygentAddedSign"), 21: ("▁", "PygentDeletedSign")}
    assert drawn(reviewed, buffer, "virt_lines") == [3, 21]
    _, normal = colours(reviewed, "Normal")
    shown = [colours(reviewed, group)[0] for _, group in signs.values()]
    assert len(set(shown)) == 3
    assert all(contrast(colour, normal) >= READABLE for colour in shown)
