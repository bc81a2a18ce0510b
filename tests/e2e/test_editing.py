"""Edits over real stdio: what an editor has unsaved stays, in both position encodings; files come, go and move."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.e2e.conftest import SHARED
from tests.e2e.lsp_client import CAPABILITIES, EditorClient, editor_client

TEXT = "# \U0001f600 first\nname = 'é\U0001d11e' + one  # \U0001f469\u200d\U0001f4bb one\r\nlast\n"
"""Characters of one to four bytes and one or two UTF-16 units, on lines with different ends."""


def tool(name: str, **given: object) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "input": given}]}


async def play(folder: Path, editor: EditorClient, *lines: dict[str, Any]) -> dict[str, Any]:
    """One turn of a scripted model that makes these calls."""
    script = folder.parent / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in (*lines, {"text": "done"})))
    return await editor.turn("go", model=f"scripted:{script}", mode="trust")


@pytest.mark.parametrize("encoding", [types.PositionEncodingKind.Utf16, types.PositionEncodingKind.Utf8])
async def test_unsaved_text_of_any_characters_survives_an_edit(
    folder: Path, encoding: types.PositionEncodingKind
) -> None:
    path = folder / "a.py"
    path.write_bytes(TEXT.encode())
    capabilities = types.ClientCapabilities(
        workspace=CAPABILITIES.workspace, general=types.GeneralClientCapabilities(position_encodings=[encoding])
    )
    async with editor_client(folder, {}, capabilities=capabilities) as editor:
        uri = editor.documents.open(path)
        editor.documents.insert(uri, "first", "\U0001f600 typed 日本 ")
        editor.documents.insert(uri, "last", "\U0001f600\n")
        typed = editor.documents.text(uri)

        result = await play(
            folder,
            editor,
            tool("read_file", path="a.py"),
            tool("edit_file", path="a.py", old="one", new="two", all=True),
        )

        assert [ok for ok, _ in editor.results()] == [True, True]
        assert "typed 日本" in editor.results()[0][1]
        assert editor.documents.text(uri) == typed.replace("one", "two")
        assert path.read_bytes() == TEXT.encode()
        assert len(editor.applied) == 1
        assert result["filesChanged"] == [{"uri": uri, "kind": "edit", "added": 1, "removed": 1}]


@SHARED
async def test_files_come_go_and_move_and_odd_ones_keep_their_bytes(folder: Path, editor: EditorClient) -> None:
    (folder / "old.txt").write_text("old\n")
    (folder / "gone.txt").write_text("gone\n")
    (folder / "latin.txt").write_bytes("é one\r\n".encode("latin-1"))
    (folder / "plain.txt").write_bytes(b"a\r\none\r\n")
    await play(
        folder,
        editor,
        tool("create_file", path="in/new.txt", content="\U0001f600 new\n"),
        tool("move_file", source="old.txt", destination="in/moved.txt"),
        tool("delete_file", path="gone.txt"),
        tool("edit_file", path="latin.txt", old="one", new="two"),
        tool("edit_file", path="plain.txt", old="one", new="two"),
    )

    assert [ok for ok, _ in editor.results()] == [True] * 5
    assert contents(folder) == {
        "in/new.txt": "\U0001f600 new\n".encode(),
        "in/moved.txt": b"old\n",
        "latin.txt": "é two\r\n".encode("latin-1"),
        "plain.txt": b"a\r\ntwo\r\n",
    }
    assert len(editor.applied) == 4  # the editor would have converted latin.txt


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@SHARED
async def test_an_edit_that_the_editor_drops_is_told_to_the_model_with_the_text_that_is_there(
    folder: Path, editor: EditorClient
) -> None:
    path = folder / "a.txt"
    path.write_text("one\n")
    uri = editor.documents.open(path)
    editor.documents.drops_edits = True

    await play(folder, editor, tool("edit_file", path="a.txt", old="one", new="two"))

    ((ok, said),) = editor.results()
    assert not ok
    assert "the new text did not arrive" in said
    assert "one" in said
    assert editor.documents.text(uri) == "one\n"


async def test_without_the_editors_help_files_are_written_and_unsaved_ones_refused(folder: Path) -> None:
    for name in ("clean.txt", "dirty.txt"):
        (folder / name).write_text("one\n")
    async with editor_client(folder, {}, capabilities=types.ClientCapabilities()) as editor:
        editor.documents.open(folder / "clean.txt")
        editor.documents.type_over(editor.documents.open(folder / "dirty.txt"), "one typed\n")

        await play(
            folder,
            editor,
            *(tool("edit_file", path=f"{name}.txt", old="one", new="two") for name in ("clean", "dirty")),
        )

        assert [ok for ok, _ in editor.results()] == [True, False]
        assert "unsaved changes" in editor.results()[1][1]
        assert contents(folder) == {"clean.txt": b"two\n", "dirty.txt": b"one\n"}


async def test_what_the_user_rejects_is_taken_back_and_what_they_type_meanwhile_stays(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("one\nkeep\ntwo\n")
    edits = [{"old": "one", "new": "ONE"}, {"old": "two", "new": "TWO"}]
    reviewing = types.ClientCapabilities(
        workspace=CAPABILITIES.workspace, experimental={"pygent": {"reviewRequest": True}}
    )
    async with editor_client(folder, {}, capabilities=reviewing) as editor:
        uri = editor.documents.open(path)

        def decide(params: Any) -> Any:
            editor.documents.insert(uri, "keep", "typed ")
            first, second = params["files"][0]["hunks"]
            assert (first["newText"], second["range"]["start"]) == ("ONE\n", {"line": 2, "character": 0})
            return {"hunks": [{"hunkId": each["hunkId"], "accepted": each is first} for each in (first, second)]}

        editor.review = decide
        result = await play(folder, editor, tool("multi_edit", path="a.txt", edits=edits))

        ((ok, said),) = editor.results()
        assert ok
        assert "rejected 1 hunk of it; the rest was kept" in said
        assert "-two\n+TWO" in said
        assert editor.documents.text(uri) == "ONE\ntyped keep\ntwo\n"
        assert [(each["added"], each["removed"]) for each in result["filesChanged"]] == [(1, 1)]


async def test_an_edit_that_is_to_be_reviewed_needs_confirmation_in_an_editor_that_previews(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("one\n")
    edit = types.WorkspaceEditClientCapabilities(
        document_changes=True, change_annotation_support=types.ChangeAnnotationsSupportOptions(groups_on_label=True)
    )
    workspace = types.WorkspaceClientCapabilities(apply_edit=True, workspace_edit=edit)
    capabilities = types.ClientCapabilities(workspace=workspace)
    async with editor_client(folder, {"PYGENT_EDITS_REVIEW": "ask"}, capabilities=capabilities) as editor:
        uri = editor.documents.open(path)

        await play(folder, editor, tool("edit_file", path="a.txt", old="one", new="two"))

        (annotation,) = editor.applied[0]["edit"]["changeAnnotations"].values()
        assert annotation["needsConfirmation"]
        assert [ok for ok, _ in editor.results()] == [True]
        assert editor.documents.text(uri) == "two\n"


@SHARED
async def test_a_word_in_20000_of_60000_lines_is_replaced(folder: Path, editor: EditorClient) -> None:
    path = folder / "long.txt"
    path.write_text("".join(f"line foo {number}\nplain {number}\nmore of it {number}\n" for number in range(20_000)))
    uri = editor.documents.open(path)
    editor.documents.insert(uri, "foo", "typed ")
    typed = editor.documents.text(uri)

    await play(
        folder,
        editor,
        tool("read_file", path="long.txt"),
        tool("edit_file", path="long.txt", old="foo", new="bar", all=True),
    )

    assert [ok for ok, _ in editor.results()] == [True, True]
    assert editor.documents.text(uri) == typed.replace("foo", "bar")
    (applied,) = editor.applied
    assert len(applied["edit"]["documentChanges"][0]["edits"]) <= 200
