"""Operations of one plan, some of them the editor's and some the daemon's: in the plan's order, and all or nothing."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.workspace import (
    CopyBytes,
    DeleteFile,
    Document,
    EditPlan,
    FileOperation,
    MoveFile,
    WriteText,
)
from pygent_ls.editors.lsp.rpc.client_requests import Patience
from pygent_ls.errors import RefusedEditError, ToolError, UnprovenEditError
from pygent_ls.workspace.files.document_text import digest
from tests.editors.lsp.editor import Editor, Setup, connected

NAMES = ("a", "b", "folder/c", "folder/d")
MIXED = "one\r\ntwo\n"
"""An editor may convert its line endings: the daemon writes it."""


@dataclass
class Model:
    """Files in memory, and the operations that changed them."""

    files: dict[str, str]
    operations: list[FileOperation] = field(default_factory=list[FileOperation])

    def write(self, folder: Path, name: str, text: str) -> None:
        before = document(folder / name, self.files[name]) if name in self.files else None
        self.operations.append(WriteText(path=folder / name, before=before, text=text))
        self.files[name] = text

    def delete(self, folder: Path, name: str) -> None:
        self.operations.append(DeleteFile(path=folder / name, before=document(folder / name, self.files.pop(name))))

    def move(self, folder: Path, name: str, to: str) -> None:
        self.operations.append(MoveFile(source=folder / name, destination=folder / to))
        self.files[to] = self.files.pop(name)

    def copy(self, folder: Path, name: str, to: str) -> None:
        self.operations.append(CopyBytes(source=folder / name, destination=folder / to))
        self.files[to] = self.files[name]


def document(path: Path, text: str) -> Document:
    return Document(path=path, text=text, digest=digest(text), stamp="")


def plan_of(operations: Sequence[FileOperation]) -> EditPlan:
    return EditPlan(label="Many", operations=tuple(operations), result="done", previewed=False)


@dataclass(frozen=True)
class Case:
    """What is there, what is open in the editor, what is to be done, and which edit the editor refuses."""

    files: Mapping[str, str]
    opened: frozenset[str]
    steps: Sequence[tuple[str, str, str, str]]
    refused: int | None


TEXTS = st.sampled_from(["one\n", "two\n", "three\nfour\n", MIXED])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "delete", "move", "copy"]),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        TEXTS,
    ),
    min_size=2,
    max_size=5,
)
CASES = st.builds(
    Case,
    files=st.dictionaries(st.sampled_from(NAMES), TEXTS, min_size=1, max_size=4),
    opened=st.frozensets(st.sampled_from(NAMES), max_size=2),
    steps=STEPS,
    refused=st.none() | st.integers(0, 3),
)


def modelled(case: Case, folder: Path) -> Model:
    """The steps that are possible one after another."""
    model = Model(dict(case.files))
    for kind, name, to, text in case.steps:
        match kind:
            case "write" if model.files.get(name) != text:
                model.write(folder, name, text)
            case "delete" if name in model.files:
                model.delete(folder, name)
            case "move" if name in model.files and to not in model.files:
                model.move(folder, name, to)
            case "copy" if name in model.files and to not in model.files:
                model.copy(folder, name, to)
            case _:
                pass
    return model


def seen(editor: Editor) -> dict[str, str]:
    """The text of each file as the user sees it, and what is open without a file."""
    folder = editor.folder
    texts = {path: path.read_bytes().decode() for path in folder.rglob("*") if path.is_file()}
    for uri, held in editor.documents.open_documents.items():
        texts[Path(uri.removeprefix("file://"))] = held.text
    return {path.relative_to(folder).as_posix(): text for path, text in texts.items()}


@given(case=CASES)
def test_a_plan_is_made_in_its_order_or_not_at_all(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(try_out(case, Path(folder).resolve()))


async def try_out(case: Case, folder: Path) -> None:
    for name, text in case.files.items():
        put(folder / name, text)
    model = modelled(case, folder)
    async with connected(folder, Setup()) as editor:
        for name in case.opened & case.files.keys():
            editor.documents.open(folder / name)
        refuse(editor, case.refused)

        error = None
        try:
            await editor.core.front_end.workspace.apply(plan_of(model.operations))
        except ToolError as raised:
            error = raised

        assert seen(editor) == (model.files if error is None else dict(case.files)), (error, editor.asked)
        if error is not None and case.refused is None:
            assert case.opened, error
        assert not isinstance(error, UnprovenEditError), error


def put(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())


def refuse(editor: Editor, number: int | None) -> None:
    """Let the editor refuse its edit of that number, from 0."""

    def apply(params: Mapping[str, Any]) -> object:
        if len(editor.requests("workspace/applyEdit")) - 1 == number:
            return {"applied": False, "failureReason": "no"}
        return editor.documents.apply(params)

    editor.handlers["workspace/applyEdit"] = apply


async def applied(editor: Editor, *operations: FileOperation) -> None:
    await editor.core.front_end.workspace.apply(plan_of(operations))


async def test_a_copy_is_of_what_the_file_held_before_the_edit_that_follows(folder: Path) -> None:
    a, b = folder / "a", folder / "b"
    put(a, "one\n")
    async with connected(folder, Setup()) as editor:
        edit = WriteText(path=a, before=document(a, "one\n"), text="two\n")

        await applied(editor, CopyBytes(source=a, destination=b), edit)

        assert seen(editor) == {"a": "two\n", "b": "one\n"}


async def test_a_file_is_deleted_before_another_takes_its_place(folder: Path) -> None:
    a = folder / "a"
    put(a, "one\n")
    async with connected(folder, Setup()) as editor:
        editor.documents.open(a)

        new = WriteText(path=a, before=None, text=MIXED)
        await applied(editor, DeleteFile(path=a, before=document(a, "one\n")), new)

        assert seen(editor) == {"a": MIXED}


async def test_what_the_daemon_did_is_taken_back_when_the_editor_refuses_what_follows(folder: Path) -> None:
    a, b = folder / "a", folder / "b"
    put(a, "one\n")
    async with connected(folder, Setup()) as editor:
        refuse(editor, 0)
        edit = WriteText(path=a, before=document(a, "one\n"), text="two\n")

        with pytest.raises(RefusedEditError, match="Earlier changes were undone"):
            await applied(editor, CopyBytes(source=a, destination=b), edit)

        assert seen(editor) == {"a": "one\n"}


async def test_what_the_editor_did_is_taken_back_when_the_daemon_cannot_do_the_rest(folder: Path) -> None:
    a = folder / "a"
    put(a, "one\n")
    async with connected(folder, Setup()) as editor:
        uri = editor.documents.open(a)
        edit = WriteText(path=a, before=document(a, "one\n"), text="two\n")

        with pytest.raises(ToolError, match=r"none does not exist.*Earlier changes were undone"):
            await applied(editor, edit, CopyBytes(source=folder / "none", destination=folder / "b"))

        assert editor.documents.text(uri) == "one\n"
        assert seen(editor) == {"a": "one\n"}


async def test_what_cannot_be_taken_back_is_named(folder: Path) -> None:
    (folder / "picture").write_bytes(b"\0\1")
    put(folder / "a", "one\n")
    async with connected(folder, Setup()) as editor:
        edit = WriteText(path=folder / "a", before=document(folder / "a", "one\n"), text="two\n")
        delete = DeleteFile(path=folder / "picture", before=None)

        with pytest.raises(UnprovenEditError, match="Earlier changes remain: picture"):
            await applied(editor, edit, delete, CopyBytes(source=folder / "none", destination=folder / "b"))

        assert seen(editor) == {"a": "one\n"}


async def test_what_was_done_before_an_edit_that_may_have_been_made_stands(folder: Path) -> None:
    a, b = folder / "a", folder / "b"
    put(a, "one\n")
    async with connected(folder, Setup()) as editor:
        editor.documents.open(a)
        editor.documents.drops_edits = True
        editor.server.endpoint.patience = Patience(proof_s=0.05)
        edit = WriteText(path=a, before=document(a, "one\n"), text="two\n")

        with pytest.raises(UnprovenEditError, match="Earlier changes remain: b"):
            await applied(editor, CopyBytes(source=a, destination=b), edit)

        assert seen(editor) == {"a": "one\n", "b": "one\n"}
