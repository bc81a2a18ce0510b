"""What is kept of long output."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.tools.program_output import KeptOutput


@given(pieces=st.lists(st.text("abc😀", max_size=30), max_size=40), max_chars=st.integers(0, 80))
def test_head_and_tail_are_kept_and_the_rest_is_counted(pieces: list[str], max_chars: int) -> None:
    kept = KeptOutput(max_chars)
    for piece in pieces:
        kept.add(piece)
    whole = "".join(pieces)

    if len(whole) <= max_chars:
        assert kept.text() == whole
        assert kept.omitted_chars == 0
        return
    head, n_omitted, tail = re.split(r"\n\[… (\d+) characters left out …\]\n", kept.text())
    assert len(head) == max_chars // 2
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len(head) + len(tail) == max_chars
    assert kept.omitted_chars == int(n_omitted) == len(whole) - max_chars


def test_single_characters_cost_no_more_than_pages() -> None:
    letters, pages = KeptOutput(1_000), KeptOutput(1_000)
    for _ in range(30_000):
        letters.add("x")
    pages.add("x" * 30_000)

    assert letters.text() == pages.text()
    assert letters.omitted_chars == pages.omitted_chars == 29_000
