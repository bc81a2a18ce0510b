"""Edits through the editor: what is sent, what counts as proof, and what is left alone."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.documents.workspace_edits import holds_all_of
from pygent_ls.editors.lsp.rpc.client_requests import Patience
from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Asked, Editor, Setup, WireError, connected
from tests.fakes import Call, Gate, bounded, say

HASTY = Patience(answer_s=0.1, proof_s=0.1)
"""Time limit for events that never come."""

APPLY = "workspace/applyEdit"

WITHOUT_APPLY: Mapping[str, Any] = {"workspace": {}, "general": {"positionEncodings": ["utf-16"]}}
UTF8: Mapping[str, Any] = {**CAPABILITIES, "general": {"positionEncodings": ["utf-16", "utf-8"]}}
WITHOUT_OPERATIONS: Mapping[str, Any] = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
}
PLAIN_CHANGES: Mapping[str, Any] = {"workspace": {"applyEdit": True}}


def edit(old: str = "one", new: str = "two", path: str = "a.txt") -> Call:
    return Call(name="edit_file", arguments={"path": path, "old": old, "new": new})


def create(path: str = "new.txt", content: str = "fresh\n") -> Call:
    return Call(name="create_file", arguments={"path": path, "content": content})


def move(source: str = "a.txt", destination: str = "b.txt") -> Call:
    return Call(name="move_file", arguments={"source": source, "destination": destination})


def delete(path: str = "a.txt") -> Call:
    return Call(name="delete_file", arguments={"path": path})


def read(path: str = "a.txt") -> Call:
    return Call(name="read_file", arguments={"path": path})


def calling(*calls: Call) -> Setup:
    """A model that makes these calls, one after another, and is done; without questions."""
    return Setup(script=[*(say("", call) for call in calls), say("done")], mode="trust")


def results(editor: Editor) -> list[tuple[bool, str]]:
    """Whether it went well, and what the model reads, of each tool call."""
    return [(not event["isError"], event["content"]) for event in editor.events() if event["type"] == "tool_result"]


async def outcome(editor: Editor) -> tuple[bool, str]:
    """Run the turn; the last tool's result."""
    await editor.turn()
    return results(editor)[-1]


# What is sent


@pytest.mark.parametrize(("capabilities", "encoding"), [(CAPABILITIES, "utf-16"), (UTF8, "utf-8")])
async def test_an_edit_keeps_what_is_not_saved(folder: Path, capabilities: Mapping[str, Any], encoding: str) -> None:
    path = folder / "a.txt"
    path.write_text("start\none\n")
    async with connected(folder, calling(read(), edit()), capabilities=capabilities) as editor:
        assert editor.initialize_result["capabilities"]["positionEncoding"] == encoding
        uri = editor.documents.open(path)
        editor.documents.insert(uri, "start", "\U0001f600 é ")
        editor.documents.insert(uri, "one", "\U0001f600日本 ")

        assert (await outcome(editor))[0], results(editor)

        assert "\U0001f600日本 one" in results(editor)[0][1]
        assert editor.documents.text(uri) == "\U0001f600 é start\n\U0001f600日本 two\n"
        assert path.read_text() == "start\none\n"


