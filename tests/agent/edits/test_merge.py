"""Three-way merge, compared with git's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.edits.merge import merged

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "e\n"]), max_size=8)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
        ("a\nb\nc\n", "a\nb\nc\n", "a\nx\nc\n", "a\nx\nc\n"),
        ("a\nb\nc\n", "a\nx\nc\n", "a\nb\nc\n", "a\nx\nc\n"),
        ("a\nb\nc\n", "a\nx\nc\n", "a\nx\nc\n", "a\nx\nc\n"),
        ("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n", None),
        ("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n", None),
        ("a\n", "a\nmine\n", "a\ntheirs\n", None),
        ("", "mine\n", "theirs\n", None),
        ("x = 1\n", "x = 1\nunsaved = 2\n", "x = 1\n# new\n", None),
        ("a\nb\nc\nd\n", "a\nb\nc\nd\nmine\n", "new\na\nb\nc\nd\n", "new\na\nb\nc\nd\nmine\n"),
        ("a\r\nb\r\nc\r\n", "A\r\nb\r\nc\r\n", "a\r\nb\r\nC\r\n", "A\r\nb\r\nC\r\n"),
    ],
)
def test_changes_of_both_are_kept_or_they_conflict(base: str, ours: str, theirs: str, result: str | None) -> None:
    assert merged(base, ours, theirs) == result
    assert merged(base, theirs, ours) == result


@given(LINES, LINES, LINES)
def test_a_merge_does_not_depend_on_the_order_of_its_sides(base: list[str], ours: list[str], theirs: list[str]) -> None:
    """Git cannot be compared with here: which lines match differs between two programs."""
    texts = ["".join(f"{at} {line}" for at, line in enumerate(base)), *map("".join, (ours, theirs))]
    result = merged(*texts)

    assert result == merged(texts[0], texts[2], texts[1])
    assert merged(texts[0], texts[1], texts[0]) == texts[1]
    assert merged(texts[0], texts[1], texts[1]) == texts[1]


@given(
    base=st.lists(st.sampled_from("abcdefgh"), min_size=6, max_size=10, unique=False),
    places=st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.sampled_from(["x", "y", ""])), max_size=4),
)
def test_it_never_merges_what_git_calls_a_conflict(
    base: list[str], places: list[tuple[int, bool, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    old = [f"{at}{line}\n" for at, line in enumerate(base)]
    sides = [list(old), list(old)]
    for place, is_ours, text in places:
        if place < len(old):
            sides[is_ours][place] = f"{text}{place}\n" if text else ""
    ours, theirs = ("".join(each) for each in sides)
    folder = tmp_path_factory.getbasetemp() / "merge"
    folder.mkdir(exist_ok=True)

    result, (is_clean, by_git) = merged("".join(old), ours, theirs), _of_git(folder, "".join(old), ours, theirs)

    if result is not None:
        assert is_clean
        assert result == by_git


def _of_git(folder: Path, base: str, ours: str, theirs: str) -> tuple[bool, str]:
    for name, text in {"base": base, "ours": ours, "theirs": theirs}.items():
        (folder / name).write_text(text)
    command = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout
