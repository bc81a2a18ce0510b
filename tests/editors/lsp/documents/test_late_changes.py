"""Editors that say that they made an edit, and tell of it when their user comes back to it, or never.

vim-lsp was seen to: it tells of changes seconds later, and of those in hidden buffers not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.editors.lsp.documents.test_workspace_edits import APPLY, HASTY, PLAIN_CHANGES, calling, edit, read, results
from tests.editors.lsp.editor import Editor, Setup, connected
from tests.editors.lsp.editor_documents import document_changes, edited
from tests.fakes import say

TEXT = "print(halff(4))\n"
FIXED = "print(half(4))\n"
AGAIN = edit("halff", "half")


def without_telling(editor: Editor, uri: str) -> None:
    """Edits are made in the buffer, and kept to itself."""

    def apply(params: Mapping[str, Any]) -> object:
        held = editor.documents.open_documents[uri]
        for change in document_changes(params["edit"]):
            held.text = edited(held.text, change["edits"], editor.documents.encoding)
        return {"applied": True}

    editor.handlers[APPLY] = apply


@pytest.fixture
def file(folder: Path) -> Path:
    path = folder / "a.txt"
    path.write_text(TEXT)
    return path


async def test_a_second_edit_does_not_hit_the_place_that_the_first_has_moved(folder: Path, file: Path) -> None:
    async with connected(folder, calling(AGAIN, read(), AGAIN), capabilities=PLAIN_CHANGES) as editor:
        editor.server.endpoint.patience = HASTY
        uri = editor.documents.open(file)
        without_telling(editor, uri)
        await editor.turn()

        assert editor.documents.text(uri) == FIXED
        assert len(editor.requests(APPLY)) == 1
        (first, told), (_, _), (second, said) = results(editor)
        assert (first, second) == (False, False)
        assert "it reported success, but the new text did not arrive" in told
        assert "its current text is unknown. Nothing was changed. Ask the user to check the file" in said


@pytest.mark.parametrize("saved", [False, True])
async def test_what_the_editor_tells_at_last_is_worked_on_again(folder: Path, file: Path, saved: bool) -> None:
    script = [say("", AGAIN), say("done")] * 2
    async with connected(folder, Setup(script=script, mode="trust"), capabilities=PLAIN_CHANGES) as editor:
        editor.server.endpoint.patience = HASTY
        uri = editor.documents.open(file)
        editor.handlers[APPLY] = lambda _: {"applied": True}  # which was wrong if the user only saves
        await editor.turn()
        if saved:
            editor.documents.save(uri)
        else:
            editor.documents.type_over(uri, TEXT + "# typed\n")
        editor.handlers[APPLY] = editor.documents.apply
        await editor.turn()

        assert editor.documents.text(uri).startswith(FIXED)


async def test_an_editor_that_refuses_stale_versions_needs_no_such_care(folder: Path, file: Path) -> None:
    async with connected(folder, calling(AGAIN, AGAIN)) as editor:
        editor.server.endpoint.patience = HASTY
        uri = editor.documents.open(file)
        apply = editor.documents.apply
        editor.handlers[APPLY] = lambda params: {"applied": True} if len(editor.requests(APPLY)) == 1 else apply(params)
        await editor.turn()

        assert editor.documents.text(uri) == FIXED