async def test_an_edit_is_versioned_labelled_and_as_small_as_can_be(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("".join(f"line {number}\n" for number in range(1000)))
    async with connected(folder, calling(edit("line 500\n", "line five hundred\n"))) as editor:
        uri = editor.documents.open(path, version=7)

        assert (await outcome(editor))[0], results(editor)

        (asked,) = editor.requests(APPLY)
        assert asked.params["label"] == "Edit a.txt"
        (change,) = asked.params["edit"]["documentChanges"]
        assert change["textDocument"] == {"uri": uri, "version": 7}
        assert sum(len(each["newText"]) for each in change["edits"]) <= len("five hundred")


async def test_several_places_are_one_edit(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("one, one\nkeep\none\n")
    call = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two", "all": True})
    async with connected(folder, calling(read(), call)) as editor:
        uri = editor.documents.open(path)

        assert (await outcome(editor))[0], results(editor)

        assert editor.documents.text(uri) == "two, two\nkeep\ntwo\n"
        assert len(editor.requests(APPLY)) == 1


@pytest.mark.parametrize("closed_files", ["disk", "buffer"])
async def test_a_closed_file_is_edited_by_the_editor_in_its_own_way(folder: Path, closed_files: Any) -> None:
    path = folder / "a.txt"
    path.write_text("one\n")
    async with connected(folder, calling(edit(), read())) as editor:
        editor.documents.closed_files = closed_files

        assert (await outcome(editor))[0], results(editor)

        (change,) = editor.requests(APPLY)[0].params["edit"]["documentChanges"]
        assert change["textDocument"] == {"uri": path.as_uri(), "version": None}
        assert path.read_text() == ("two\n" if closed_files == "disk" else "one\n")
        assert "two" in results(editor)[1][1]


async def test_an_editor_without_document_changes_gets_the_older_form(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("one\n")
    async with connected(folder, calling(edit()), capabilities=PLAIN_CHANGES) as editor:
        uri = editor.documents.open(path)

        assert (await outcome(editor))[0], results(editor)

        assert list(editor.requests(APPLY)[0].params["edit"]) == ["changes"]
        assert editor.documents.text(uri) == "two\n"


async def test_a_document_is_named_as_the_editor_names_it(folder: Path) -> None:
    path = folder / "a b.txt"
    path.write_text("one\n")
    own_name = path.as_uri().replace("/a%20b", "/%61%20b")
    async with connected(folder, calling(edit(path="a b.txt"))) as editor:
        editor.documents.open(path, uri=own_name)

        assert (await outcome(editor))[0], results(editor)

        assert editor.documents.text(own_name) == "two\n"


async def test_an_editor_whose_folder_is_a_link_is_spoken_to_by_its_own_names(tmp_path: Path, folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    link = tmp_path / "link"
    link.symlink_to(folder)
    async with connected(link, calling(edit())) as editor:
        result = await editor.turn()

        uri = (link / "a.txt").as_uri()
        assert result["filesChanged"][0]["uri"] == uri
        assert editor.requests(APPLY)[0].params["edit"]["documentChanges"][0]["textDocument"]["uri"] == uri


# Files that come, go and move


async def test_files_are_made_moved_and_deleted_by_an_editor_that_can(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(create("in/new.txt"), move(), delete("b.txt"))) as editor:
        result = await editor.turn()

        assert [ok for ok, _ in results(editor)] == [True] * 3
        sent = [asked.params["edit"]["documentChanges"] for asked in editor.requests(APPLY)]
        assert [[change.get("kind", "edit") for change in changes] for changes in sent] == [
            ["create", "edit"],
            ["rename"],
            ["delete"],
        ]
        assert (folder / "in/new.txt").read_text() == "fresh\n"
        assert tree(folder) == ["in", "in/new.txt"]
        kinds = {change["uri"].rpartition("/")[2]: change["kind"] for change in result["filesChanged"]}
        assert kinds == {"new.txt": "create", "b.txt": "delete"}


@pytest.mark.parametrize("capabilities", [WITHOUT_OPERATIONS, PLAIN_CHANGES, WITHOUT_APPLY])
async def test_files_are_made_moved_and_deleted_by_the_daemon_where_the_editor_cannot(
    folder: Path, capabilities: Mapping[str, Any]
) -> None:
    (folder / "a.txt").write_text("one\n")
    script = calling(create("in/new.txt"), move(), delete("b.txt"))
    async with connected(folder, script, capabilities=capabilities) as editor:
        await editor.turn()

        assert [ok for ok, _ in results(editor)] == [True] * 3
        assert editor.requests(APPLY) == []
        assert tree(folder) == ["in", "in/new.txt"]


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


async def test_an_empty_file_is_made_without_an_edit(folder: Path) -> None:
    async with connected(folder, calling(create(content=""))) as editor:
        assert (await outcome(editor))[0], results(editor)

        changes = editor.requests(APPLY)[0].params["edit"]["documentChanges"]
        assert [change["kind"] for change in changes] == ["create"]
        assert (folder / "new.txt").read_bytes() == b""


async def test_an_open_document_that_is_moved_goes_with_its_unsaved_text(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(move(), read("b.txt"))) as editor:
        uri = editor.documents.open(folder / "a.txt")
        editor.documents.type_over(uri, "typed\n")

        assert "typed" in (await outcome(editor))[1]


@pytest.mark.parametrize("call", [delete(), move()], ids=["delete", "move"])
async def test_an_open_document_that_the_daemon_takes_away_is_gone_for_the_model(folder: Path, call: Call) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(call, read(), create("a.txt")), capabilities=WITHOUT_APPLY) as editor:
        editor.documents.open(folder / "a.txt")

        await editor.turn()

        gone, is_read, is_made = results(editor)
        assert gone[0]
        assert not is_read[0]
        assert is_made[0]
        assert (folder / "a.txt").read_text() == "fresh\n"


@pytest.mark.parametrize("call", [delete(), move(), edit("typed", "x")], ids=["delete", "move", "edit"])
async def test_without_the_editors_help_what_is_not_saved_is_left_alone(folder: Path, call: Call) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(call), capabilities=WITHOUT_APPLY) as editor:
        uri = editor.documents.open(folder / "a.txt")
        editor.documents.type_over(uri, "typed\n")

        ok, said = await outcome(editor)

        assert not ok
        assert "unsaved changes" in said
        assert (folder / "a.txt").read_text() == "one\n"


async def test_without_the_editors_help_a_clean_document_is_written_and_read_from_the_disk(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("one\n")
    path.chmod(0o751)
    script = calling(read(), edit(), read(), edit("two", "three"), read())
    async with connected(folder, script, capabilities=WITHOUT_APPLY) as editor:
        editor.documents.open(path)

        await editor.turn()

        assert [ok for ok, _ in results(editor)] == [True] * 5
        assert "two" in results(editor)[2][1]
        assert "three" in results(editor)[4][1]
        assert path.read_text() == "three\n"
        assert path.stat().st_mode & 0o777 == 0o751
        assert [entry.name for entry in entries(folder)] == ["a.txt"]


def entries(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_document_that_the_editor_loads_again_is_not_taken_for_unsaved(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("one\n")
    async with connected(folder, calling(edit("three", "four")), capabilities=WITHOUT_APPLY) as editor:
        uri = editor.documents.open(path)
        path.write_text("three\n")  # git, say
        editor.documents.type_over(uri, "three\n")  # how editors tell that they loaded it again

        assert (await outcome(editor))[0], results(editor)

        assert path.read_text() == "four\n"


# Bytes


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("é one\n".encode("latin-1"), "é two\n".encode("latin-1")),
        (codecs.BOM_UTF8 + b"one\n", codecs.BOM_UTF8 + b"two\n"),
        (codecs.BOM_UTF16_LE + "one\r\n".encode("utf-16-le"), codecs.BOM_UTF16_LE + "two\r\n".encode("utf-16-le")),
        (b"a\r\none\nb\r\n", b"a\r\ntwo\nb\r\n"),
        (b"a\rone\n", b"a\rtwo\n"),
    ],
    ids=["latin-1", "utf-8 with a mark", "utf-16", "mixed line endings", "old line endings"],
)
async def test_a_closed_file_of_an_odd_kind_is_written_by_the_daemon_and_keeps_its_bytes(
    folder: Path, before: bytes, after: bytes
) -> None:
    path = folder / "a.txt"
    path.write_bytes(before)
    async with connected(folder, calling(edit())) as editor:
        assert (await outcome(editor))[0], results(editor)

        assert editor.requests(APPLY) == []
        assert path.read_bytes() == after


async def test_a_closed_file_of_windows_lines_is_edited_by_the_editor_and_keeps_them(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_bytes(b"a\r\none\r\nb\r\n")
    async with connected(folder, calling(edit("one\nb", "two\nc"))) as editor:
        assert (await outcome(editor))[0], results(editor)

        assert len(editor.requests(APPLY)) == 1
        assert path.read_bytes() == b"a\r\ntwo\r\nc\r\n"


async def test_an_open_document_of_an_odd_kind_belongs_to_the_editor(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_bytes("é one\n".encode("latin-1"))
    async with connected(folder, calling(edit())) as editor:
        uri = editor.documents.open(path, text="é one\n")

        assert (await outcome(editor))[0], results(editor)

        assert editor.documents.text(uri) == "é two\n"
        assert path.read_bytes() == "é one\n".encode("latin-1")


async def test_half_a_surrogate_pair_in_a_document_is_read_and_what_cannot_be_saved_is_refused(folder: Path) -> None:
    async with connected(folder, calling(read(), edit())) as editor:
        uri = editor.documents.open(folder / "a.txt", text="\ud83d one\n")

        ok, told = await outcome(editor)

        assert results(editor)[0] == (True, "     1\t\ud83d one")
        assert not ok
        assert "cannot represent '\\ud83d'" in told
        assert editor.documents.text(uri) == "\ud83d one\n"


# Proof


async def dropping(editor: Editor, path: Path, answer: object) -> tuple[bool, str]:
    """The outcome of an edit that the editor drops, whatever it says."""
    editor.server.endpoint.patience = HASTY
    editor.documents.open(path)
    editor.handlers[APPLY] = lambda _: answer
    return await outcome(editor)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"applied": True}, "it reported success"),
        (None, "it answered None"),
        (True, "it answered True"),
        ({"applied": False, "failureReason": "the file is locked"}, "the file is locked"),
        ({"applied": False}, "it gave no reason"),
        ({}, "it gave no reason"),
        (NO_ANSWER, "did not answer workspace/applyEdit within 0.1 s"),
    ],
    ids=str,
)
async def test_an_edit_that_is_dropped_is_an_error_whatever_the_editor_says(
    folder: Path, answer: object, said: str
) -> None:
    path = folder / "a.txt"
    path.write_text("one\n")
    async with connected(folder, calling(edit())) as editor:
        ok, told = await dropping(editor, path, answer)

        assert not ok
        assert said in told
        assert "a.txt now holds:\n```\none" in told
        assert path.read_text() == "one\n"
        assert len(editor.requests(APPLY)) == 1
        assert (editor.events()[-1]["type"], editor.events()[-1]["filesChanged"]) == ("finished", [])


async def test_an_edit_that_is_refused_by_an_error_is_an_error(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(edit())) as editor:
        editor.server.endpoint.patience = HASTY
        del editor.handlers[APPLY]
        editor.documents.open(folder / "a.txt")

        ok, told = await outcome(editor)

        assert not ok
        assert "this editor knows no workspace/applyEdit" in told


@pytest.mark.parametrize("answer", [None, {}, {"applied": False}, {"applied": True}, NO_ANSWER], ids=str)
async def test_an_edit_that_was_made_counts_whatever_the_editor_says(folder: Path, answer: object) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(edit())) as editor:
        editor.server.endpoint.patience = HASTY
        uri = editor.documents.open(folder / "a.txt")

        def apply_and_say(params: Mapping[str, Any]) -> object:
            editor.documents.apply(params)
            return answer

        editor.handlers[APPLY] = apply_and_say

        assert (await outcome(editor))[0], results(editor)
        assert editor.documents.text(uri) == "two\n"


