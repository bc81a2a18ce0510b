"""What no snapshot keeps is compared by its stat data, so that a command's changes of it are known."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pygent_ls.workspace.snapshots.excluded_files import MAX_UNKEPT, changed_since, stamps_of


def test_files_that_changed_or_are_gone_are_told_and_of_a_folder_that_is_gone_itself_alone(tmp_path: Path) -> None:
    for name in ("same", "longer", "gone", "folder/inner/deep", "folder/same", "whole/a", "whole/inner/b"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    (tmp_path / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    stamps = stamps_of(
        tmp_path / name for name in ("same", "longer", "gone", "folder", "whole", "link", "pipe", "none")
    )

    (tmp_path / "longer").write_text("xx\n")
    for name in ("gone", "link", "pipe", "folder/inner/deep"):
        (tmp_path / name).unlink()
    shutil.rmtree(tmp_path / "whole")
    (tmp_path / "folder/new").write_text("new\n")

    assert {each.relative_to(tmp_path).as_posix() for each in changed_since(stamps)} == {
        "longer",
        "gone",
        "link",
        "folder/inner/deep",
        "whole",
    }


def test_a_repository_of_git_is_not_looked_into_but_told_where_it_is_another(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    git.mkdir()
    stamps = stamps_of([git])
    (git / "HEAD").write_text("ref\n")

    assert list(changed_since(stamps)) == []

    git.rename(tmp_path / "moved")
    git.mkdir()

    assert list(changed_since(stamps)) == [git]


def test_what_lies_least_deep_is_looked_at_and_no_more_than_the_bound(tmp_path: Path) -> None:
    for number in range(MAX_UNKEPT):
        (tmp_path / f"folder/inner/{number}").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"folder/inner/{number}").touch()
    (tmp_path / "folder/first").touch()

    stamps = stamps_of([tmp_path / "folder"])

    assert tmp_path / "folder/first" in stamps
    assert len(stamps) == MAX_UNKEPT
