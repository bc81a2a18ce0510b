"""Documents under several names, documents that went away, and what clients say of them in odd ways."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.editors.lsp.documents.test_workspace_edits import (
    APPLY,
    HASTY,
    WITHOUT_APPLY,
    calling,
    create,
    delete,
    edit,
    move,
    read,
    results,
)
from tests.editors.lsp.editor import CAPABILITIES, Editor, Setup, connected
from tests.fakes import Call, say

WITHOUT_OPERATIONS: Mapping[str, Any] = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}


def shell() -> Call:
    return Call(name="shell", arguments={"command": "cat a.txt"})


# Links and spellings


async def test_a_link_that_is_opened_beside_its_target_does_not_hide_what_is_typed_there(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    (folder / "link.txt").symlink_to(folder / "a.txt")
    async with connected(folder, calling(read(), edit("typed", "made"))) as editor:
        uri = editor.documents.open(folder / "a.txt")
        editor.documents.type_over(uri, "one typed\n")
        link = editor.documents.open(folder / "link.txt")

        await editor.turn()

        assert "one typed" in results(editor)[0][1]
        assert editor.documents.text(uri) == "one made\n"
        assert editor.documents.text(link) == "one\n"


async def test_closing_a_link_leaves_its_target_open(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    (folder / "link.txt").symlink_to(folder / "a.txt")
    async with connected(folder, calling(read())) as editor:
        uri = editor.documents.open(folder / "a.txt")
        editor.documents.type_over(uri, "typed\n")
        editor.documents.close(editor.documents.open(folder / "link.txt"))

        await editor.turn()

        assert "typed" in results(editor)[0][1]


async def test_of_two_clean_spellings_the_last_one_counts_and_the_other_after_it(folder: Path) -> None:
    (folder / "a b.txt").write_text("one\n")
    script = calling(edit(path="a b.txt"), edit("two", "three", path="a b.txt"))
    async with connected(folder, script) as editor:
        first = editor.documents.open(folder / "a b.txt")
        second = editor.documents.open(folder / "a b.txt", uri=first.replace("/a%20b", "/%61%20b"))
        editor.handlers[APPLY] = lambda params: save_and_close(editor, params, second)

        await editor.turn()

        assert [ok for ok, _ in results(editor)] == [True, True], results(editor)
        named = [asked.params["edit"]["documentChanges"][0]["textDocument"]["uri"] for asked in editor.requests(APPLY)]
        assert named == [second, first]


def save_and_close(editor: Editor, params: Mapping[str, Any], uri: str) -> object:
    """Apply the edit, then save and close the document; load it again if it is open under another name."""
    applied = editor.documents.apply(params)
    if uri in editor.documents.open_documents:
        text = editor.documents.text(uri)
        editor.documents.save(uri)
        editor.documents.close(uri)
        for other in editor.documents.open_documents:
            editor.documents.type_over(other, text)
    return applied


async def test_deleting_the_target_of_an_open_link_does_not_delete_the_link(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    (folder / "link.txt").symlink_to(folder / "a.txt")
    async with connected(folder, calling(delete())) as editor:
        editor.documents.open(folder / "link.txt")

        await editor.turn()

        assert results(editor)[0][0], results(editor)
        assert (folder / "link.txt").is_symlink()
        assert not (folder / "a.txt").exists()


async def test_events_and_results_name_a_document_as_the_editor_does(folder: Path) -> None:
    (folder / "a b.txt").write_text("one\n")
    own_name = (folder / "a b.txt").as_uri().replace("/a%20b", "/%61%20b")
    async with connected(folder, calling(edit(path="a b.txt"))) as editor:
        editor.documents.open(folder / "a b.txt", uri=own_name)

        result = await editor.turn()

        (call,) = [event for event in editor.events() if event["type"] == "tool_call"]
        assert [place["uri"] for place in call["locations"]] == [own_name]
        assert [change["uri"] for change in result["filesChanged"]] == [own_name]


# Gone


def without_closing(editor: Editor) -> None:
    """An editor that deletes and moves files on the disk, and never says that it closed their documents."""

    def apply(params: Mapping[str, Any]) -> object:
        (change,) = params["edit"]["documentChanges"]
        match change.get("kind"):
            case "delete":
                (editor.folder / "a.txt").unlink()
            case "rename":
                (editor.folder / "a.txt").rename(editor.folder / "b.txt")
            case _:
                return editor.documents.apply(params)
        return {"applied": True}

    editor.handlers[APPLY] = apply


@pytest.mark.parametrize(
    "capabilities", [CAPABILITIES, WITHOUT_OPERATIONS, WITHOUT_APPLY], ids=["all", "edits", "none"]
)
async def test_a_deleted_document_is_gone_and_its_name_is_free(folder: Path, capabilities: Mapping[str, Any]) -> None:
    (folder / "a.txt").write_text("one\n")
    script = calling(delete(), read(), create("a.txt", "new\n"), read())
    async with connected(folder, script, capabilities=capabilities) as editor:
        editor.documents.open(folder / "a.txt")
        without_closing(editor)
        editor.handlers[APPLY] = only_the_disk(editor, editor.handlers[APPLY])

        await editor.turn()

        deleted, gone, made, again = results(editor)
        assert deleted[0], deleted
        assert (gone[0], "There is no file a.txt" in gone[1]) == (False, True), gone
        assert made[0], made
        assert "new" in again[1]


def only_the_disk(editor: Editor, apply: Any) -> Any:
    """Files that are made are made on the disk, as in an editor that dropped the document."""

    def handle(params: Mapping[str, Any]) -> object:
        if params["edit"]["documentChanges"][0].get("kind") == "create":
            editor.documents.open_documents.clear()
            return editor.documents.apply(params)
        return apply(params)

    return handle


@pytest.mark.parametrize(
    "capabilities", [CAPABILITIES, WITHOUT_OPERATIONS, WITHOUT_APPLY], ids=["all", "edits", "none"]
)
async def test_a_moved_document_is_read_and_edited_where_it_is_now(
    folder: Path, capabilities: Mapping[str, Any]
) -> None:
    (folder / "a.txt").write_text("one\n")
    script = calling(move(), read(), edit(path="b.txt"), read("b.txt"))
    async with connected(folder, script, capabilities=capabilities) as editor:
        editor.documents.open(folder / "a.txt")
        without_closing(editor)

        await editor.turn()

        moved, gone, edited, again = results(editor)
        assert moved[0], moved
        assert not gone[0], gone
        assert edited[0], edited
        assert "two" in again[1]


async def test_a_document_that_was_deleted_is_back_when_the_user_types_in_it(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    script = [say("", delete()), say("done"), say("", read()), say("done")]
    async with connected(folder, Setup(script=script, mode="trust")) as editor:
        uri = editor.documents.open(folder / "a.txt")
        without_closing(editor)
        await editor.turn()

        editor.documents.insert(uri, "one", "typed ")
        await editor.turn()

        assert "typed one" in results(editor)[1][1]


@pytest.mark.parametrize(
    ("answer", "ok"),
    [({"applied": True}, True), ({"applied": False}, False), (None, False)],
    ids=["applied", "refused", "odd"],
)
async def test_a_document_that_was_never_saved_is_deleted_only_where_the_editor_says_so(
    folder: Path, answer: object, ok: bool
) -> None:
    async with connected(folder, calling(delete())) as editor:
        editor.server.endpoint.patience = HASTY
        editor.documents.open(folder / "a.txt", text="one\n")
        editor.handlers[APPLY] = lambda _: answer

        await editor.turn()

        assert results(editor)[0][0] is ok, results(editor)


# Saving


async def test_a_user_who_cancels_or_does_not_save_is_asked_again_before_the_next_program(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    script = calling(edit(), shell(), shell(), shell(), shell())
    async with connected(folder, script) as editor:
        editor.documents.open(folder / "a.txt")
        answers = iter(["Cancel", "Continue without saving", "Save and continue"])
        editor.handlers["window/showMessageRequest"] = lambda params: (
            {"title": next(answers)} if "unsaved changes" in params["message"] else {"title": "Allow once"}
        )

        await editor.turn()

        _, cancelled, left, saved, later = results(editor)
        assert not cancelled[0]
        assert "one" in left[1]
        assert "two" in saved[1]
        assert "two" in later[1]
        assert next(answers, None) is None


# Before the user is asked


async def test_nobody_is_asked_for_an_edit_that_cannot_happen(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, Setup(script=[say("", edit()), say("done")]), capabilities=WITHOUT_APPLY) as editor:
        uri = editor.documents.open(folder / "a.txt")
        editor.documents.type_over(uri, "one typed\n")

        await editor.turn()

        assert not results(editor)[0][0]
        assert "unsaved changes" in results(editor)[0][1]
        assert editor.requests("window/showMessageRequest") == []


# Told and learned


async def test_an_edit_that_came_with_typing_says_so(folder: Path) -> None:
    (folder / "a.txt").write_text("one\nmiddle\nlast\n")
    async with connected(folder, calling(edit())) as editor:
        editor.server.endpoint.patience = HASTY
        uri = editor.documents.open(folder / "a.txt")

        def merge(_: Mapping[str, Any]) -> object:
            editor.documents.type_over(uri, "two\nmiddle\ntyped\nlast\n")
            return {"applied": True}

        editor.handlers[APPLY] = merge
        await editor.turn()

        assert results(editor)[0][0]
        assert "The user typed in a.txt at the same time" in results(editor)[0][1]


async def test_an_edit_that_was_dropped_among_equal_lines_is_an_error(folder: Path) -> None:
    (folder / "a.txt").write_text("a\nx\nx\nb\n")
    async with connected(folder, calling(edit("a\nx\nx\n", "a\nx\n"))) as editor:
        editor.server.endpoint.patience = HASTY
        uri = editor.documents.open(folder / "a.txt")

        def drop(_: Mapping[str, Any]) -> object:
            editor.documents.type_over(uri, "typed\na\nx\nx\nb\n")
            return {"applied": True}

        editor.handlers[APPLY] = drop
        await editor.turn()

        assert not results(editor)[0][0]


@pytest.mark.parametrize("is_proof", [True, False], ids=["unproven", "stale"])
async def test_the_next_edit_may_be_made_from_the_text_that_the_refusal_showed(folder: Path, is_proof: bool) -> None:
    (folder / "a.txt").write_text("one\n")
    script = [*(say("", call) for call in (read(), edit(), edit())), say("done")]
    async with connected(folder, Setup(script=script)) as editor:
        editor.server.endpoint.patience = HASTY
        uri = editor.documents.open(folder / "a.txt")
        has_typed: list[bool] = []

        def type_once() -> None:
            if not has_typed:
                has_typed.append(True)
                editor.documents.type_over(uri, "one typed\n")

        def answer(_: Mapping[str, Any]) -> object:
            if not is_proof:
                type_once()
            return {"title": "Allow once"}

        def apply(params: Mapping[str, Any]) -> object:
            type_once()
            return editor.documents.apply(params)

        editor.handlers["window/showMessageRequest"] = answer
        editor.handlers[APPLY] = apply
        await editor.turn()

        _, refused, again = results(editor)
        assert not refused[0]
        assert again[0], again
        assert editor.documents.text(uri) == "two typed\n"


# Odd notifications


def change(editor: Editor, uri: str, *changes: object, **document: object) -> None:
    editor.tell("textDocument/didChange", {"textDocument": {"uri": uri, **document}, "contentChanges": list(changes)})


@pytest.mark.parametrize("version", [{"version": None}, {}, {"version": 2}], ids=["null", "missing", "given"])
async def test_null_ranges_and_versions_that_are_missing_cost_nothing(
    folder: Path, version: Mapping[str, object]
) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(read(), edit("typed", "made"))) as editor:
        uri = editor.documents.open(folder / "a.txt")
        change(editor, uri, {"range": None, "rangeLength": None, "text": "typed\n"}, **version)

        await editor.turn()

        assert "typed" in results(editor)[0][1]
        document = editor.requests(APPLY)[0].params["edit"]["documentChanges"][0]["textDocument"]
        assert document == {"uri": uri, "version": 2}


async def test_a_document_without_a_language_or_a_version_is_open(folder: Path) -> None:
    async with connected(folder, calling(read())) as editor:
        uri = (folder / "a.txt").as_uri()
        editor.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "version": None, "text": "typed\n"}})

        await editor.turn()

        assert "typed" in results(editor)[0][1]


@pytest.mark.parametrize("calls", [read(), edit(), edit("typed", "x"), delete(), move()], ids=lambda call: call.name)
async def test_a_document_that_is_out_of_step_is_left_alone(folder: Path, calls: Call) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(calls)) as editor:
        uri = editor.documents.open(folder / "a.txt")
        change(editor, uri, {"range": {"start": "here"}, "text": "typed"}, version=2)
        change(editor, uri, {"range": {"start": zero(), "end": zero()}, "text": "typed"}, version=3)

        await editor.turn()

        ((ok, said),) = results(editor)
        assert not ok
        assert "its current text is unknown" in said
        assert editor.requests(APPLY) == []
        assert (folder / "a.txt").read_text() == "one\n"


def zero() -> dict[str, int]:
    return {"line": 0, "character": 0}


async def test_a_document_that_could_not_be_opened_is_not_taken_for_its_file(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(read())) as editor:
        uri = (folder / "a.txt").as_uri()
        editor.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "text", "version": 1}})

        await editor.turn()

        assert not results(editor)[0][0]


@pytest.mark.parametrize("is_opened_again", [True, False])
async def test_the_whole_text_brings_a_document_back_into_step(folder: Path, is_opened_again: bool) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(edit("typed", "made"))) as editor:
        uri = editor.documents.open(folder / "a.txt")
        change(editor, uri, {"range": {"start": "here"}, "text": "typed"}, version=2)
        if is_opened_again:
            editor.documents.open(folder / "a.txt", text="typed\n")
        else:
            editor.documents.type_over(uri, "typed\n")

        await editor.turn()

        assert results(editor)[0][0], results(editor)
        assert editor.documents.text(uri) == "made\n"
