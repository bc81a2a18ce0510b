"""Whatever was edited: the difference, as a patch, makes the new text of the old one."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pygent_ls.agent.edits.diffs import unified_diff
from pygent_ls.errors import ToolError
from pygent_ls.tools.files.hunks import apply_hunks
from pygent_ls.tools.files.unified_diff import parse_patch

LINES = st.sampled_from(["a", "b", "  b", "", "-- c", "++ d", "@@ e", "\\ f", "}", "diff --git a/x b/x", "\tg", "ä"])
"""Few, so that they repeat, and some that look like a part of a patch."""


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A text with one kind of line endings, with or without the last one."""
    lines, ending = draw(st.lists(LINES, max_size=30)), draw(st.sampled_from(["\n", "\r\n"]))
    return ending.join(lines) + (ending if lines and draw(st.booleans()) else "")


EDITS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), st.lists(LINES, max_size=3)), min_size=1, max_size=4)


def edited(lines: list[str], edits: list[tuple[int, int, list[str]]]) -> list[str]:
    """The lines after replacing, for each edit, some of them by others."""
    result = list(lines)
    for at, n_removed, added in edits:
        start = min(at, len(result))
        result[start : start + n_removed] = added
    return result


def patched(text: str, patch: str) -> str:
    (file,) = parse_patch(patch)
    return apply_hunks(text, file.hunks, "file").text


@given(before=texts(), edits=EDITS)
def test_our_own_difference_makes_the_new_text(before: str, edits: list[tuple[int, int, list[str]]]) -> None:
    ending = "\r\n" if "\r" in before else "\n"
    after = ending.join(edited(before.split(ending), edits))
    patch, _, _ = unified_diff(before, after, "file")
    assume(patch)

    assert patched(before, patch) == after


@given(before=st.lists(LINES, max_size=30), edits=EDITS)
def test_a_patch_without_carriage_returns_makes_the_files_own_endings(
    before: list[str], edits: list[tuple[int, int, list[str]]]
) -> None:
    after = edited(before, edits)
    patch = "\n".join(difflib.unified_diff(before, after, "a/file", "b/file", lineterm="")) + "\n"
    assume(before and patch.strip())

    text = "".join(f"{line}\r\n" for line in before)
    assert patched(text, patch) == "".join(f"{line}\r\n" for line in after)


@given(n_lines=st.integers(8, 40), edits=EDITS, above=st.integers(0, 20), below=st.integers(0, 20))
def test_lines_that_came_above_and_below_since_do_not_matter(
    n_lines: int, edits: list[tuple[int, int, list[str]]], above: int, below: int
) -> None:
    before = [f"line {number}" for number in range(n_lines)]
    after = edited(before, edits)
    patch = "\n".join(difflib.unified_diff(before, after, "a/file", "b/file", lineterm="")) + "\n"
    assume(patch.strip() and n_lines - sum(n for _, n, _ in edits) > 0)
    head, tail = ["".join(f"{name} {number}\n" for number in range(n)) for name, n in (("x", above), ("y", below))]

    text = head + "".join(f"{line}\n" for line in before) + tail
    assert patched(text, patch) == head + "".join(f"{line}\n" for line in after) + tail


@given(before=texts(), edits=EDITS, junk=st.lists(LINES, max_size=30))
def test_a_patch_for_another_text_is_refused_or_changes_just_its_lines(
    before: str, edits: list[tuple[int, int, list[str]]], junk: list[str]
) -> None:
    after = "\n".join(edited(before.split("\n"), edits))
    patch, added, removed = unified_diff(before, after, "file")
    assume(patch)
    text = "".join(f"{line}\n" for line in junk)

    try:
        result = patched(text, patch)
    except ToolError:
        return
    assert len(result.splitlines()) - len(text.splitlines()) == added - removed


@pytest.mark.parametrize("header", ["@@ -{} +1 @@", "@@ -1,{} +1 @@", "@@ -1 +1,{} @@", "@@ -1 +{} @@"])
def test_a_hunk_with_an_endless_number_is_found_by_its_lines_or_refused(header: str) -> None:
    patch = f"--- a/file\n+++ b/file\n{header.format('9' * 5_000)}\n-b\n+c\n"

    assert patched("a\nb\n", patch) == "a\nc\n"


@given(patch=st.lists(st.one_of(LINES, st.sampled_from(["--- a/x", "+++ b/x", "@@ -1 +1 @@", "@@", "-a", "+b", " a"]))))
def test_any_text_is_a_patch_or_an_error_to_the_model(patch: list[str]) -> None:
    try:
        files = parse_patch("\n".join(patch))
    except ToolError:
        return
    assert all(file.path and (file.hunks or file.kind != "edit") for file in files)
