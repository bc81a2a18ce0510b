"""Edits that the user reviews: rejected hunks go, what is typed meanwhile stays, and the model reads exactly which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.editors.lsp.rpc.client_requests import Patience
from tests.editors.lsp.editor import CAPABILITIES, NO_ANSWER, Editor, Setup, WireError, connected
from tests.fakes import Call, bounded, say

APPLY, REVIEW = "workspace/applyEdit", "pygent/review/request"

REVIEWING: Mapping[str, Any] = {**CAPABILITIES, "experimental": {"pygent": {"reviewRequest": True}}}

OLD = "one\nkeep\n\U0001f600 two\nkeep too\nthree\n"
NEW = "ONE\nkeep\n\U0001f600 TWO\nkeep too\nTHREE\n"


def edits(**words: str) -> Call:
    """Several words of a.txt become others, in one call."""
    return Call(
        name="multi_edit",
        arguments={"path": "a.txt", "edits": [{"old": old, "new": new} for old, new in words.items()]},
    )


THREE = edits(one="ONE", two="TWO", three="THREE")


def calling(*calls: Call) -> Setup:
    return Setup(script=[*(say("", call) for call in calls), say("done")], mode="trust", checkpoints=True)


def deciding(*rejected: str, **more: object) -> Callable[[Mapping[str, Any]], object]:
    """A user who rejects these hunks and accepts the others."""

    def decide(params: Mapping[str, Any]) -> object:
        hunks = [hunk["hunkId"] for file in params["files"] for hunk in file["hunks"]]
        assert set(rejected) <= set(hunks)
        return {"hunks": [{"hunkId": each, "accepted": each not in rejected} for each in hunks], **more}

    return decide


async def outcome(editor: Editor, decide: Callable[[Mapping[str, Any]], object]) -> tuple[dict[str, Any], Any]:
    """The tool's result as an event, and the turn's."""
    editor.handlers[REVIEW] = decide
    result = await editor.turn()
    return [event for event in editor.events() if event["type"] == "tool_result"][-1], result


async def test_each_hunk_is_shown_with_its_place_in_the_new_text(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        told, result = await outcome(editor, deciding())

        (asked,) = editor.requests(REVIEW)
        assert asked.params["sessionId"] == result["sessionId"]
        assert asked.params["turnId"] == result["turnId"]
        assert asked.params["toolId"] == told["toolId"]
        assert asked.params["files"] == [
            {
                "uri": uri,
                "kind": "edit",
                "hunks": [
                    hunk("1", 0, "one\n", "ONE\n"),
                    hunk("2", 2, "\U0001f600 two\n", "\U0001f600 TWO\n"),
                    hunk("3", 4, "three\n", "THREE\n"),
                ],
            }
        ]
        assert not told["isError"]
        assert "reviewed" not in told["content"]
        assert editor.documents.text(uri) == NEW
        assert len(editor.requests(APPLY)) == 1


def hunk(hunk_id: str, line: int, old: str, new: str) -> dict[str, Any]:
    where = {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}
    return {"hunkId": hunk_id, "range": where, "oldText": old, "newText": new}


async def test_rejected_hunks_go_in_one_step_and_everybody_is_told_what_stands(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    again = Call(name="edit_file", arguments={"path": "a.txt", "old": "keep too", "new": "kept"})
    async with connected(folder, calling(THREE, again), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")
        editor.handlers[REVIEW] = lambda params: deciding(*("2",) * (len(params["files"][0]["hunks"]) > 1))(params)
        result = await editor.turn()

        first, second = [event for event in editor.events() if event["type"] == "tool_result"]
        assert first["content"] == (
            "Edit a.txt: the user reviewed this edit and rejected 1 hunk of it; the rest was kept. Rejected:\n- "
            "a.txt, line 3: its old text was restored\n```\n-😀 two\n+😀 TWO\n```\nDo not make these changes again "
            "another way. Continue without them, or ask what to do instead."
        )
        assert not first["isError"]
        (change,) = first["changes"]
        assert (change["added"], change["removed"]) == (2, 2)
        assert "TWO" not in change["patch"]
        assert not second["isError"], second["content"]  # the model knows the text as it stands
        assert editor.documents.text(uri) == NEW.replace("TWO", "two").replace("keep too", "kept")
        assert result["filesChanged"] == [{"uri": uri, "kind": "edit", "added": 3, "removed": 3}]
        sent = [asked.params["edit"]["documentChanges"] for asked in editor.requests(APPLY)]
        assert [len(changes) for changes in sent] == [1, 1, 1]
        (taken_back,) = sent[1][0]["edits"]
        assert taken_back["newText"] == "two"
        assert sent[1][0]["textDocument"] == {"uri": uri, "version": 2}


async def test_where_all_is_rejected_nothing_is_left_and_the_model_reads_it_as_an_error(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        told, result = await outcome(editor, deciding("1", "2", "3", feedback=" Not like this. "))

        assert told["isError"]
        assert told["content"].startswith("Edit a.txt: the user reviewed this edit and rejected all of it")
        assert "The user said: Not like this.\n" in told["content"]
        assert "changes" not in told
        assert result["filesChanged"] == []
        assert editor.documents.text(uri) == OLD


FILES = "".join(
    [
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n",
        "--- /dev/null\n+++ b/new.sh\n@@ -0,0 +1 @@\n+fresh\n",
        "--- a/gone.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n",
        "diff --git a/old.txt b/moved.txt\nrename from old.txt\nrename to moved.txt\n",
    ]
)


@pytest.mark.parametrize("is_open", [True, False])
async def test_a_new_file_that_is_rejected_goes_and_a_deleted_one_comes_back(folder: Path, *, is_open: bool) -> None:
    for name, text in (("a.txt", "one\n"), ("gone.sh", "bye\n"), ("old.txt", "old\n")):
        (folder / name).write_text(text)
    (folder / "gone.sh").chmod(0o755)
    patch = Call(name="apply_patch", arguments={"patch": FILES})
    async with connected(folder, calling(patch), capabilities=REVIEWING) as editor:
        if is_open:
            editor.documents.open(folder / "a.txt")
            editor.documents.open(folder / "gone.sh")

        told, result = await outcome(editor, deciding("2", "3"))

        kinds = [(file["kind"], file["uri"].rpartition("/")[2]) for file in editor.requests(REVIEW)[0].params["files"]]
        assert kinds == [("edit", "a.txt"), ("create", "new.sh"), ("delete", "gone.sh")]  # moves cannot be reviewed
        assert "- new.sh: the new file: it was deleted again\n" in told["content"]
        assert "- gone.sh: the deletion: the file was restored\n" in told["content"]
        assert names_in(folder) == ["a.txt", "gone.sh", "moved.txt"]
        assert (folder / "gone.sh").read_text() == "bye\n"
        changed = {change["uri"].rpartition("/")[2]: change["kind"] for change in result["filesChanged"]}
        assert changed == {"a.txt": "edit", "moved.txt": "move"}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_deleted_file_comes_back_with_its_permissions_where_the_daemon_writes_it(folder: Path) -> None:
    (folder / "gone.sh").write_text("bye\n")
    (folder / "gone.sh").chmod(0o755)
    delete = Call(name="delete_file", arguments={"path": "gone.sh"})
    only_edits = {"workspace": {"applyEdit": True}, "experimental": REVIEWING["experimental"]}
    async with connected(folder, calling(delete), capabilities=only_edits) as editor:
        told, _ = await outcome(editor, deciding("1"))

        assert told["isError"]
        assert (folder / "gone.sh").stat().st_mode & 0o777 == 0o755


# Invalid answers


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"hunks": None},
        {"hunks": []},
        {"hunks": [{"hunkId": "1", "accepted": "no"}, {"accepted": False}, 7]},
        {"hunks": [{"hunkId": "99", "accepted": False}]},
    ],
    ids=str,
)
async def test_what_is_not_answered_stands_and_the_model_is_told(folder: Path, answer: object) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        told, _ = await outcome(editor, lambda _: answer)

        assert not told["isError"]
        assert "[This edit was allowed but not reviewed by the user. " in told["content"]
        assert editor.documents.text(uri) == NEW


async def test_hunks_that_are_missing_in_the_answer_stand(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    answer = {"hunks": [{"hunkId": "3", "accepted": False}, {"hunkId": "3", "accepted": True}]}
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        told, _ = await outcome(editor, lambda _: answer)

        assert "2 of its 3 hunks were allowed but not reviewed" in told["content"]
        assert editor.documents.text(uri) == NEW.replace("THREE", "three")


async def test_an_editor_that_answers_with_an_error_leaves_the_edit_as_it_is(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        await editor.turn()

        assert "not reviewed by the user" in editor.tool_results[0]
        assert editor.documents.text(uri) == NEW


async def test_without_the_capability_nobody_is_asked(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE)) as editor:
        await editor.turn()

        assert editor.requests(REVIEW) == []


async def test_a_cancel_withdraws_the_review_and_the_edit_stands(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")
        editor.handlers[REVIEW] = lambda _: NO_ANSWER
        turn = editor.begin_turn()
        asked = await editor.asks(REVIEW)

        editor.cancel(editor.last_id)

        with pytest.raises(WireError) as raised:
            await bounded(turn)
        assert editor.notifications("pygent/review/cancelled") == [{"reviewId": asked.params["reviewId"]}]
        assert {"id": asked.id} in editor.notifications("$/cancelRequest")
        assert "stopped before the user had reviewed this edit, so the whole edit was kept" in editor.tool_results[0]
        assert [change["uri"] for change in raised.value.data["filesChanged"]] == [uri]
        assert editor.documents.text(uri) == NEW


# Typing meanwhile


async def typing(
    folder: Path, rejected: Sequence[str], type_: Callable[[Editor, str], None]
) -> tuple[str, dict[str, Any]]:
    """The text after a review during which the user types, and the tool's result."""
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        editor.server.endpoint.patience = Patience(answer_s=1.0, proof_s=0.1)
        uri = editor.documents.open(folder / "a.txt")

        def decide(params: Mapping[str, Any]) -> object:
            type_(editor, uri)
            return deciding(*rejected)(params)

        told, _ = await outcome(editor, decide)
        return editor.documents.text(uri), told


