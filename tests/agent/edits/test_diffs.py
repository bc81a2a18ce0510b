"""What an edit plan would change, as unified diffs; judged by git."""

from __future__ import annotations

import random
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.edits.diffs import changes_of, split_lines, unified_diff
from pygent_ls.agent.ports.workspace import (
    CopyBytes,
    DeleteFile,
    Document,
    EditPlan,
    FileChange,
    FileOperation,
    MoveFile,
    WriteText,
)
from tests.fakes import FOLDER, FakeWorkspace
from tests.house.growth import limited


def applied(old: str, new: str, name: str = "file.txt", *, is_new: bool = False, is_gone: bool = False) -> str | None:
    """Return the file's text after `git apply` took the patch of these texts; None if the file does not exist."""
    patch, _, _ = unified_diff(old, new, name, is_new=is_new, is_gone=is_gone)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, name)
        if not is_new:
            file.write_bytes(old.encode())
        if patch:
            command = ["git", "apply", "--whitespace=nowarn", "-"]
            done = subprocess.run(
                command, cwd=folder, input=patch.encode(), capture_output=True, timeout=30, check=False
            )
            assert done.returncode == 0, f"{done.stderr.decode()}\n{patch}"
        return file.read_bytes().decode() if file.exists() else None


lines = st.sampled_from(["a", "b", "c", "d", "", " ", "\r", "a\r", "x\ry", "é", "\u2028", "\x0c", "-- ", "++ b"])
texts = st.tuples(st.lists(lines, max_size=30), st.booleans()).map(
    lambda drawn: "\n".join(drawn[0]) + ("\n" if drawn[1] and drawn[0] else "")
)


@given(texts.filter(bool), texts.filter(bool))
def test_git_applies_the_patch_and_has_the_new_text(old: str, new: str) -> None:
    assert applied(old, new) == new


@given(texts, texts)
def test_the_patch_has_as_many_signs_as_it_counts_lines(old: str, new: str) -> None:
    patch, added, removed = unified_diff(old, new, "x")
    body = patch.split("\n")[2:]
    assert sum(line.startswith("+") for line in body) == added
    assert sum(line.startswith("-") for line in body) == removed
    assert (patch == "") is (old == new)
    assert added - removed == new.count("\n") - old.count("\n") + ends_open(new) - ends_open(old)


def ends_open(text: str) -> int:
    return int(bool(text) and not text.endswith("\n"))


def test_a_patch_is_as_people_know_it() -> None:
    old = "".join(f"{n}\n" for n in range(1, 21))
    new = old.replace("2\n", "two\n", 1).replace("18\n", "")
    assert unified_diff(old, new, "src/a.txt") == (
        "--- a/src/a.txt\n+++ b/src/a.txt\n"
        "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n"
        "@@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n",
        1,
        2,
    )


def test_a_missing_final_newline_is_said() -> None:
    patch, added, removed = unified_diff("a\nb", "a\nb\n", "x")
    assert patch == "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
    assert (added, removed) == (1, 1)


def test_line_endings_are_part_of_the_patch() -> None:
    patch, _, _ = unified_diff("a\r\nb\r\n", "a\r\nB\r\n", "x")
    assert patch == "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n"


@pytest.mark.parametrize("name", ["plain.py", "with space.py", "grün😀.py", 'quo"te.py', "tab\there.py"])
def test_git_finds_the_file_whatever_its_name(name: str) -> None:
    assert applied("one\n", "two\n", name) == "two\n"


def test_a_new_file_and_a_deleted_one_come_from_and_go_to_nowhere() -> None:
    assert unified_diff("", "a\n", "x", is_new=True) == ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", 1, 0)
    assert unified_diff("a\n", "", "x", is_gone=True) == ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", 0, 1)
    assert applied("", "a\nb", is_new=True) == "a\nb"
    assert applied("a\nb", "", is_gone=True) is None


def test_a_file_written_anew_line_for_line_does_not_hold_up_the_event_loop() -> None:
    def body(sign: str) -> str:
        return "".join(f"{sign}{n}\n}}\n\n" for n in range(1_300))

    shuffled = random.Random(1)
    for old, new in (
        (body("a"), body("b")),
        ("".join(shuffled.choices("xy\n", k=20_000)), "".join(shuffled.choices("xy\n", k=20_000))),
        ("x\n" * 5_000, "x\ny\n" * 5_000),
    ):
        with limited():
            _, added, removed = unified_diff(old, new, "x")
        assert added
        assert removed >= 0


def test_a_large_file_with_few_changes_has_a_small_patch() -> None:
    old = [f"line {n}\n" for n in range(50_000)]
    new = [line.upper() if n % 10_000 == 5_000 else line for n, line in enumerate(old)]
    patch, added, removed = unified_diff("".join(old), "".join(new), "x")
    assert (added, removed) == (5, 5)
    assert patch.count("\n") == 2 + 5 * (1 + 3 + 2 + 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a\n"]),
        ("a\r\nb\rc\nd", ["a\r\n", "b\r", "c\n", "d"]),
        ("\n\r\n\r", ["\n", "\r\n", "\r"]),
        ("a\u2028b\x0cc", ["a\u2028b\x0cc"]),
    ],
)
def test_lines_end_where_the_language_server_protocol_says(text: str, expected: list[str]) -> None:
    assert split_lines(text) == expected


@given(st.text(alphabet="ab\r\n\u2028"))
def test_lines_joined_are_the_text(text: str) -> None:
    assert "".join(split_lines(text)) == text


async def changed(workspace: FakeWorkspace, *operations: FileOperation) -> tuple[FileChange, ...]:
    return changes_of(EditPlan(label="x", operations=operations, result="x"), workspace.shown)


async def document(workspace: FakeWorkspace, name: str) -> Document:
    return await workspace.read(FOLDER / name)


async def test_every_operation_of_a_plan_is_one_change() -> None:
    workspace = FakeWorkspace({"a.txt": "1\n2\n", "gone.txt": "x\ny"})
    before, gone = await document(workspace, "a.txt"), await document(workspace, "gone.txt")
    changes = await changed(
        workspace,
        WriteText(path=FOLDER / "a.txt", before=before, text="1\nzwei\n3\n"),
        WriteText(path=FOLDER / "new.txt", before=None, text="n\n"),
        CopyBytes(source=FOLDER / "pic.png", destination=FOLDER / "copy.png"),
        MoveFile(source=FOLDER / "old.txt", destination=FOLDER / "moved.txt"),
        DeleteFile(path=FOLDER / "gone.txt", before=gone),
        DeleteFile(path=FOLDER / "gone.png", before=None),
    )
    told = [(each.path.name, each.kind, each.added, each.removed) for each in changes]
    assert told == [
        ("a.txt", "edit", 2, 1),
        ("new.txt", "create", 1, 0),
        ("copy.png", "create", 0, 0),
        ("moved.txt", "move", 0, 0),
        ("gone.txt", "delete", 0, 2),
        ("gone.png", "delete", 0, 0),
    ]
    assert (changes[0].old_text, changes[0].new_text) == ("1\n2\n", "1\nzwei\n3\n")
    assert changes[0].patch.startswith("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n")
    assert changes[3].patch == "rename from old.txt\nrename to moved.txt\n"
    assert changes[5].patch == ""
