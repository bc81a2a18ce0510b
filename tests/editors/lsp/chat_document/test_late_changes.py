"""Answers in an editor whose edits have no version, and which tells of no change while it asks its user, as Vim."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.editors.lsp.rpc.client_requests import Patience
from tests.editors.lsp.chat_document.conversation import answered, chat_in, send
from tests.editors.lsp.editor import Editor, Setup, connected
from tests.editors.lsp.editor_documents import document_changes, edited
from tests.fakes import bounded, say

START = "## You\n\nWhy?\n"
PLAIN_CHANGES: Mapping[str, Any] = {"workspace": {"applyEdit": True}}


async def test_an_edit_that_is_told_late_is_not_made_twice(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("Because.")]), capabilities=PLAIN_CHANGES) as editor:
        editor.server.endpoint.patience = Patience(answer_s=0.05, proof_s=0.05)
        path = chat_in(folder, START)
        uri = editor.documents.open(path)

        def make_without_telling(params: Mapping[str, Any]) -> object:
            held = editor.documents.open_documents[uri]
            (change,) = document_changes(params["edit"])
            held.text = edited(held.text, change["edits"], editor.documents.encoding)
            editor.handlers["workspace/applyEdit"] = editor.documents.apply
            return {"applied": True}

        editor.handlers["workspace/applyEdit"] = make_without_telling
        await send(editor, uri)
        await bounded(until_in_doubt(editor, path))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):  # twice the pause before a second attempt
                await editor.until(lambda: len(editor.requests("workspace/applyEdit")) > 1)
        editor.documents.type_over(uri, editor.documents.text(uri))

        assert await answered(editor, uri=uri) == f"{START}\n## pygent\n\nBecause.\n\n## You\n\n"


async def until_in_doubt(editor: Editor, path: Path) -> None:
    """Return when the daemon waits for what the editor holds."""
    while not any(each.path == path and each.untold for each in editor.server.buffers):
        await editor.request("pygent/status")
