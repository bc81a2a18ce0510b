"""A clean document whose file another program changed: the disk counts, and an edit brings the document up to date."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp import standard as lsp
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.workspace.files.document_text import digest
from tests.editors.lsp.editor import CAPABILITIES, Editor, Setup, connected
from tests.fakes import Call, say

ANNOTATES: Mapping[str, Any] = {
    **CAPABILITIES,
    "workspace": {
        **CAPABILITIES["workspace"],
        "workspaceEdit": {
            **CAPABILITIES["workspace"]["workspaceEdit"],
            "changeAnnotationSupport": {"groupsOnLabel": True},
        },
    },
}

WITH_UPDATES: Mapping[str, Any] = {**CAPABILITIES, "experimental": {"pygent": {"contextUpdates": True}}}

OLD = "one\ntwo\nthree\nfour\nfive\n"
NEW = "zero\none\ntwo\n3\nfour\nfive\n"

READ = Call(name="read_file", arguments={"path": "a.txt"})
SEARCH = Call(name="grep_search", arguments={"pattern": "zero|three"})
CHANGE = Call(name="shell", arguments={"command": "cp new.txt a.txt"})
EDIT = Call(name="edit_file", arguments={"path": "a.txt", "old": "five", "new": "5"})
EDITED = NEW.replace("five", "5")


def calling(*calls: Call, **setup: Any) -> Setup:
    return Setup(script=[*(say("", call) for call in calls), say("done")], mode="trust", **setup)


@pytest.fixture
def document(folder: Path) -> Path:
    (folder / "new.txt").write_text(NEW)
    path = folder / "a.txt"
    path.write_text(OLD)
    return path


def text_of(path: Path) -> str:
    return path.read_text()


def edits(editor: Editor) -> list[Mapping[str, Any]]:
    return [asked.params["edit"] for asked in editor.requests("workspace/applyEdit")]


async def test_a_file_reads_as_a_search_finds_it_although_the_editor_still_has_the_old_text(
    folder: Path, document: Path
) -> None:
    async with connected(folder, calling(READ, CHANGE, READ, SEARCH)) as editor:
        uri = editor.documents.open(document)

        await editor.turn()

        before, changed, after, found = editor.tool_results
        assert "three" in before
        assert "[changed on disk while open in the editor: a.txt; read them again]" in changed
        assert "zero" in after
        assert "three" not in after
        assert "a.txt:1: zero" in found
        assert "a.txt:4" not in found
        assert editor.documents.text(uri) == OLD


async def test_an_edit_brings_the_document_up_to_date_as_one_edit_of_its_version(folder: Path, document: Path) -> None:
    async with connected(folder, calling(CHANGE, READ, EDIT)) as editor:
        uri = editor.documents.open(document, version=7)

        await editor.turn()

        assert editor.tool_results[-1].startswith("Edited a.txt")
        assert editor.documents.text(uri) == EDITED
        [edit] = edits(editor)
        [change] = edit["documentChanges"]
        assert change["textDocument"] == {"uri": uri, "version": 7}
        assert text_of(document) == NEW


async def test_what_was_brought_up_to_date_can_be_saved(folder: Path, document: Path) -> None:
    cat = Call(name="shell", arguments={"command": "cat a.txt"})
    async with connected(folder, calling(CHANGE, READ, EDIT, cat)) as editor:
        editor.documents.open(document)
        editor.handlers["window/showMessageRequest"] = lambda params: {
            "title": "Save and continue" if "unsaved changes" in params["message"] else "Allow once"
        }

        await editor.turn()

        assert text_of(document) == EDITED


async def test_an_edit_of_what_was_read_before_the_file_changed_is_refused(folder: Path, document: Path) -> None:
    async with connected(folder, calling(READ, CHANGE, EDIT)) as editor:
        uri = editor.documents.open(document)

        await editor.turn()

        assert "changed" in editor.tool_results[-1]
        assert editor.documents.text(uri) == OLD
        assert text_of(document) == NEW


async def test_an_edit_is_made_again_when_the_editor_loads_the_file_at_that_moment(
    folder: Path, document: Path
) -> None:
    async with connected(folder, calling(CHANGE, READ, EDIT)) as editor:
        uri = editor.documents.open(document)

        def apply(params: Mapping[str, Any]) -> object:
            if editor.documents.text(uri) == OLD:
                editor.documents.type_over(uri, text_of(document))
            return editor.documents.apply(params)

        editor.handlers["workspace/applyEdit"] = apply
        await editor.turn()

        assert len(edits(editor)) == 2
        assert editor.documents.text(uri) == EDITED


async def test_an_edit_that_brings_back_what_the_editor_still_shows_is_made_on_the_disk(
    folder: Path, document: Path
) -> None:
    back = Call(name="create_file", arguments={"path": "a.txt", "content": OLD, "overwrite": True})
    async with connected(folder, calling(CHANGE, READ, back)) as editor:
        uri = editor.documents.open(document)

        await editor.turn()

        assert text_of(document) == OLD
        assert editor.documents.text(uri) == OLD
        assert edits(editor) == []


async def test_a_file_that_a_program_deleted_is_gone_and_can_be_made_again(folder: Path, document: Path) -> None:
    delete = Call(name="shell", arguments={"command": "rm a.txt"})
    create = Call(name="create_file", arguments={"path": "a.txt", "content": "one\nnew\n"})
    async with connected(folder, calling(delete, READ, create, READ)) as editor:
        uri = editor.documents.open(document)

        await editor.turn()

        _, read, _, again = editor.tool_results
        assert "There is no file a.txt" in read
        assert editor.documents.text(uri) == "one\nnew\n"
        assert "new" in again


async def test_a_document_is_up_to_date_after_its_file_was_moved(folder: Path, document: Path) -> None:
    move = Call(name="move_file", arguments={"source": "a.txt", "destination": "b.txt"})
    read = Call(name="read_file", arguments={"path": "b.txt"})
    async with connected(folder, calling(CHANGE, move, read)) as editor:
        editor.documents.open(document)

        await editor.turn()

        assert "zero" in editor.tool_results[-1]
        assert editor.documents.text((folder / "b.txt").as_uri()) == NEW
        assert text_of(folder / "b.txt") == NEW


async def test_a_preview_shows_what_the_agent_changes_and_not_what_the_program_did(
    folder: Path, document: Path
) -> None:
    setup = calling(CHANGE, READ, EDIT, reviews_edits=True)
    async with connected(folder, setup, capabilities=ANNOTATES) as editor:
        uri = editor.documents.open(document)

        await editor.turn()

        loading, edit = edits(editor)
        assert "changeAnnotations" not in loading
        assert len(edit["changeAnnotations"]) == 1
        assert editor.documents.text(uri) == EDITED


async def test_unsaved_changes_count_whatever_is_on_the_disk(folder: Path, document: Path) -> None:
    typed = OLD.replace("one", "typed")
    async with connected(folder, calling(CHANGE, READ, EDIT)) as editor:
        uri = editor.documents.open(document)
        editor.documents.type_over(uri, typed)

        await editor.turn()

        _, read, _ = editor.tool_results
        assert "typed" in read
        assert editor.documents.text(uri) == typed.replace("five", "5")
        assert text_of(document) == NEW


async def test_what_the_editor_says_is_wrong_with_the_old_text_is_out_of_date(folder: Path, document: Path) -> None:
    problems = Call(name="diagnostics", arguments={})
    async with connected(folder, calling(problems, CHANGE, problems), capabilities=WITH_UPDATES) as editor:
        uri = editor.documents.open(document)
        where = {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 5}}
        item = {"range": where, "message": "three is spelt out", "severity": 1}
        editor.tell("pygent/context/didChange", {"diagnostics": [{"uri": uri, "items": [item]}]})

        await editor.turn()

        before, _, after = editor.tool_results
        assert "three is spelt out" in before
        note = "the file has changed since then, so lines and problems may differ"
        assert note not in before
        assert note in after


TEXTS = st.sampled_from(["", "a", "b", "c"])
HAPPENINGS = st.lists(
    st.tuples(st.sampled_from(["type", "save", "write", "delete", "load"]), TEXTS), min_size=1, max_size=8
)


@given(first=TEXTS, happenings=HAPPENINGS)
def test_the_newer_of_a_document_and_its_file_counts(
    tmp_path: Path, first: str, happenings: list[tuple[str, str]]
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(first)
    uri = path.as_uri()
    buffers = Buffers(lambda _: None)
    buffers.opened(lsp.TextDocumentItem(uri=uri, language_id="", version=1, text=first))
    text = saved = first
    disk: str | None = first

    def change(new: str) -> None:
        document = lsp.VersionedTextDocumentIdentifier(version=2, uri=uri)
        buffers.changed(document, [lsp.TextDocumentContentChangeEvent(text=new)])

    for what, given_text in happenings:
        if what == "type":
            text = given_text
            change(text)
        elif what == "save":
            disk = saved = text
            path.write_text(text)
            buffers.saved(uri)
        elif what == "write":
            disk = given_text
            path.write_text(given_text)
        elif what == "delete":
            disk = None
            path.unlink(missing_ok=True)
        elif disk is not None and text == saved:
            text = saved = disk
            change(text)
        saved = text if text == disk else saved

        current = buffers.current(path)
        newest = disk if text == saved else text
        assert (current.text if current else disk) == newest


@pytest.mark.parametrize("closed_files", ["disk", "buffer"])
async def test_an_edit_of_a_closed_file_that_changes_before_the_editor_makes_it_is_refused(
    folder: Path, document: Path, closed_files: Literal["disk", "buffer"]
) -> None:
    capabilities = {**CAPABILITIES, "experimental": {"pygent": {"textDigests": True}}}
    async with connected(folder, calling(READ, EDIT), capabilities=capabilities) as editor:
        editor.documents.closed_files = closed_files

        def apply(params: Mapping[str, Any]) -> object:
            document.write_text(NEW)
            return editor.documents.apply(params)

        editor.handlers["workspace/applyEdit"] = apply
        await editor.turn()

        assert "a.txt now holds:\n```\nzero" in editor.tool_results[-1]
        assert text_of(document) == NEW
        [change] = edits(editor)[0]["documentChanges"]
        assert change["textDocument"]["digest"] == digest(OLD)


async def test_an_edit_of_a_closed_file_names_no_digest_to_an_editor_that_knows_of_none(
    folder: Path, document: Path
) -> None:
    async with connected(folder, calling(READ, EDIT)) as editor:
        await editor.turn()

        [change] = edits(editor)[0]["documentChanges"]
        assert change["textDocument"] == {"uri": document.as_uri(), "version": None}
