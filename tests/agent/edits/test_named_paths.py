"""What a command line names."""

from __future__ import annotations

from pathlib import Path

import pytest

from pygent_ls.agent.edits.named_paths import named_by, named_in

FOLDER = Path("/w")


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("echo x > a.txt", "a.txt"),
        ("echo x >a.txt; rm b.txt", "b.txt"),
        ("rm 'my notes.txt'", "my notes.txt"),
        ("cat b.txt > a.txt", "a.txt"),
        ("test -f a.txt && rm a.txt", "a.txt"),
        ("for name in a.txt; do cat a.txt; rm $name; done", "a.txt"),
        ("grep -q x *.txt; rm *.txt", "a.txt"),
        ("grep -q x a.txt || sed -i s/y/x/ a.txt", "a.txt"),
        ("python3 -c \"open('out.txt', 'w')\"", "out.txt"),
        ("cd src && sed -i s/a/b/ x.py", "src/x.py"),
        ("git -C sub checkout x.py", "sub/x.py"),
        ("dd of=image.bin", "image.bin"),
        ("touch ./deep/../deep/x", "deep/x"),
        ("rm /w/a.txt", "a.txt"),
        ("sed -i s/a/b/ *.py", "x.py"),
    ],
)
def test_a_path_is_named_however_it_is_written(line: str, path: str) -> None:
    assert named_in([line], FOLDER).names(FOLDER / path)


@pytest.mark.parametrize(
    "line",
    [
        "cat a.txt; make",
        "cd . && grep -rn 'two words' a.txt | head",
        "diff a.txt b.txt > patch",
        "grep -c x *.txt [ab].txt && tail -f a.???",
    ],
)
def test_a_path_that_is_only_read_is_not_named(line: str) -> None:
    assert not named_in([line], FOLDER).names(FOLDER / "a.txt")


@pytest.mark.parametrize("line", ["make", "npm run build", "sed -i s/a/b/ *.js", "ls src", "git checkout main"])
def test_a_path_that_the_line_does_not_name_is_not(line: str) -> None:
    assert not named_in([line], FOLDER).names(FOLDER / "src" / "x.py")


def test_a_folder_above_counts_unless_the_command_runs_in_it() -> None:
    named = named_in(["rm -rf build . .."], FOLDER)

    assert named.named_above(FOLDER / "build" / "deep" / "x") == FOLDER / "build"
    assert named.named_above(FOLDER / "src" / "x") is None


def test_a_call_names_paths_from_its_own_folder_and_its_description_names_none() -> None:
    named = named_by({"command": "rm x.txt", "cwd": "sub", "description": "Remove y.txt"}, FOLDER)

    assert named.names(FOLDER / "sub" / "x.txt")
    assert not named.names(FOLDER / "sub" / "y.txt")
    assert not named.names(FOLDER / "x.txt")


def test_a_list_of_paths_names_them() -> None:
    assert named_by({"paths": ["a.txt", "b.txt"]}, FOLDER).names(FOLDER / "b.txt")
