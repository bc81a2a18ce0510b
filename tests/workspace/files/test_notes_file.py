"""Notes about a workspace: a file of the user, in which the model changes single notes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.workspace import Document
from pygent_ls.errors import ToolError
from pygent_ls.workspace.files.notes_file import MAX_FILE_CHARS, MAX_NOTE_CHARS, NotesFile, changed, notes_file, within

NOTE = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60).filter(
    lambda text: bool(text.split()) and " ".join(text.split()).isprintable()
)
TEXT = st.text(st.characters(codec="utf-8"), max_size=200)


@given(TEXT, NOTE)
def test_a_note_is_added_after_all_that_was_there_and_removed_without_a_trace(text: str, note: str) -> None:
    try:
        added = changed(text, note, "")
    except ToolError:
        assert " ".join(note.split()) in text
        return
    assert added.startswith(text)
    assert changed(added, "", note) == text + ("" if not text or text.endswith("\n") else "\n")


@given(st.lists(NOTE, min_size=1, max_size=5, unique_by=lambda note: " ".join(note.split())), NOTE, st.data())
def test_only_the_line_of_a_replaced_note_changes(notes: list[str], note: str, data: st.DataObject) -> None:
    lines = ["# Mine", "", *(f"*  {' '.join(each.split())}" for each in notes), "the end"]
    at = data.draw(st.integers(0, len(notes) - 1))
    text = "\n".join(lines)
    if any(" ".join(each.split()) == " ".join(note.split()) for each in notes):
        with pytest.raises(ToolError, match="exists already"):
            changed(text, note, notes[at])
        return
    expected = [*lines]
    expected[at + 2] = f"- {' '.join(note.split())}"
    assert changed(text, note, notes[at]) == "\n".join(expected)


@pytest.mark.parametrize(
    ("note", "replaces", "problem"),
    [
        ("", "", "Give a note to add"),
        ("x" * (MAX_NOTE_CHARS + 1), "", "A note has at most 500 characters; this one has 501"),
        ("new", "pear", "No note reads 'pear'. The notes are:\n- plum"),
        ("plum", "", "This note exists already"),
        ("a\x1b[31mb", "", "A note must be plain text"),
        ("a\u202eb", "", "A note must be plain text"),
    ],
)
def test_a_change_that_cannot_be_made_says_why(note: str, replaces: str, problem: str) -> None:
    with pytest.raises(ToolError) as caught:
        changed("- plum\n", note, replaces)
    assert problem in str(caught.value)


def test_other_characters_that_end_lines_are_part_of_the_users_text() -> None:
    with pytest.raises(ToolError, match="No note reads 'a'"):
        changed("# Mine\n- a\x0cb\n", "new", "a")
    assert changed("- a\u2028b\r\n- c\r\n", "d", "c") == "- a\u2028b\r\n- d\r\n"


@given(st.lists(st.text("ab ", max_size=20), max_size=20), st.integers(0, 200))
def test_the_newest_lines_are_kept_within_the_limit(lines: list[str], max_chars: int) -> None:
    text = "\n".join(lines).strip()
    kept = within(text, max_chars)
    if kept.startswith("["):
        note, _, rest = kept.partition("\n")
        assert text.endswith(rest)
        assert len(rest) <= max_chars
        assert note == f"[{len(text.splitlines()) - len(rest.splitlines())} older lines are left out]"
    else:
        assert kept == text


async def test_the_file_is_the_users_and_private(tmp_path: Path) -> None:
    notes = notes_file(tmp_path / "state", tmp_path / "my project")

    assert await notes.read() == ""
    await notes.change("tests run\nwith make", "")
    notes.path.write_text(f"# Mine\n{notes.path.read_text()}")
    await notes.change("lint with ruff", "")

    assert notes.path.name.startswith("my_project-")
    assert await notes.read() == "# Mine\n- tests run with make\n- lint with ruff\n"
    assert notes.path.stat().st_mode & 0o777 == 0o600
    assert notes_file(tmp_path / "state", tmp_path / "other").path != notes.path


async def test_unsaved_text_of_the_user_is_read_and_not_overwritten(tmp_path: Path) -> None:
    buffers: dict[Path, Document] = {}
    notes = NotesFile(path=tmp_path / "memory" / "x.md", open_document=buffers.get)
    await notes.change("plum", "")
    buffers[notes.path] = Document(path=notes.path, text="- plum\n- pear\n", digest="", stamp="")

    assert await notes.read() == "- plum\n- pear\n"
    with pytest.raises(ToolError, match="The user is editing the notes"):
        await notes.change("quince", "")
    buffers[notes.path] = Document(path=notes.path, text="- plum\n", digest="", stamp="")
    await notes.change("quince", "")
    assert notes.path.read_text() == "- plum\n- quince\n"


async def test_notes_that_are_no_text_are_left_alone(tmp_path: Path) -> None:
    notes = notes_file(tmp_path, tmp_path / "project")
    notes.path.parent.mkdir()
    notes.path.write_bytes(b"\xff\xfe")

    with pytest.raises(ToolError, match="cannot be read"):
        await notes.change("plum", "")
    assert notes.path.read_bytes() == b"\xff\xfe"


def test_items_of_a_list_in_a_code_block_are_not_notes() -> None:
    text = "- plum\n```yaml\n- pear\n~~~\n```\n- fig\n~~~\n- kiwi\n"

    with pytest.raises(ToolError, match="No note reads 'pear'"):
        changed(text, "", "pear")
    assert changed(text, "pear", "").endswith("- kiwi\n- pear\n")
    assert changed(text, "", "kiwi").endswith("- fig\n~~~\n")


def test_notes_that_are_too_long_for_more_can_be_shortened_but_not_extended() -> None:
    text = "- plum\n" + "x" * MAX_FILE_CHARS

    for replaces in ("", "plum"):
        with pytest.raises(ToolError, match="more than 100,000 characters"):
            changed(text, "pear", replaces)
    assert changed(text, "", "plum") == "x" * MAX_FILE_CHARS


async def test_notes_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    notes = notes_file(tmp_path, Path("/work"))
    notes.path.mkdir(parents=True)

    with pytest.raises(ToolError, match="cannot be read"):
        await notes.change("plum", "")
    with pytest.raises(ToolError):
        await notes.read()