async def test_what_is_typed_around_a_rejected_hunk_stays(folder: Path) -> None:
    def type_(editor: Editor, uri: str) -> None:
        editor.documents.insert(uri, "ONE", "above\n")
        editor.documents.insert(uri, "keep too", "typed ")
        editor.documents.insert(uri, "THREE", "\U0001f600 TWO\n")  # as the line that is rejected

    text, told = await typing(folder, ["2"], type_)

    assert text == "above\nONE\nkeep\n\U0001f600 two\ntyped keep too\n\U0001f600 TWO\nTHREE\n"
    assert "its old text was restored" in told["content"]


async def test_a_rejected_hunk_whose_line_the_user_changed_stays_as_they_have_it(folder: Path) -> None:
    text, told = await typing(folder, ["2", "3"], lambda editor, uri: editor.documents.insert(uri, "TWO", "mine "))

    assert text == "ONE\nkeep\n\U0001f600 mine TWO\nkeep too\nthree\n"
    assert "line 3: the user rejected it but had already changed these lines" in told["content"]
    assert "line 5: its old text was restored" in told["content"]


async def test_an_edit_of_the_text_as_it_stands_needs_a_new_look_where_the_user_typed(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    again = Call(name="edit_file", arguments={"path": "a.txt", "old": "keep too", "new": "kept"})
    async with connected(folder, calling(THREE, again), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        def decide(params: Mapping[str, Any]) -> object:
            editor.documents.insert(uri, "keep too", "typed ")
            return deciding("1")(params)

        told, result = await outcome(editor, decide)

        assert told["isError"]
        assert "typed keep too" in told["content"]
        undone = await editor.request(
            "pygent/checkpoint/restore",
            {"checkpointId": await first_checkpoint(editor, result), "files": True, "conversation": False},
        )
        assert undone["restored"] == []
        assert undone["skipped"][0]["reason"] == "it was changed after the agent's last write"
        assert "typed keep too" in editor.documents.text(uri)


async def first_checkpoint(editor: Editor, result: Mapping[str, Any]) -> str:
    points = await editor.request("pygent/checkpoint/list", {"sessionId": result["sessionId"]})
    return points["checkpoints"][0]["checkpointId"]


@pytest.mark.parametrize("rejected", [(), ("2",), ("1", "2", "3")], ids=str)
async def test_a_turn_whose_edit_was_reviewed_can_be_taken_back(folder: Path, rejected: tuple[str, ...]) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")
        _, result = await outcome(editor, deciding(*rejected))

        undone = await editor.request(
            "pygent/checkpoint/restore",
            {"checkpointId": await first_checkpoint(editor, result), "files": True, "conversation": True},
        )

        assert undone["skipped"] == []
        assert undone["restored"] == ([uri] if len(rejected) < 3 else [])
        assert editor.documents.text(uri) == OLD


async def test_typing_that_crosses_the_taking_back_is_kept_and_it_is_made_again(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        def apply(params: Mapping[str, Any]) -> object:
            if len(editor.requests(APPLY)) == 2:  # the first one that takes back is on its way
                editor.documents.insert(uri, "keep\n", "typed ")
            return editor.documents.apply(params)

        editor.handlers[APPLY] = apply
        await outcome(editor, deciding("1"))

        assert len(editor.requests(APPLY)) == 3
        assert editor.documents.text(uri) == NEW.replace("ONE\nkeep", "one\ntyped keep")


async def test_a_new_file_that_the_user_typed_into_is_not_deleted(folder: Path) -> None:
    create = Call(name="create_file", arguments={"path": "new.txt", "content": "fresh\n"})
    async with connected(folder, calling(create), capabilities=REVIEWING) as editor:

        def decide(params: Mapping[str, Any]) -> object:
            editor.documents.type_over(editor.documents.open(folder / "new.txt"), "fresh\nmine\n")
            return deciding("1")(params)

        told, result = await outcome(editor, decide)

        assert "had already typed in the file" in told["content"]
        assert (folder / "new.txt").exists()
        assert [change["kind"] for change in result["filesChanged"]] == ["create"]


async def test_where_the_editor_drops_the_taking_back_the_model_is_told_that_the_hunk_stands(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        editor.server.endpoint.patience = Patience(answer_s=0.1, proof_s=0.1)
        uri = editor.documents.open(folder / "a.txt")

        def decide(params: Mapping[str, Any]) -> object:
            editor.documents.drops_edits = True
            return deciding("1")(params)

        told, _ = await outcome(editor, decide)

        assert "it could not be undone: The editor did not apply the edit" in told["content"]
        assert len(editor.requests(APPLY)) == 2
        assert editor.documents.text(uri) == NEW
        assert (told["changes"][0]["added"], told["isError"]) == (3, False)
