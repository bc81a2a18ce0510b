"""Hunks that wait for review: what the user types moves them, changes them, or stays outside of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.edits.differences import differing_stretches
from pygent_ls.agent.edits.pending_file import PendingFile

PATH = Path("/a.py")

TEXTS = st.text(alphabet="ab\n\r", max_size=40)


def check(file: PendingFile) -> None:
    """The hunks are the difference, between whole lines, and what is between them is equal."""
    old, new = file.baseline or "", file.current or ""
    place_old = place_new = 0
    for hunk in file.hunks:
        assert old[place_old : hunk.old_start] == new[place_new : hunk.new_start]
        assert old[hunk.old_start : hunk.old_end] == hunk.old_text
        assert new[hunk.new_start : hunk.new_end] == hunk.new_text
        assert hunk.old_text != hunk.new_text or file.baseline is None or file.current is None
        for text, offset in ((old, hunk.old_start), (old, hunk.old_end), (new, hunk.new_start), (new, hunk.new_end)):
            assert offset in (0, len(text)) or text[offset - 1] in "\n\r"
        place_old, place_new = hunk.old_end, hunk.new_end
    assert old[place_old:] == new[place_new:]


def type_over(file: PendingFile, start: int, end: int, new: str) -> None:
    assert file.current is not None
    start, end = sorted((min(start, len(file.current)), min(end, len(file.current))))
    file.changed(start, end, new, f"{file.current[:start]}{new}{file.current[end:]}")


CHANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.text("ab\n\r", max_size=6)), max_size=6)


@given(TEXTS, TEXTS, CHANGES)
def test_the_hunks_are_the_difference_whatever_the_user_types(
    old: str, new: str, changes: list[tuple[int, int, str]]
) -> None:
    file = PendingFile(PATH, old, new)
    check(file)
    for start, end, text in changes:
        type_over(file, start, end, text)
        check(file)


@given(TEXTS, TEXTS, CHANGES, st.data())
def test_accepted_and_rejected_hunks_are_gone_and_the_others_stay(
    old: str, new: str, changes: list[tuple[int, int, str]], data: st.DataObject
) -> None:
    file = PendingFile(PATH, old, new)
    for start, end, text in changes:
        type_over(file, start, end, text)
    hunks = list(file.hunks)
    rejected = [hunk for hunk in hunks if data.draw(st.booleans())]
    accepted = [hunk for hunk in hunks if hunk not in rejected and data.draw(st.booleans())]
    open_hunks = [hunk.id for hunk in hunks if hunk not in rejected and hunk not in accepted]
    baseline = file.baseline

    text = file.without(rejected) if rejected else file.current
    assert text is not None
    if len(rejected) == len(hunks):
        assert text == (baseline if hunks else file.current)
    assert file.current is not None
    after = PendingFile(PATH, baseline, file.current)
    after.hunks = file.hunks
    after.accept(accepted) if accepted else None
    check(after)
    assert [hunk.id for hunk in after.hunks if hunk not in rejected and hunk.id in open_hunks] == open_hunks


@given(TEXTS, TEXTS, st.text("ab\n", max_size=5))
def test_what_is_typed_far_from_a_hunk_is_no_hunk(old: str, new: str, typed: str) -> None:
    file = PendingFile(PATH, f"begin\n\n{old}", f"begin\n\n{new}")
    n_hunks = len(file.hunks)

    type_over(file, 0, 2, typed)

    assert len(file.hunks) == n_hunks
    assert file.baseline is not None
    assert file.baseline.startswith(f"{typed}gin\n")
    check(file)


@given(TEXTS, TEXTS)
def test_text_from_another_program_is_taken_as_typed(old: str, new: str) -> None:
    file = PendingFile(PATH, old, old)
    file.catch_up(new)
    assert file.hunks == ()
    assert file.baseline == new


@given(TEXTS, TEXTS, TEXTS)
def test_a_second_change_of_the_agent_is_reviewed_with_the_first(old: str, first: str, second: str) -> None:
    file = PendingFile(PATH, old, first)
    file.made(first, second)
    check(file)
    assert (file.baseline, file.current) == (old, second)


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n"]), min_size=1, max_size=6).map("".join)


@given(LINES, LINES)
def test_a_change_that_the_editor_has_loaded_before_it_is_told_is_reviewed(changed: str, more: str) -> None:
    old = f"{changed}--\n--\n--\n{more}"
    file = PendingFile(PATH, old, f"first\n--\n--\n--\n{more}")
    before = file.current
    assert before is not None
    after = f"{before}last\n"
    file.catch_up(after)  # as if the user had typed it

    file.made(before, after)

    check(file)
    assert (file.baseline, file.current) == (old, after)


def test_ids_stay_while_hunks_move() -> None:
    file = PendingFile(PATH, "a\nb\nc\nd\n", "a\nB\nc\nD\n")
    first, second = file.hunks
    type_over(file, 0, 0, "new\n")

    assert [hunk.id for hunk in file.hunks] == [first.id, second.id]
    assert [hunk.new_start for hunk in file.hunks] == [first.new_start + 4, second.new_start + 4]

    type_over(file, file.hunks[1].new_start, file.hunks[1].new_start, "x")

    assert file.hunks[0].id == first.id
    assert file.hunks[1].id != second.id
    assert (file.hunks[1].old_text, file.hunks[1].new_text) == ("d\n", "xD\n")


@pytest.mark.parametrize(("baseline", "current"), [(None, "a\nb\n"), ("a\nb\n", None), (None, "")])
def test_a_file_that_was_made_or_deleted_is_one_hunk(baseline: str | None, current: str | None) -> None:
    file = PendingFile(PATH, baseline, current)
    [hunk] = file.hunks

    assert (hunk.old_text, hunk.new_text) == (baseline or "", current or "")
    assert file.without([hunk]) == baseline
    file.accept([hunk])
    assert file.is_settled
    assert file.hunks == ()


def test_undoing_a_change_by_hand_settles_it() -> None:
    file = PendingFile(PATH, "a\nb\nc\n", "a\nB\nc\n")
    type_over(file, 2, 3, "b")

    assert file.is_settled
    assert file.hunks == ()
    assert differing_stretches(file.baseline or "", file.current or "") == []
