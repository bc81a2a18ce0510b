"""Where the daemon writes in a document while its user types: neither takes anything from the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.chat_document.document import lead_out
from pygent_ls.editors.lsp.chat_document.offsets import OffsetEdit, end_of_edit, moved
from pygent_ls.editors.lsp.chat_document.region import Region

START = "# Notes\n\nsome\n\n## You\n\nWhy?\n"
short = st.text("ab \n", max_size=6)


def region_of(text: str = START) -> Region:
    return Region("Why?", text, stands_there=True)


def written(region: Region, answer: str) -> Region:
    edit = region.edit_to(region.wanted(answer))
    assert edit is not None
    region.made(edit.applied_to(region.text), edit.start + len(edit.text), region.wanted(answer))
    return region


def finished(region: Region, answer: str) -> str:
    wanted = region.wanted_at_last(answer)
    edit = region.edit_to(wanted)
    return edit.applied_to(region.text) if edit else region.text


def test_an_answer_grows_at_its_end_and_nothing_of_the_user_is_sent_back() -> None:
    region = region_of()
    edit = region.edit_to(region.wanted("It "))
    assert edit == OffsetEdit(len(START), len(START), "\n## pygent\n\nIt ")
    written(region, "It ")

    assert region.edit_to(region.wanted("It is")) == OffsetEdit(region.end, region.end, "is")
    assert finished(region, "It is.") == START + "\n## pygent\n\nIt is.\n\n## You\n\n"


def test_what_is_typed_above_moves_the_region_and_what_is_typed_below_stays_below() -> None:
    region = written(region_of(), "It ")
    region.follow(region.text.replace("some", "some more") + "a draft")

    assert finished(region, "It is.").endswith("\n## pygent\n\nIt is.\n\n## You\n\na draft")
    assert "some more" in finished(region, "It is.")


def test_an_answer_goes_on_where_its_heading_was_deleted_or_all_of_it() -> None:
    region = written(region_of(), "It ")
    region.follow(region.text.replace("## pygent\n\n", ""))
    assert finished(region, "It is.") == START + "\nIt is.\n\n## You\n\n"

    region = written(region_of(), "It ")
    region.follow(START)
    assert finished(region, "It is.") == START + "is.\n\n## You\n\n"


def test_withdrawn_words_are_taken_away_unless_the_user_changed_them() -> None:
    region = written(region_of(), "Half of the")
    edit = region.edit_to(region.wanted("All."))
    assert edit is not None
    assert edit.applied_to(region.text) == START + "\n## pygent\n\nAll."

    region.follow(region.text.replace("Half", "Half or so"))
    edit = region.edit_to(region.wanted("All."))
    assert edit is not None
    assert edit.applied_to(region.text) == START + "\n## pygent\n\nHalf or so of theAll."


def test_lines_end_as_they_do_in_the_document() -> None:
    text = START.replace("\n", "\r\n")
    region = written(region_of(text), "a\nb")

    assert region.text == text + "\r\n## pygent\r\n\r\na\r\nb"
    assert region.edit_to(region.wanted("a\nb")) is None


def test_a_document_that_lost_what_was_not_saved_is_given_it_again() -> None:
    region = written(written(region_of(), "It is"), "It is so")
    whole = region.text
    region.take_up(whole.removesuffix(" so"))  # the file is a moment older
    assert finished(region, "It is so.") == whole + ".\n\n## You\n\n"

    region = written(region_of(), "It is")
    region.take_up(START)  # the answer was never saved
    assert finished(region, "It is so.") == START + "\n## pygent\n\nIt is so.\n\n## You\n\n"

    region = written(region_of(), "It is")
    region.take_up("# Notes\n")  # nor was the question
    assert finished(region, "It is.") == "# Notes\n\n## You\n\nWhy?\n\n## pygent\n\nIt is.\n\n## You\n\n"


@given(
    above=short,
    typed=st.text("ab \n", min_size=1, max_size=6),
    below=short,
    chunk=st.text("xyz\n", min_size=1, max_size=6),
)
def test_an_edit_is_seen_among_the_users_own_changes_and_not_where_it_was_dropped(
    above: str, typed: str, below: str, chunk: str
) -> None:
    before = f"one\n{above}two\nthree {below}"
    edit = OffsetEdit(len(before) - len(below), len(before) - len(below), chunk)
    dropped = typed + before
    made = typed + edit.applied_to(before)

    assert end_of_edit(before, edit, edit.applied_to(before)) == edit.start + len(chunk)
    assert end_of_edit(before, edit, made) == len(made) - len(below)
    assert end_of_edit(before, edit, dropped) is None


def test_an_edit_is_seen_where_the_editor_ends_lines_in_another_way_or_the_text() -> None:
    assert end_of_edit("one\r\na", OffsetEdit(6, 6, "\nb\nc"), "one\r\na\r\nb\r\nc") == 12
    edit = OffsetEdit(5, 5, "\nb\nc")
    assert end_of_edit("one\na", edit, "one\na\nb\nc\n") == 9
    assert end_of_edit("one\na", edit, "one\na\nX") is None


def test_places_keep_to_their_side_of_what_is_put_in() -> None:
    assert moved("ab", "axb", 1) == 1
    assert moved("ab", "axb", 1, behind=True) == 2
    assert moved("abcdef", "abXf", 4) == 3
    assert moved("one\ntwo\nthree", "zero\none\ntwo\nthree!", 7) == 12
    assert lead_out("x", "\n") == "\n\n## You\n"
