"""A file under review: its earlier states, which the editor's undo leads to, and texts that are read of it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.edits.pending_file import PendingFile
from pygent_ls.editors.lsp.review.reviewed_file import FileState, ReviewedFile

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12).map(lambda lines: "".join(f"{x}\n" for x in lines))


@given(LINES, LINES, st.data())
def test_hunks_that_were_accepted_since_do_not_wait_in_an_earlier_state(
    old: str, new: str, data: st.DataObject
) -> None:
    file = PendingFile(Path("/a.py"), old, new, "s")
    state = FileState(file.baseline, file.current, frozenset(), file.hunks)
    while file.hunks:
        chosen = data.draw(st.lists(st.sampled_from(file.hunks), min_size=1, unique=True))
        chosen.sort(key=lambda each: each.old_start)
        state = state.accepted({each.id for each in chosen})
        file.accept(chosen)
        assert (state.baseline, state.current) == (file.baseline, file.current)
        assert tuple(state.hunks) == file.hunks


@given(LINES, LINES, LINES)
def test_a_file_that_was_read_while_it_was_empty_is_compared_with_what_it_was_before(
    old: str, new: str, written: str
) -> None:
    def after(*texts: str) -> tuple[PendingFile, list[int]]:
        reviewed = ReviewedFile(PendingFile(Path("/a.py"), old, new, "s"), lambda _entry, _before: None)
        ids = [each.id for each in reviewed.file.hunks]
        for text in texts:
            reviewed.catch_up(text)
        return reviewed.file, [ids.index(each.id) for each in reviewed.file.hunks if each.id in ids]

    (direct, kept), (by_way, kept_by_way) = after(written), after("", written)

    assert (by_way.baseline, by_way.current, kept_by_way) == (direct.baseline, direct.current, kept)
