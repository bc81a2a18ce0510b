"""A plan over several files is checked once more at the last moment: the user may type while it is checked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from pygent_ls.agent.ports.workspace import DeleteFile, EditPlan, FileOperation, WriteText
from pygent_ls.editors.lsp import standard as lsp
from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.documents.buffers import Buffer, Buffers
from pygent_ls.editors.lsp.documents.workspace_edits import EditorEdits
from pygent_ls.editors.lsp.ports.document_saves import DocumentSaves
from pygent_ls.editors.lsp.ports.workspace import LspWorkspace
from pygent_ls.editors.lsp.rpc.client_requests import Patience
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.uris import FileUris
from pygent_ls.errors import StaleDocumentError
from tests.fakes import bounded


class TypingBuffers(Buffers):
    """The user types into `a.txt` as soon as the daemon looks at `b.txt`."""

    def __init__(self) -> None:
        super().__init__(lambda _: None)
        self.typing = False

    def get(self, path: Path) -> Buffer | None:
        """Implement `Buffers`."""
        if self.typing and path.name == "b.txt":
            self.typing = False
            whole = lsp.TextDocumentContentChangeEvent(text="typed\none\n")
            document = lsp.VersionedTextDocumentIdentifier(uri=(path.parent / "a.txt").as_uri(), version=2)
            self.changed(document, [whole])
        return super().get(path)


class NobodyAsks:
    """An editor that must not be asked for anything."""

    patience = Patience(answer_s=0.1, proof_s=0.1)

    async def present(self) -> None:
        """Wait until the file exists."""

    async def ask(self, method: str, params: Mapping[str, Any], **_: object) -> object:
        """Fail."""
        raise AssertionError(f"{method}: {params}")


@pytest.mark.parametrize("deletes", [False, True], ids=["edit", "delete"])
@pytest.mark.parametrize("apply_edit", [True, False], ids=["by the editor", "by the daemon"])
async def test_typing_while_the_next_file_is_checked_stops_the_whole_plan(
    folder: Path, *, apply_edit: bool, deletes: bool
) -> None:
    a, b = folder / "a.txt", folder / "b.txt"
    await asyncio.to_thread(write, a, b)
    buffers, uris = TypingBuffers(), FileUris()
    uris.set_folders([folder.as_uri()])
    buffers.opened(lsp.TextDocumentItem(uri=a.as_uri(), language_id="x", version=1, text="one\n"))
    endpoint = cast("RpcEndpoint", NobodyAsks())
    operations = frozenset({"delete"})
    features = ClientFeatures(apply_edit=apply_edit, document_changes=True, resource_operations=operations)
    editor = EditorEdits(endpoint=endpoint, features=features, buffers=buffers, uris=uris)
    workspace = LspWorkspace(
        buffers, editor, DocumentSaves(endpoint=endpoint, features=features, buffers=buffers), [folder]
    )
    before_a, before_b = await workspace.read(a), await workspace.read(b)
    first: FileOperation = DeleteFile(path=a, before=before_a)
    if not deletes:
        first = WriteText(path=a, before=before_a, text="two\n")
    plan = EditPlan(label="both", operations=(first, WriteText(path=b, before=before_b, text="two\n")), result="")

    buffers.typing = True
    with pytest.raises(StaleDocumentError, match="typed"):
        await bounded(workspace.apply(plan))

    found = buffers.get(a)
    assert found is not None
    assert found.text == "typed\none\n"
    assert [path.read_text() for path in (a, b)] == ["one\n", "one\n"]


def write(*paths: Path) -> None:
    for path in paths:
        path.write_text("one\n")
