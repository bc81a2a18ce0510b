"""Hunks of a plan: whichever are rejected, what is left is the text that never had them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.edits.hunks import hunks_of, text_without, without
from pygent_ls.agent.edits.reviewer import told
from pygent_ls.agent.ports.workspace import (
    Applied,
    CopyBytes,
    DeleteFile,
    Document,
    EditPlan,
    FileOperation,
    MoveFile,
    Rejected,
    WriteText,
)
from tests.fakes import FOLDER, digest_of

LINES = st.lists(st.sampled_from(["a", "b", "", "    x", "é😀"]), max_size=3)
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def changed_texts(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    """Stretches of a text as they were and as they are, each with a line above it that stays and occurs once."""
    end = draw(ENDS)
    stretches = draw(st.lists(st.tuples(LINES, LINES), min_size=1, max_size=6))
    return [
        (f"stays {at}{end}", "".join(f"old {line}{end}" for line in old), "".join(f"new {line}{end}" for line in new))
        for at, (old, new) in enumerate(stretches)
    ]


def document(text: str, name: str = "a.txt") -> Document:
    return Document(path=FOLDER / name, text=text, digest=digest_of(text), stamp="1")


def edit(old: str, new: str) -> WriteText:
    return WriteText(path=FOLDER / "a.txt", before=document(old), text=new)


def plan(*operations: FileOperation) -> EditPlan:
    return EditPlan(label="Edit", operations=operations, result="Edited.")


@given(stretches=changed_texts(), choices=st.lists(st.booleans(), min_size=6, max_size=6))
def test_what_is_left_is_exactly_the_text_with_the_accepted_hunks(
    stretches: list[tuple[str, str, str]], choices: list[bool]
) -> None:
    before = "".join(kept + old for kept, old, _ in stretches)
    after = "".join(kept + new for kept, _, new in stretches)
    edited = plan(edit(before, after))
    hunks = hunks_of(edited)
    differing = [at for at, (_, old, new) in enumerate(stretches) if old != new]
    assert [(hunk.old_text, hunk.new_text) for hunk in hunks] == [stretches[at][1:] for at in differing]
    rejected = [hunk for hunk, at in zip(hunks, differing, strict=True) if not choices[at]]

    left = without(edited, rejected)

    expected = "".join(kept + (new if choices[at] else old) for at, (kept, old, new) in enumerate(stretches))
    if expected == before and rejected:
        assert left.operations == ()
    else:
        (operation,) = left.operations
        assert isinstance(operation, WriteText)
        assert operation.text == expected


TEXTS = st.text(st.sampled_from("ab\r\n"), max_size=20)


@given(old=TEXTS, new=TEXTS)
def test_rejecting_all_is_the_old_text_and_each_hunk_stands_where_it_says(old: str, new: str) -> None:
    hunks = hunks_of(plan(edit(old, new)))

    assert text_without(new, hunks) == old
    for hunk in hunks:
        assert new[hunk.new_start : hunk.new_end] == hunk.new_text
        assert old[hunk.old_start :].startswith(hunk.old_text)


def test_what_is_no_text_cannot_be_reviewed_and_stays_whatever_is_rejected() -> None:
    there, gone, copy = FOLDER / "there", FOLDER / "gone.png", FOLDER / "copy.png"
    operations = (
        MoveFile(source=there, destination=FOLDER / "moved"),
        WriteText(path=FOLDER / "new", before=None, text="new\n"),
        CopyBytes(source=gone, destination=copy),
        DeleteFile(path=gone, before=None),
        DeleteFile(path=FOLDER / "b.txt", before=document("b\n", "b.txt")),
    )

    hunks = hunks_of(plan(*operations))

    assert [(hunk.id, hunk.kind, hunk.place) for hunk in hunks] == [("1", "create", 1), ("2", "delete", 4)]
    assert without(plan(*operations), hunks).operations == (operations[0], operations[2], operations[3])


def name_of(path: Path) -> str:
    return path.name


def test_the_model_reads_where_each_rejected_hunk_stands_now() -> None:
    old = "1\n2\n3\n4\n5\n6\n7\n"
    asked = plan(edit(old, "0\n1\n2\nthree\n4\n6\nseven\nand more\n"))
    hunks = hunks_of(asked)
    rejected = (hunks[1], hunks[2])
    applied = Applied(asked=asked, stands=without(asked, rejected), rejected=tuple(Rejected(hunk=h) for h in rejected))

    said = told(applied, name_of)

    assert "- a.txt, line 4: its old text was restored\n```\n-3\n+three\n```" in said
    assert "- a.txt, line 6: its old text was restored\n```\n-5\n```" in said
    (stands,) = applied.stands.operations
    assert isinstance(stands, WriteText)
    assert stands.text.split("\n")[3:6:2] == ["3", "5"]


def test_an_edit_that_nobody_rejected_is_told_as_it_was_asked_for() -> None:
    asked = plan(edit("a\n", "b\n"))

    assert told(Applied(asked=asked, stands=asked), name_of) == "Edited."
    assert told(Applied(asked=asked, stands=replace(asked), note="Mind that."), name_of) == "Edited.\n[Mind that.]"
