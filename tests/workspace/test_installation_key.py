"""The key that placeholders are made with."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pygent_ls.workspace.installation_key import N_BYTES, installation_key


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "state"

    key = installation_key(folder)

    assert len(key) == N_BYTES
    assert installation_key(folder) == key
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_two_installations_have_two_keys(tmp_path: Path) -> None:
    assert installation_key(tmp_path / "a") != installation_key(tmp_path / "b")


def test_daemons_that_start_together_have_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(installation_key, [tmp_path] * 8))

    assert keys == {installation_key(tmp_path)}
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("spoilt", [b"", b"short"])
def test_a_key_that_was_spoilt_is_made_anew(tmp_path: Path, spoilt: bytes) -> None:
    installation_key(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(spoilt)

    key = installation_key(tmp_path)

    assert len(key) == N_BYTES
    assert installation_key(tmp_path) == key


def test_where_no_key_can_be_kept_there_is_one_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert len(installation_key(tmp_path / "file")) == N_BYTES
