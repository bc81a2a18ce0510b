"""Replacements as the edits of a client, whose buffers may have no line behind the last line break."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp.capabilities import Encoding
from pygent_ls.editors.lsp.documents.minimal_edits import Replacement, minimal_edits
from pygent_ls.editors.lsp.documents.text_edits import text_edits
from tests.editors.lsp.editor_documents import edited


@pytest.mark.parametrize(
    ("text", "more", "start", "end", "new"),
    [
        ("a\n", "b\n", (0, 1), (0, 1), "\nb"),
        ("a\n", "b", (0, 1), (1, 0), "\nb"),
        ("a\r\n", "b\r\n", (0, 1), (0, 1), "\r\nb"),
        ("a\n", "b\r\n", (0, 1), (1, 0), "\nb\r\n"),
        ("a", "b\n", (0, 1), (0, 1), "b\n"),
        ("", "b\n", (0, 0), (1, 0), "b\n"),
        ("", "b", (0, 0), (0, 0), "b"),
    ],
)
def test_what_comes_behind_the_last_line_break_is_put_before_it(
    text: str, more: str, start: tuple[int, int], end: tuple[int, int], new: str
) -> None:
    (made,) = text_edits(text, [Replacement(len(text), len(text), more)], "utf-32")

    assert [tuple(made["range"][side].values()) for side in ("start", "end")] == [start, end]
    assert made["newText"] == new


texts = st.lists(st.sampled_from(["a\n", "b\n", "é𝒳\n", "\n", "a\r\n", "a"]), max_size=6).map("".join)


@given(old=texts, new=texts, encoding=st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_the_edits_make_the_new_text(old: str, new: str, encoding: Encoding) -> None:
    assert edited(old, text_edits(old, minimal_edits(old, new), encoding), encoding) == new


def test_a_long_replacement_is_no_text_that_a_client_compares_for_long() -> None:
    old, new = "".join(f"one {n}\n" for n in range(1_000)), "".join(f"two {n}\n" for n in range(1_000))

    put, taken = text_edits(old, [Replacement(0, len(old), new)], "utf-16")

    assert (put["newText"], taken["newText"]) == (new, "")
    assert put["range"]["start"] == put["range"]["end"] == taken["range"]["start"]
    assert edited(old, [put, taken], "utf-16") == new
    assert len(text_edits(old, [Replacement(0, len(old), new)], "utf-16", may_split=False)) == 1