async def test_an_editor_may_tell_of_the_change_after_its_answer(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(edit())) as editor:
        uri = editor.documents.open(folder / "a.txt")
        editor.handlers[APPLY] = lambda _: {"applied": True}
        turn = editor.begin_turn()
        asked = await editor.asks(APPLY)

        editor.documents.apply(asked.params)

        await bounded(turn)
        assert results(editor)[0][0]
        assert editor.documents.text(uri) == "two\n"


async def test_a_closed_file_may_be_written_after_the_answer(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("one\n")
    async with connected(folder, calling(edit())) as editor:
        editor.handlers[APPLY] = lambda _: {"applied": True}
        turn = editor.begin_turn()
        asked = await editor.asks(APPLY)

        editor.documents.apply(asked.params)

        await bounded(turn)
        assert results(editor)[0][0]


async def test_typing_that_follows_the_edit_is_kept_and_no_obstacle(folder: Path) -> None:
    (folder / "a.txt").write_text("one\nrest\n")
    async with connected(folder, calling(edit())) as editor:
        uri = editor.documents.open(folder / "a.txt")

        def apply_and_type(params: Mapping[str, Any]) -> object:
            applied = editor.documents.apply(params)
            editor.documents.insert(uri, "two", "typed ")
            return applied

        editor.handlers[APPLY] = apply_and_type

        assert (await outcome(editor))[0], results(editor)
        assert editor.documents.text(uri) == "typed two\nrest\n"


async def apply_merged(folder: Path, text: str) -> tuple[bool, str]:
    """The outcome where the editor tells of its edit and the user's typing as one change."""
    (folder / "a.txt").write_text("first\none\nmiddle\nlast\n")
    async with connected(folder, calling(edit())) as editor:
        editor.server.endpoint.patience = HASTY
        uri = editor.documents.open(folder / "a.txt")

        def merge(_: Mapping[str, Any]) -> object:
            editor.documents.type_over(uri, text)
            return {"applied": True}

        editor.handlers[APPLY] = merge
        return await outcome(editor)


async def test_typing_elsewhere_that_comes_with_the_edit_is_no_obstacle(folder: Path) -> None:
    assert (await apply_merged(folder, "first\ntwo\nmiddle\ntyped\nlast\n"))[0]


@pytest.mark.parametrize(
    "text", ["first\none\nmiddle\ntyped\nlast\n", "first\ntwo typed\nmiddle\nlast\n", "", "first\n"]
)
async def test_typing_that_hides_whether_the_edit_was_made_is_an_error_with_the_text(folder: Path, text: str) -> None:
    ok, told = await apply_merged(folder, text)

    assert not ok
    assert text.rstrip("\n") in told


async def test_a_stale_version_is_refused_by_the_editor_and_nothing_is_tried_again(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(edit())) as editor:
        editor.server.endpoint.patience = HASTY
        uri = editor.documents.open(folder / "a.txt")

        def type_first(params: Mapping[str, Any]) -> object:
            editor.documents.type_over(uri, "typed one\n")
            return editor.documents.apply(params)

        editor.handlers[APPLY] = type_first
        ok, told = await outcome(editor)

        assert not ok
        assert "version 1 is stale" in told
        assert "typed one" in told
        assert editor.documents.text(uri) == "typed one\n"
        assert len(editor.requests(APPLY)) == 1


# Changed in between


async def test_a_document_that_was_changed_since_the_model_read_it_is_shown_again(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    gate = Gate()
    script = [say("", read()), [gate, *say("", edit())], say("", edit()), say("done")]
    async with connected(folder, Setup(script=script, mode="trust")) as editor:
        uri = editor.documents.open(folder / "a.txt")
        turn = editor.begin_turn()
        await gate.reached()
        editor.documents.type_over(uri, "one typed\n")
        gate.open()
        await bounded(turn)

        _, refused, again = results(editor)
        assert not refused[0]
        assert "one typed" in refused[1]
        assert again[0]
        assert editor.documents.text(uri) == "two typed\n"
        assert len(editor.requests(APPLY)) == 1


@pytest.mark.parametrize("is_open", [True, False])
async def test_what_is_changed_while_the_user_is_asked_is_kept(folder: Path, is_open: bool) -> None:
    path = folder / "a.txt"
    path.write_text("one\n")
    async with connected(folder, Setup(script=[say("", edit()), say("done")])) as editor:
        uri = editor.documents.open(path) if is_open else ""

        def type_then_allow(_: Mapping[str, Any]) -> object:
            if is_open:
                editor.documents.type_over(uri, "one typed\n")
            else:
                path.write_text("one typed\n")
            return {"title": "Allow once"}

        editor.handlers["window/showMessageRequest"] = type_then_allow
        ok, told = await outcome(editor)

        assert not ok
        assert "one typed" in told
        assert editor.requests(APPLY) == []


async def test_a_file_that_comes_into_being_while_the_user_is_asked_is_kept(folder: Path) -> None:
    async with connected(folder, Setup(script=[say("", create()), say("done")])) as editor:

        def make_then_allow(_: Mapping[str, Any]) -> object:
            (folder / "new.txt").write_text("mine\n")
            return {"title": "Allow once"}

        editor.handlers["window/showMessageRequest"] = make_then_allow
        ok, told = await outcome(editor)

        assert not ok
        assert "was created in the meantime" in told
        assert (folder / "new.txt").read_text() == "mine\n"


async def test_a_cancel_while_the_editor_is_asked_for_the_edit_ends_the_turn_at_once(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    async with connected(folder, calling(edit())) as editor:
        editor.documents.open(folder / "a.txt")
        editor.handlers[APPLY] = lambda _: NO_ANSWER
        turn = editor.begin_turn()
        asked: Asked = await editor.asks(APPLY)

        editor.cancel(editor.last_id)

        with pytest.raises(WireError) as raised:
            await bounded(turn)
        assert raised.value.data["stopReason"] == "cancelled"
        assert {"id": asked.id} in editor.notifications("$/cancelRequest")


async def test_edits_of_two_turns_do_not_mix(folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("one\n")
    script = [say("", edit(path="a.txt")), say("", edit(path="b.txt")), say("done"), say("done")]
    async with connected(folder, Setup(script=script, mode="trust")) as editor:
        first, second = editor.begin_turn("a"), editor.begin_turn("b")

        await bounded(asyncio.gather(first, second))

        assert [(folder / name).read_text() for name in ("a.txt", "b.txt")] == ["two\n", "two\n"]


# Whether a text is the new one with typing around it

lines = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\n"]), max_size=6)
typing = st.lists(st.sampled_from(["t\n", "u\n"]), max_size=4)


@given(head=lines, old=lines, tail=lines, above=typing, below=typing)
def test_typing_apart_from_the_edit_does_not_hide_it(
    head: list[str], old: list[str], tail: list[str], above: list[str], below: list[str]
) -> None:
    before, expected = (["X\n", *head, "M\n", *middle, "N\n", *tail, "Z\n"] for middle in (old, ["new\n", "lines\n"]))
    current = ["X\n", *above, *head, "M\n", "new\n", "lines\n", "N\n", *tail, *below, "Z\n"]

    assert holds_all_of("".join(before), "".join(expected), "".join(current))


@given(
    before=lines,
    expected=lines,
    typed=st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["a\n", "c\n", "t\n"])), max_size=2),
)
@example(before=["a\n", "b\n"], expected=["b\n", "a\n"], typed=[])
@example(before=["a\n"], expected=["a\n", "a\n"], typed=[(0, "c\n")])
@example(before=["a\n"] * 3 + ["b\n"], expected=["a\n"] * 3 + ["b\n", "c\n"], typed=[(0, "c\n"), (5, "a\n")])
def test_an_edit_that_was_dropped_is_never_taken_for_made(
    before: list[str], expected: list[str], typed: list[tuple[int, str]]
) -> None:
    current = list(before)
    for place, line in typed:
        current.insert(min(place, len(current)), line)
    left = iter(current)
    assume(not all(line in left for line in expected))  # else the typing alone makes the edit

    assert not holds_all_of("".join(before), "".join(expected), "".join(current))
