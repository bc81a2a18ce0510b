"""Replacements as the edits of a client, also of one whose buffers have no line behind the last line break."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.features import ClientFeatures
from pygent_ls.editors.lsp.text_edits import text_edits
from pygent_ls.workspace.changes import Replacement, minimal_edits
from tests.editors.lsp.documents import edited

USUAL = ClientFeatures(encoding="utf-16")
VIM = ClientFeatures(encoding="utf-32", drops_at_end=True)


@pytest.mark.parametrize(
    ("text", "more", "start", "end", "new"),
    [
        ("a\n", "b\n", (0, 1), (0, 1), "\nb"),
        ("a\n", "b", (0, 1), (1, 0), "\nb"),
        ("a\r\n", "b\r\n", (0, 1), (0, 1), "\r\nb"),
        ("a", "b\n", (0, 1), (0, 1), "b\n"),
        ("", "b\n", (0, 0), (0, 0), "b\n"),
    ],
)
def test_what_comes_behind_the_last_line_break_is_put_before_it(
    text: str, more: str, start: tuple[int, int], end: tuple[int, int], new: str
) -> None:
    (made,) = text_edits(text, [Replacement(len(text), len(text), more)], VIM)

    assert [tuple(made["range"][side].values()) for side in ("start", "end")] == [start, end]
    assert made["newText"] == new


def test_other_clients_are_told_the_place_itself() -> None:
    (made,) = text_edits("a\n", [Replacement(2, 2, "b\n")], USUAL)

    assert made == {
        "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}},
        "newText": "b\n",
    }


texts = st.lists(st.sampled_from(["a\n", "b\n", "é𝒳\n", "\n", "a\r\n", "a"]), max_size=6).map("".join)


@given(old=texts, new=texts)
def test_the_edits_make_the_new_text(old: str, new: str) -> None:
    for features in (USUAL, VIM):
        assert edited(old, text_edits(old, minimal_edits(old, new), features), features.encoding) == new


def test_a_long_replacement_is_no_text_that_a_client_compares_for_long() -> None:
    old, new = "".join(f"one {n}\n" for n in range(1_000)), "".join(f"two {n}\n" for n in range(1_000))

    put, taken = text_edits(old, [Replacement(0, len(old), new)], USUAL)

    assert (put["newText"], taken["newText"]) == (new, "")
    assert put["range"]["start"] == put["range"]["end"] == taken["range"]["start"]
    assert edited(old, [put, taken], USUAL.encoding) == new
    assert len(text_edits(old, [Replacement(0, len(old), new)], USUAL, may_split=False)) == 1
    assert len(text_edits(old, [Replacement(0, len(old), new)], VIM)) == 1
