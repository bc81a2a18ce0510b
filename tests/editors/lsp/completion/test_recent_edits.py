"""What the user changed last: followed through any changes, told as whole lines."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.editors.lsp import standard as lsp
from pygent_ls.editors.lsp.completion.recent_edits import MAX_EDITS, EditedFile, RecentEdits
from pygent_ls.editors.lsp.documents.buffers import Buffers
from pygent_ls.editors.lsp.standard import Position

PATH = Path("/p/a.py")

TEXTS = st.text(alphabet="ab\n", max_size=400)


def following(text: str) -> EditedFile:
    ticks = iter(range(10_000))
    return EditedFile(PATH, text, lambda: next(ticks))


def change(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


@given(TEXTS, st.lists(st.tuples(st.integers(0, 400), st.integers(0, 30), TEXTS), max_size=12))
def test_what_is_told_is_in_the_text_as_it_is(text: str, changes: list[tuple[int, int, str]]) -> None:
    edits = following(text)
    for at, length, new in changes:
        start = min(at, len(text))
        end = min(start + length, len(text))
        text = change(text, start, end, new)
        edits.changed(start, end, new, text)

    found = [edit for _, edit in edits.edits("a.py")]
    lines = text.split("\n")
    assert len(found) <= MAX_EDITS
    for edit in found:
        new = edit.new.split("\n")
        assert lines[edit.line - 1 : edit.line - 1 + len(new)] == new
        assert edit.old != edit.new


@given(TEXTS, st.integers(0, 400), st.integers(0, 40), TEXTS)
def test_one_change_can_be_taken_back(text: str, at: int, length: int, new: str) -> None:
    start = min(at, len(text))
    end = min(start + length, len(text))
    after = change(text, start, end, new)
    edits = following(text)
    edits.changed(start, end, new, after)

    for _, edit in edits.edits("a.py"):
        lines = after.split("\n")
        lines[edit.line - 1 : edit.line - 1 + len(edit.new.split("\n"))] = edit.old.split("\n")
        assert "\n".join(lines) == text


@given(TEXTS, TEXTS)
def test_an_editor_may_send_the_whole_text(text: str, after: str) -> None:
    edits = following(text)
    edits.changed(0, len(text), after, after)

    found = [edit for _, edit in edits.edits("a.py")]
    assert (found == []) == (text == after)


def test_keys_at_one_place_are_one_change_and_other_places_are_others(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    text = "first = 1\n" + "x = 0\n" * 40 + "last = 1\n"
    file.write_text(text)
    buffers = Buffers(lambda _: None)
    recent = RecentEdits(buffers)
    buffers.opened(lsp.TextDocumentItem(uri=file.as_uri(), language_id="python", version=0, text=text))
    recent.notice(file.resolve())
    for version, (line, character, key) in enumerate([(0, 5, "_"), (0, 6, "n"), (41, 4, "_"), (0, 7, "o")], 1):
        place = Position(line=line, character=character)
        document = lsp.VersionedTextDocumentIdentifier(uri=file.as_uri(), version=version)
        made = lsp.TextDocumentContentChangeEvent(range=lsp.Range(start=place, end=place), text=key)
        buffers.changed(document, [made])

    told = [(edit.line, edit.old, edit.new) for edit in recent.last(lambda path: path.name, lambda _: True)]
    assert told[0] == (1, "first = 1", "first_n = 1") or told[-1][2] == "first_no = 1"
    assert (42, "last = 1", "last_ = 1") in told
    assert recent.last(lambda path: path.name, lambda _: False) == ()
