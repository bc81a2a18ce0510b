"""The book-keeping of hunks: whatever is accepted, rejected and typed, in any order, nothing is lost or left over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

Lua = Callable[..., Any]

texts = st.lists(st.sampled_from(["a", "b", "c", "", "ä", "same"]), max_size=8).flatmap(
    lambda lines: st.sampled_from(["\n".join(lines) + "\n", "\n".join(lines)]) if lines else st.just("")
)


HUNKS = "local hunks = require('pygent.review.hunks'); local before, after, order, kept = ...; "

DECIDE = (
    HUNKS
    + """
local file = { baseline = before, current = after }
for _, each in ipairs(order) do
  local all = hunks.of(file)
  if #all == 0 then break end
  local one = { all[each % #all + 1] }
  file = (each % 2 == 0 and hunks.accepted or hunks.rejected)(file, one)
end
local left = hunks.of(file)
file = hunks.accepted(file, left)
return { #hunks.of(file), hunks.is_settled(file), file.baseline, file.current }
"""
)


@given(before=texts, after=texts)
def test_accepting_all_keeps_the_file_and_rejecting_all_brings_back_the_baseline(
    lua: Lua, before: str, after: str
) -> None:
    found = lua(
        HUNKS
        + "local file = { baseline = before, current = after }; local all = hunks.of(file); "
        + "return { hunks.accepted(file, all).baseline, hunks.rejected(file, all).current }",
        before,
        after,
    )

    assert found == [after, before]


@given(before=texts, after=texts, order=st.lists(st.integers(0, 50), max_size=12))
def test_deciding_in_any_order_leaves_nothing_open(lua: Lua, before: str, after: str, order: list[int]) -> None:
    n_left, is_settled, baseline, current = lua(DECIDE, before, after, order)

    assert (n_left, is_settled) == (0, True)
    assert baseline == current


@given(before=texts, after=texts, typed=texts)
def test_what_is_typed_is_never_lost_by_accepting(lua: Lua, before: str, after: str, typed: str) -> None:
    current = lua(
        HUNKS
        + "local file = hunks.followed({ baseline = before, current = after }, order); "
        + "return hunks.accepted(file, hunks.of(file)).current",
        before,
        after,
        typed,
    )

    assert current == typed


lines_of = {
    "before": st.lists(st.sampled_from(["x", "y", "z"]), max_size=4),
    "typed": st.lists(st.sampled_from(["u", "v"]), max_size=4),
    "old": st.lists(st.sampled_from(["a", "b"]), max_size=3),
    "new": st.lists(st.sampled_from(["c", "d"]), max_size=3),
}


@given(
    above=st.tuples(lines_of["before"], lines_of["typed"]),
    edit=st.tuples(lines_of["old"], lines_of["new"]),
    below=st.tuples(lines_of["before"], lines_of["typed"]),
)
def test_rejecting_keeps_what_is_typed_elsewhere(
    lua: Lua,
    above: tuple[list[str], list[str]],
    edit: tuple[list[str], list[str]],
    below: tuple[list[str], list[str]],
) -> None:
    def text(*, is_edited: bool, is_typed: bool) -> str:
        lines = [*above[is_typed], "top", *edit[is_edited], "bottom", *below[is_typed]]
        return "".join(f"{line}\n" for line in lines)

    rejected = lua(
        HUNKS
        + "local file = hunks.followed({ baseline = before, current = after }, order); "
        + "return hunks.rejected(file, hunks.of(file)).current",
        text(is_edited=False, is_typed=False),
        text(is_edited=True, is_typed=False),
        text(is_edited=True, is_typed=True),
    )

    assert rejected == text(is_edited=False, is_typed=True)


@given(before=texts, after=texts)
def test_undoing_the_edit_leaves_no_hunk(lua: Lua, before: str, after: str) -> None:
    assert lua(
        HUNKS + "return hunks.is_settled(hunks.followed({ baseline = before, current = after }, before))", before, after
    )


def test_a_file_that_was_made_is_one_hunk_and_goes_when_it_is_rejected(lua: Lua) -> None:
    found = lua(
        HUNKS
        + "local file = { current = before }; local all = hunks.of(file); "
        + "local rejected = hunks.rejected(file, all); return { #all, rejected.current == nil, "
        + "hunks.is_settled(rejected), hunks.accepted(file, all).baseline }",
        "a\nb\n",
    )

    assert found == [1, True, True, "a\nb\n"]


def test_a_file_that_was_deleted_comes_back_when_that_is_rejected(lua: Lua) -> None:
    found = lua(
        HUNKS
        + "local file = { baseline = before }; local all = hunks.of(file); "
        + "return { #all, hunks.rejected(file, all).current, hunks.is_settled(hunks.accepted(file, all)) }",
        "a\nb\n",
    )

    assert found == [1, "a\nb\n", True]


def test_an_empty_file_that_was_made_waits_too(lua: Lua) -> None:
    assert lua(HUNKS + "return #hunks.of({ current = '' })") == 1


@given(before=texts, after=texts)
def test_a_patch_says_what_was_there_before(lua: Lua, before: str, after: str) -> None:
    fits, found = lua(
        "local before, after = ...; local patch = '--- a/x\\n+++ b/x\\n' .. vim.diff(before, after, { ctxlen = 1 }); "
        "local fits, found = require('pygent.review.patches').text_before(after, patch); return { fits, found or '' }",
        before,
        after,
    )

    if before != after:
        assert (fits, found) == (True, before)


def test_a_patch_of_another_text_fits_not(lua: Lua) -> None:
    patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n"

    assert lua("return (require('pygent.review.patches').text_before(...))", "three\n", patch) is False
