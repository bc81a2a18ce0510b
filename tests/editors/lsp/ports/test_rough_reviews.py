"""Reviews that go another way than planned: odd answers, files that are closed or move, a daemon that dies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.editors.lsp.editor import NO_ANSWER, connected
from tests.editors.lsp.ports.test_reviewer import NEW, OLD, REVIEW, REVIEWING, THREE, calling, deciding, outcome
from tests.fakes import bounded


async def test_a_daemon_that_dies_during_a_review_knows_the_edit_for_its_own_when_it_is_back(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        editor.handlers[REVIEW] = lambda _: NO_ANSWER
        turn = editor.begin_turn()
        asked = await editor.asks(REVIEW)
        session = {"sessionId": asked.params["sessionId"]}

        async with connected(folder, calling()) as other:
            (point,) = (await other.request("pygent/checkpoint/list", session))["checkpoints"]
            params = {"checkpointId": point["checkpointId"], "files": True, "conversation": False}
            result = await other.request("pygent/checkpoint/restore", params)

        assert result["skipped"] == []
        assert (folder / "a.txt").read_text() == OLD
        editor.answer(asked, {"hunks": []})
        await bounded(turn)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ([("3", False), ("1", True), ("2", True)], NEW.replace("THREE", "three")),
        ([("1", True), ("2", True), ("2", False), ("3", True)], NEW.replace("TWO", "two")),
        ([("9", False), ("1", True), ("2", True), ("3", True)], NEW),
        ([("1", True), ("2", True), (3, False)], NEW),
    ],
    ids=["out of order", "said twice", "never asked", "a number"],
)
async def test_answers_count_by_the_ids_that_were_asked(
    folder: Path, answer: list[tuple[object, bool]], text: str
) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")
        hunks = [{"hunkId": id_, "accepted": accepted} for id_, accepted in answer]

        told, _ = await outcome(editor, lambda _: {"hunks": hunks})

        assert not told["isError"]
        assert editor.documents.text(uri) == text


@pytest.mark.parametrize("how", ["close", "undo"])
@pytest.mark.parametrize("rejected", [(), ("2",)], ids=["accepted", "rejected in part"])
async def test_an_edit_that_the_user_took_back_themselves_during_the_review_does_not_stand(
    folder: Path, how: Literal["close", "undo"], rejected: tuple[str, ...]
) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        def decide(params: Mapping[str, Any]) -> object:
            if how == "close":
                editor.documents.close(uri)
            else:
                editor.documents.type_over(uri, OLD)
            return deciding(*rejected)(params)

        told, result = await outcome(editor, decide)

        assert "Nothing was kept" in told["content"]
        assert result["filesChanged"] == []
        assert len(editor.requests("workspace/applyEdit")) == 1


async def test_a_rejected_hunk_goes_from_the_disk_where_the_file_was_saved_and_closed(folder: Path) -> None:
    (folder / "a.txt").write_text(OLD)
    async with connected(folder, calling(THREE), capabilities=REVIEWING) as editor:
        uri = editor.documents.open(folder / "a.txt")

        def decide(params: Mapping[str, Any]) -> object:
            editor.documents.save(uri)
            editor.documents.close(uri)
            return deciding("2")(params)

        told, result = await outcome(editor, decide)

        assert "- a.txt, line 3: its old text was restored" in told["content"]
        assert (folder / "a.txt").read_text() == NEW.replace("TWO", "two")
        assert [(each["added"], each["removed"]) for each in result["filesChanged"]] == [(2, 2)]
