"""Hunks that wait for review: what the user types moves them, changes them, or stays outside of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
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
    file = PendingFile(PATH, old, new, "s")
    check(file)
    for start, end, text in changes:
        type_over(file, start, end, text)
        check(file)


@given(TEXTS, TEXTS, CHANGES, st.data())
def test_accepted_and_rejected_hunks_are_gone_and_the_others_stay(
    old: str, new: str, changes: list[tuple[int, int, str]], data: st.DataObject
) -> None:
    file = PendingFile(PATH, old, new, "s")
    for start, end, text in changes:
        type_over(file, start, end, text)
    while file.hunks:
        chosen = data.draw(st.lists(st.sampled_from(file.hunks), min_size=1, unique=True))
        chosen.sort(key=lambda each: each.old_start)
        others = [(each.id, each.old_text, each.new_text) for each in file.hunks if each not in chosen]
        baseline, current = file.baseline, file.current
        if data.draw(st.booleans()):
            file.accept(chosen)
            assert file.current == current
        else:
            text = file.without(chosen)
            file.reject(chosen)
            assert (file.baseline, file.current) == (baseline, text)
        check(file)
        assert [(each.id, each.old_text, each.new_text) for each in file.hunks] == others
    assert file.is_settled


@given(TEXTS, TEXTS, TEXTS, st.integers(0, 40))
def test_one_change_that_spans_hunks_is_taken_as_its_parts(old: str, new: str, typed: str, start: int) -> None:
    """Typing whole lines at both ends of a text, told as one change, stays outside of hunks."""
    file = PendingFile(PATH, f"--\n==\n{old}\n==\n--\n", f"--\n==\n{new}\n==\n--\n", "s")
    baseline, current, hunks = file.baseline, file.current, file.hunks
    assert baseline is not None
    assert current is not None
    head, tail = f"1{typed}\n".replace("\r", ""), f"2{typed}\n".replace("\r", "")
    start = min(start, 3)

    file.changed(
        start,
        len(current),
        f"{current[start:3]}{head}{current[3:-3]}{tail}--\n",
        f"--\n{head}{current[3:-3]}{tail}--\n",
    )

    check(file)
    assert file.baseline == f"--\n{head}{baseline[3:-3]}{tail}--\n"
    assert [each.id for each in file.hunks] == [each.id for each in hunks]


@given(TEXTS, TEXTS, st.text("ab\n", max_size=5))
def test_what_is_typed_far_from_a_hunk_is_no_hunk(old: str, new: str, typed: str) -> None:
    file = PendingFile(PATH, f"begin\n\n{old}", f"begin\n\n{new}", "s")
    n_hunks = len(file.hunks)

    type_over(file, 0, 2, typed)

    assert len(file.hunks) == n_hunks
    assert file.baseline is not None
    assert file.baseline.startswith(f"{typed}gin\n")
    check(file)


@given(TEXTS, TEXTS)
def test_text_from_another_program_is_taken_as_typed(old: str, new: str) -> None:
    file = PendingFile(PATH, old, old, "s")
    file.catch_up(new)
    assert file.hunks == ()
    assert file.baseline == new


@given(TEXTS, TEXTS, TEXTS)
def test_a_second_change_of_the_agent_is_reviewed_with_the_first(old: str, first: str, second: str) -> None:
    file = PendingFile(PATH, old, first, "s")
    file.made(first, second, "s")
    check(file)
    assert (file.baseline, file.current) == (old, second)


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n"]), min_size=1, max_size=6).map("".join)


@given(LINES, LINES)
def test_a_change_that_the_editor_has_loaded_before_it_is_told_is_reviewed(changed: str, more: str) -> None:
    old = f"{changed}--\n--\n--\n{more}"
    file = PendingFile(PATH, old, f"first\n--\n--\n--\n{more}", "s")
    before = file.current
    assert before is not None
    after = f"{before}last\n"
    file.catch_up(after)  # as if the user had typed it

    file.made(before, after, "s", may_contain=True)

    check(file)
    assert (file.baseline, file.current) == (old, after)


def test_ids_stay_while_hunks_move() -> None:
    file = PendingFile(PATH, "a\nb\nc\nd\n", "a\nB\nc\nD\n", "s")
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
    file = PendingFile(PATH, baseline, current, "s")
    [hunk] = file.hunks

    assert (hunk.old_text, hunk.new_text) == (baseline or "", current or "")
    assert file.without([hunk]) == baseline
    file.accept([hunk])
    assert file.is_settled
    assert file.hunks == ()


def test_undoing_a_change_by_hand_settles_it() -> None:
    file = PendingFile(PATH, "a\nb\nc\n", "a\nB\nc\n", "s")
    type_over(file, 2, 3, "b")

    assert file.is_settled
    assert file.hunks == ()
    assert differing_stretches(file.baseline or "", file.current or "") == []


def test_a_rejection_among_equal_lines_takes_back_what_was_shown() -> None:
    """An editor may tell of the rejection as another change with the same result."""
    file = PendingFile(PATH, "x\n}\n\nEND\n", "\nEND\n", "s")
    file.made("\nEND\n", "\nx\nEND\n", "s")
    baseline = file.baseline
    while file.hunks:
        file.reject(file.hunks[:1])
        assert file.baseline == baseline
        check(file)
    assert file.current == baseline


@pytest.mark.parametrize(
    ("baseline", "current", "edit", "kept"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", (3, 3, "\nmine"), "a\nb\nmine\nc\n"),
        ("a\nb\nc\n", "a\nB\nc\n", (2, 2, "mine\n"), "a\nmine\nb\nc\n"),
        ("a\nb\nc\n", "a\nc\n", (2, 2, "mine\n"), "a\nmine\nb\nc\n"),
        ("a\nb\nc\n", "a\nc\n", (1, 1, "\nmine"), "a\nmine\nb\nc\n"),
        ("a\nb\n", "a\nB\n", (4, 4, "mine"), "a\nb\nmine"),
    ],
)
def test_lines_typed_next_to_a_hunk_are_the_users(
    baseline: str, current: str, edit: tuple[int, int, str], kept: str
) -> None:
    file = PendingFile(PATH, baseline, current, "s")
    type_over(file, *edit)

    assert len(file.hunks) == 1
    assert file.without(file.hunks) == kept


def test_line_breaks_of_the_editor_are_no_change() -> None:
    file = PendingFile(PATH, "a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n", "s")
    file.catch_up("a\nB\nc\nmine\n")

    [hunk] = file.hunks
    assert (hunk.old_text, hunk.new_text) == ("b\n", "B\n")
    assert file.without([hunk]) == "a\nb\nc\nmine\n"


def test_a_change_of_a_file_that_was_changed_in_between_is_reviewed() -> None:
    file = PendingFile(PATH, "1\n2\n3\n", "ONE\n2\n3\n", "s")

    file.made("1\n2\n3\n", "1\n2\nTHREE\n", "other")

    [hunk] = file.hunks
    assert (hunk.old_text, hunk.new_text, hunk.author) == ("3\n", "THREE\n", "other")


def test_hunks_have_the_authors_of_their_lines() -> None:
    file = PendingFile(PATH, "1\n2\n3\n", "ONE\n2\n3\n", "first")
    file.made("ONE\n2\n3\n", "ONE\n2\nTHREE\n", "second")

    assert [each.author for each in file.hunks] == ["first", "second"]


def test_a_file_that_the_user_has_made_anew_is_theirs() -> None:
    file = PendingFile(PATH, "old\n", None, "s")
    file.catch_up("mine\n")

    assert file.is_settled
    assert file.current == "mine\n"


WORDS = st.lists(st.sampled_from(["red", "blue", "one two", "x = 1"]), max_size=3)


@st.composite
def files_with_hunks(draw: st.DrawFn) -> tuple[PendingFile, list[str], list[tuple[str, str]]]:
    """A file, the lines above and below each hunk, and the old and new lines of the hunks."""
    n_hunks = draw(st.integers(1, 4))
    kept = [
        "".join(f"kept {at}.{number} {word}\n" for number, word in enumerate(["first", *draw(WORDS)]))
        for at in range(n_hunks + 1)
    ]
    hunks = [
        (
            "".join(f"old {at} {word}\n" for word in draw(WORDS)),
            "".join(f"agent {at} {word} 'q'\n" for word in draw(WORDS)),
        )
        for at in range(n_hunks)
    ]
    assume(all(old != new for old, new in hunks))
    return (
        PendingFile(PATH, joined(kept, [old for old, _ in hunks]), joined(kept, [new for _, new in hunks]), "s"),
        kept,
        hunks,
    )


def joined(kept: list[str], between: list[str]) -> str:
    return "".join(f"{stays}{lines}" for stays, lines in zip(kept, [*between, ""], strict=True))


OTHERS = st.lists(st.sampled_from(["other", "", "}", "more words"]), min_size=1, max_size=4)


@given(files_with_hunks(), st.lists(OTHERS, min_size=5, max_size=5), st.booleans())
def test_what_another_program_rewrites_around_hunks_is_no_hunk(
    made: tuple[PendingFile, list[str], list[tuple[str, str]]], others: list[list[str]], is_loaded: bool
) -> None:
    file, kept, hunks = made
    assume(all(new for _, new in hunks))
    ids = [each.id for each in file.hunks]
    written = ["".join(f"{at} {line}\n" for line in others[at]) for at in range(len(kept))]
    text = joined(written, [new for _, new in hunks])

    if is_loaded:
        assert file.current is not None
        file.changed(0, len(file.current), text, text)
    else:
        file.catch_up(text)

    check(file)
    assert [(each.id, each.old_text, each.new_text) for each in file.hunks] == [
        (known, *hunk) for known, hunk in zip(ids, hunks, strict=True)
    ]
    assert file.baseline == joined(written, [old for old, _ in hunks])


def formatted(text: str) -> str:
    return text.replace("'", '"').replace(" ", "  ").replace("=", "==")


@given(files_with_hunks())
def test_hunks_of_a_file_that_is_formatted_are_as_small_as_before(
    made: tuple[PendingFile, list[str], list[tuple[str, str]]],
) -> None:
    file, kept, hunks = made
    text = formatted(file.current or "")

    file.catch_up(text)

    check(file)
    assert [(each.old_text, each.new_text) for each in file.hunks] == [(old, formatted(new)) for old, new in hunks]
    assert file.baseline == joined([formatted(each) for each in kept], [old for old, _ in hunks])


@given(files_with_hunks(), OTHERS, st.data())
def test_hunks_whose_lines_another_program_has_removed_wait_no_more(
    made: tuple[PendingFile, list[str], list[tuple[str, str]]], other: list[str], data: st.DataObject
) -> None:
    file, kept, hunks = made
    others = "".join(f"{line}\n" for line in other)
    gone = data.draw(st.sets(st.sampled_from(range(len(hunks))), min_size=1))
    text = joined(
        [f"{others}{stays}" if at - 1 in gone else stays for at, stays in enumerate(kept)],
        ["" if at in gone else new for at, (_, new) in enumerate(hunks)],
    )
    assume(all(new for _, new in hunks))

    file.catch_up(text)

    check(file)
    assert [each.new_text for each in file.hunks] == [new for at, (_, new) in enumerate(hunks) if at not in gone]
    assert file.current == text


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3))
def test_the_hunks_are_the_difference_whatever_another_program_writes(old: str, new: str, texts: list[str]) -> None:
    file = PendingFile(PATH, old, new, "s")
    for text in texts:
        file.catch_up(text)
        check(file)
        assert file.current == text


def test_a_text_without_anything_of_the_agent_is_no_hunk() -> None:
    file = PendingFile(PATH, "a\nb\nc\nd\n", "a\nB\nc\nD\nE\n", "s")
    file.catch_up("something else\nentirely\n")

    assert file.is_settled
    assert file.baseline == "something else\nentirely\n"


@pytest.mark.parametrize(
    ("edit", "hunks", "kept"),
    [
        ((0, 2, ""), [("b\n", "B\n")], "b\nc\nd\n"),  # the line above
        ((4, 6, ""), [("b\n", "B\n")], "a\nb\nd\n"),  # the line below
        ((0, 6, "mine\n"), [], "mine\nd\n"),  # the hunk and the lines around it
        ((4, 4, "x"), [("b\n", "B\n")], "a\nb\nxc\nd\n"),  # at the start of the line below
        ((1, 2, ""), [("a\nb\n", "aB\n")], "a\nb\nc\nd\n"),  # the break before it
    ],
)
def test_lines_around_a_hunk_that_the_user_changes_are_theirs(
    edit: tuple[int, int, str], hunks: list[tuple[str, str]], kept: str
) -> None:
    file = PendingFile(PATH, "a\nb\nc\nd\n", "a\nB\nc\nd\n", "s")
    type_over(file, *edit)

    check(file)
    assert [(each.old_text, each.new_text) for each in file.hunks] == hunks
    assert file.without(file.hunks) == kept


def test_typing_at_the_start_of_the_line_after_a_deletion_is_no_change_of_it() -> None:
    file = PendingFile(PATH, "a\nb\nc\n", "a\nc\n", "s")
    type_over(file, 2, 2, "x")

    assert [(each.old_text, each.new_text) for each in file.hunks] == [("b\n", "")]
    assert file.baseline == "a\nb\nxc\n"


def test_mixed_line_breaks_that_an_editor_makes_equal_are_no_change() -> None:
    file = PendingFile(PATH, "a\r\nb\nc\r\n", "a\r\nB\nc\r\n", "s")
    file.catch_up("a\r\nB\r\nc\r\n")

    assert [(each.old_text, each.new_text) for each in file.hunks] == [("b\r\n", "B\r\n")]


def test_a_hunk_whose_lines_a_formatter_breaks_is_still_the_agents() -> None:
    file = PendingFile(PATH, "a = 'x'\nb = 'y'\n}\n", "a = 'x'\ncall(one, 'two', three)\nb = 'y'\n}\n", "s")
    file.catch_up('a = "x"\ncall(\n    one,\n    "two",\n    three,\n)\nb = "y"\n}\n')

    [hunk] = file.hunks
    assert (hunk.old_text, hunk.new_text) == ("", 'call(\n    one,\n    "two",\n    three,\n)\n')
    assert file.baseline == 'a = "x"\nb = "y"\n}\n'
