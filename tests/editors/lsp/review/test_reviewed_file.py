"""Earlier states of a file under review, which the editor's undo leads to."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.edits.pending_file import PendingFile
from pygent_ls.editors.lsp.review.reviewed_file import FileState

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
