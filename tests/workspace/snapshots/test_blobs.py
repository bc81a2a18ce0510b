"""Contents of files by their name in git."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pygent_ls.workspace.snapshots.blobs import MAX_CONTENT_BYTES, Contents, forget_old_contents
from pygent_ls.workspace.snapshots.restore import blob_of


@pytest.mark.parametrize("is_on_disk", [True, False], ids=["disk", "memory"])
def test_what_is_kept_is_there_and_what_is_not_kept_is_not(tmp_path: Path, *, is_on_disk: bool) -> None:
    contents = Contents(tmp_path / "c" if is_on_disk else None)

    names = [contents.keep(data) for data in (b"", b"one", b"one", b"\0\xff" * 9)]

    assert [contents.get(name) for name in names] == [b"", b"one", b"one", b"\0\xff" * 9]
    assert contents.get(blob_of(b"two")) is None
    large = bytes(MAX_CONTENT_BYTES + 1)
    assert contents.get(contents.keep(large)) is None


def test_what_is_damaged_is_not_taken_for_what_was_kept(tmp_path: Path) -> None:
    contents = Contents(tmp_path)
    name = contents.keep(b"one")
    (file,) = tmp_path.rglob(name[2:])

    for damage in (b"", b"rubbish", Contents(tmp_path / "other").keep(b"two").encode(), file.read_bytes()[:-3]):
        file.write_bytes(damage)
        assert contents.get(name) is None


def test_what_was_not_kept_again_for_long_goes(tmp_path: Path) -> None:
    contents = Contents(tmp_path)
    old, again, new = (contents.keep(data) for data in (b"old", b"again", b"new"))
    a_month_ago = time.time() - 31 * 86_400
    for name in (old, again):
        os.utime(tmp_path / name[:2] / name[2:], (a_month_ago, a_month_ago))
    contents.keep(b"again")

    forget_old_contents(tmp_path, days=30)

    assert [contents.get(name) for name in (old, again, new)] == [None, b"again", b"new"]


def test_others_cannot_read_them(tmp_path: Path) -> None:
    root = tmp_path / "contents"
    Contents(root).keep(b"secret")

    assert root.stat().st_mode & 0o077 == 0
