"""Edits that the editor previews: what its user unticks is told to the model, from the text that really arrived."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.edits.hunks import hunks_of, text_without
from pygent_ls.agent.ports.workspace import Document, EditPlan, WriteText
from pygent_ls.editors.lsp.documents.workspace_edits import rejected_in
from pygent_ls.editors.lsp.rpc.client_requests import Patience
from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Editor, Setup, connected
from tests.fakes import FOLDER, Call, bounded, digest_of, say

APPLY = "workspace/applyEdit"

PREVIEWING: Mapping[str, Any] = {
    **CAPABILITIES,
    "workspace": {
        **CAPABILITIES["workspace"],
        "workspaceEdit": {
            **CAPABILITIES["workspace"]["workspaceEdit"],
            "changeAnnotationSupport": {"groupsOnLabel": True},
        },
    },
}

OLD = "one\nkeep\ntwo\nkeep too\nthree\n"
NEW = "ONE\nkeep\nTWO\nkeep too\nTHREE\n"

THREE = Call(
    name="multi_edit",
    arguments={"path": "a.txt", "edits": [{"old": old, "new": old.upper()} for old in ("one", "two", "three")]},
)

PATCH = "".join(
    [
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n",
        "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+fresh\n",
        "--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n",
    ]
)


def calling(call: Call) -> Setup:
    return Setup(script=[say("", call), say("done")], mode="trust", reviews_edits=True, checkpoints=True)


def ticking(editor: Editor, *wanted: str) -> Callable[[Mapping[str, Any]], object]:
    """A user who wants these hunks; the editor makes them, and says so."""

    def apply(params: Mapping[str, Any]) -> object:
        changes: list[dict[str, Any]] = []
        for change in params["edit"]["documentChanges"]:
            if "edits" not in change:
                changes += [change] if change["annotationId"] in wanted else []
            elif ticked := [each for each in change["edits"] if each["annotationId"] in wanted]:
                changes.append({**change, "edits": ticked})
        return editor.documents.apply({"edit": {"documentChanges": changes}})

    return apply


async def outcome(editor: Editor) -> tuple[dict[str, Any], Any]:
    """The tool's result as an event, and the turn's."""
    editor.server.endpoint.patience = Patience(answer_s=0.1, proof_s=0.2)
    result = await editor.turn()
    (told,) = [event for event in editor.events() if event["type"] == "tool_result"]
    return told, result


async def test_each_hunk_has_an_annotation_that_needs_confirmation(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=PREVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        told, _ = await outcome(editor)

        edit = editor.requests(APPLY)[0].params["edit"]
        assert [each["annotationId"] for each in edit["documentChanges"][0]["edits"]] == ["1", "2", "3"]
        assert edit["changeAnnotations"] == {
            "1": {"label": "Edit a.txt: a.txt, line 1", "description": "ONE", "needsConfirmation": True},
            "2": {"label": "Edit a.txt: a.txt, line 3", "description": "TWO", "needsConfirmation": True},
            "3": {"label": "Edit a.txt: a.txt, line 5", "description": "THREE", "needsConfirmation": True},
        }
        assert editor.documents.text(uri) == NEW
        assert told["content"].startswith("Edited a.txt")


async def test_a_long_hunk_is_one_edit_with_its_annotation(folder: Path) -> None:
    old, new = "".join(f"one {n}\n" for n in range(500)), "".join(f"two {n + 1000}\n" for n in range(500))
    (folder / "a.txt").write_text(old)
    rewrite = Call(name="edit_file", arguments={"path": "a.txt", "old": old, "new": new})
    async with connected(folder, calling(rewrite), capabilities=PREVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        told, _ = await outcome(editor)

        edit = editor.requests(APPLY)[0].params["edit"]
        assert [each["annotationId"] for each in edit["documentChanges"][0]["edits"]] == ["1"]
        assert editor.documents.text(uri) == new
        assert told["content"].startswith("Edited a.txt")


@pytest.mark.parametrize("closed_files", ["open", "disk", "buffer"])
async def test_what_the_user_unticks_is_told_and_does_not_count(folder: Path, closed_files: Any) -> None:
    path = folder / "a.txt"
    path.write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=PREVIEWING) as editor:
        if closed_files == "open":
            editor.documents.open(path)
        else:
            editor.documents.closed_files = closed_files
        editor.handlers[APPLY] = ticking(editor, "1", "3")

        told, result = await outcome(editor)

        assert "rejected 1 hunk of it; the rest was kept" in told["content"]
        assert "- a.txt, line 3: its old text was restored\n```\n-two\n+TWO\n```" in told["content"]
        assert not told["isError"]
        assert [(change["added"], change["removed"]) for change in result["filesChanged"]] == [(2, 2)]
        text = path.read_text() if closed_files == "disk" else editor.documents.text(path.as_uri())
        assert text == NEW.replace("TWO", "two")


@pytest.mark.parametrize(("wanted", "left"), [("1", ["a.txt", "gone.txt"]), ("2", ["a.txt", "gone.txt", "new.txt"])])
async def test_files_that_come_and_go_are_ticked_as_a_whole(folder: Path, wanted: str, left: list[str]) -> None:
    (folder / "a.txt").write_text("one\n")
    (folder / "gone.txt").write_text("bye\n")
    call = Call(name="apply_patch", arguments={"patch": PATCH})
    async with connected(folder, calling(call), capabilities=PREVIEWING) as editor:
        editor.handlers[APPLY] = ticking(editor, wanted)

        told, result = await outcome(editor)

        assert "rejected 2 hunks of it" in told["content"]
        assert len(result["filesChanged"]) == 1
        assert names_in(folder) == left


@pytest.mark.parametrize("is_shown", [True, False])
async def test_a_new_file_that_is_wanted_without_its_text_stands_empty(folder: Path, *, is_shown: bool) -> None:
    call = Call(name="create_file", arguments={"path": "new.txt", "content": "fresh\n"})
    async with connected(folder, calling(call), capabilities=PREVIEWING) as editor:

        def make_it_empty(params: Mapping[str, Any]) -> object:
            creation, _ = params["edit"]["documentChanges"]
            done = editor.documents.apply({"edit": {"documentChanges": [creation]}})
            if is_shown:
                editor.documents.open(folder / "new.txt")
            return done

        editor.handlers[APPLY] = make_it_empty

        told, result = await outcome(editor)

        assert "- new.txt: the new file: the user accepted the file but not its content" in told["content"]
        assert not told["isError"]
        assert result["filesChanged"] == [
            {"uri": (folder / "new.txt").as_uri(), "kind": "create", "added": 0, "removed": 0}
        ]
        assert (folder / "new.txt").read_text() == ""


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("answer", [{"applied": False}, {"applied": True}], ids=str)
async def test_a_preview_that_the_user_discards_is_a_rejection_of_all(folder: Path, answer: object) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=PREVIEWING) as editor:
        editor.documents.open(folder / "a.txt")
        editor.handlers[APPLY] = lambda _: answer

        told, result = await outcome(editor)

        assert told["isError"]
        assert "the user reviewed this edit and rejected all of it" in told["content"]
        assert result["filesChanged"] == []


@pytest.mark.parametrize("answer", [{"applied": False, "failureReason": "locked"}, None, {}], ids=str)
async def test_an_edit_that_the_editor_could_not_make_is_no_rejection(folder: Path, answer: object) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=PREVIEWING) as editor:
        editor.documents.open(folder / "a.txt")
        editor.handlers[APPLY] = lambda _: answer

        told, _ = await outcome(editor)

        assert told["isError"]
        assert "the edit: " in told["content"]
        assert "rejected" not in told["content"]


async def test_typing_before_the_edit_is_made_is_no_rejection_either(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=PREVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        def type_first(_: Mapping[str, Any]) -> object:
            editor.documents.insert(uri, "two", "typed ")
            return {"applied": False}  # as editors do where the version is stale, without a reason

        editor.handlers[APPLY] = type_first
        told, _ = await outcome(editor)

        assert told["isError"]
        assert "typed two" in told["content"]
        assert "rejected" not in told["content"]


async def test_typing_after_the_edit_does_not_hide_what_was_unticked(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=PREVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        def apply_and_type(params: Mapping[str, Any]) -> object:
            applied = ticking(editor, "1")(params)
            editor.documents.insert(uri, "keep", "typed ")
            return applied

        editor.handlers[APPLY] = apply_and_type
        told, _ = await outcome(editor)

        assert "rejected 2 hunks of it" in told["content"]
        assert editor.documents.text(uri) == OLD.replace("one\n", "ONE\ntyped ")


async def test_the_user_may_look_at_the_preview_for_as_long_as_they_like(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=PREVIEWING) as editor:
        editor.server.endpoint.patience = Patience(answer_s=0.02, proof_s=0.2)
        uri = editor.documents.open(folder / "a.txt")
        editor.handlers[APPLY] = lambda _: NO_ANSWER
        turn = editor.begin_turn()
        asked = await editor.asks(APPLY)
        await asyncio.wait([turn], timeout=0.1)  # five times as long as any other answer may take

        editor.answer(asked, editor.documents.apply(asked.params))

        await bounded(turn)
        assert editor.documents.text(uri) == NEW


async def test_a_client_that_shows_hunks_itself_gets_no_annotations(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    both = {**PREVIEWING, "experimental": {"pygent": {"reviewRequest": True}}}
    async with connected(folder, calling(THREE), capabilities=both) as editor:
        await editor.turn()

        assert "changeAnnotations" not in editor.requests(APPLY)[0].params["edit"]
        assert len(editor.requests("pygent/review/request")) == 1


async def test_an_editor_that_cannot_preview_says_so_once_and_edits_go_on(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE)) as editor:
        uri = editor.documents.open(folder / "a.txt")

        await editor.turn()

        warnings = [each["message"] for each in editor.notifications("window/showMessage")]
        assert [each for each in warnings if "edits.review" in each] == warnings[:1]
        assert len(warnings) == 1
        assert editor.documents.text(uri) == NEW


async def test_what_takes_changes_back_is_not_previewed(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=PREVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")
        _, result = await outcome(editor)
        points = await editor.request("pygent/checkpoint/list", {"sessionId": result["sessionId"]})
        params = {"checkpointId": points["checkpoints"][0]["checkpointId"], "files": True, "conversation": False}

        await editor.request("pygent/checkpoint/restore", params)

        assert "changeAnnotations" not in editor.requests(APPLY)[1].params["edit"]
        assert editor.documents.text(uri) == OLD


LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "x\n"]), max_size=10).map("".join)


@given(old=LINES, new=LINES, numbers=st.sets(st.integers(1, 10)))
def test_what_was_left_out_is_found_in_the_text_alone(old: str, new: str, numbers: set[int]) -> None:
    before = Document(path=FOLDER / "a", text=old, digest=digest_of(old), stamp="1")
    hunks = hunks_of(EditPlan(label="", operations=(WriteText(path=FOLDER / "a", before=before, text=new),), result=""))
    text = text_without(new, [hunk for hunk in hunks if int(hunk.id) in numbers])

    found = rejected_in(new, hunks, text)

    assert found is not None
    assert text_without(new, found) == text
    assert rejected_in(new, hunks, text + "typed") is None
