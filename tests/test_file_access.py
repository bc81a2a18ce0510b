"""Folders are reached without following a link, in one system call or one below the other."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pygent_ls.file_access import folder_at, make_folder, read_file

NAME = "n" * 250

DEPTH = 20
"""Folders of such names, whose path is longer than a system call takes (PATH_MAX, 4,096 bytes)."""


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A folder that is too deep to be opened in one call, with a file `a.txt` in it."""
    folder = tmp_path.resolve()
    for _ in range(DEPTH):
        folder /= NAME
        make_folder(folder)
    with folder_at(folder) as descriptor:
        written = os.open("a.txt", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor)
        os.write(written, b"deep")
        os.close(written)
    return folder


def test_a_folder_that_is_too_deep_for_one_call_is_reached_step_by_step(deep: Path) -> None:
    with pytest.raises(OSError, match="too long"):
        deep.stat()

    assert read_file(deep / "a.txt")[0] == b"deep"


@pytest.mark.parametrize("depth", [1, DEPTH])
def test_a_link_on_the_way_is_refused_in_both_ways(tmp_path: Path, deep: Path, depth: int) -> None:
    other = tmp_path.resolve() / "other"
    other.mkdir()
    (tmp_path / NAME).rename(other / NAME)
    (tmp_path / NAME).symlink_to(other / NAME)
    through = tmp_path.resolve().joinpath(*[NAME] * depth)

    with pytest.raises(OSError, match="no longer a folder but a link") as raised, folder_at(through):
        pass

    assert raised.value.errno == errno.ELOOP


def test_a_name_with_a_null_is_no_beginning_of_another(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="null"), folder_at(Path(f"{tmp_path.resolve()}\0/x")):
        pass
