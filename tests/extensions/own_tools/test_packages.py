"""Tools that installed packages name in their entry points."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

NAMED = "[pygent_ls.tools]\nwords = word_tools\n"


def modules_named(place: Path) -> str:
    """What a process finds that has `place` in its path."""
    say = (
        f"import sys; sys.path.insert(0, {str(place)!r})\n"
        "from pygent_ls.extensions.own_tools.tools import modules_of_packages as found\n"
        "print(*found(), 'importlib.metadata' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", say], capture_output=True, text=True, check=True, timeout=60)
    return run.stdout.strip()


def install(place: Path, folder: str, entry_points: str) -> None:
    about = place / folder
    about.mkdir(parents=True)
    (about / "entry_points.txt").write_text(entry_points, encoding="utf-8")
    for name in ("METADATA", "PKG-INFO"):
        (about / name).write_text("Metadata-Version: 2.1\nName: words\nVersion: 1\n", encoding="utf-8")


@pytest.mark.parametrize("folder", ["words-1.dist-info", "words.egg-info"])
def test_a_package_names_its_modules(tmp_path: Path, folder: str) -> None:
    install(tmp_path, folder, NAMED)

    assert modules_named(tmp_path) == "word_tools True"


def test_a_package_in_an_archive_is_found_as_well(tmp_path: Path) -> None:
    install(tmp_path, "words-1.dist-info", NAMED)
    with zipfile.ZipFile(tmp_path / "words.zip", "w") as archive:
        for each in (tmp_path / "words-1.dist-info").iterdir():
            archive.write(each, f"words-1.dist-info/{each.name}")

    assert modules_named(tmp_path / "words.zip") == "word_tools True"


def test_without_such_packages_the_library_that_lists_them_is_not_imported(tmp_path: Path) -> None:
    install(tmp_path, "others-1.dist-info", "[console_scripts]\nothers = others:main\n")
    (tmp_path / "without-1.dist-info").mkdir()

    assert modules_named(tmp_path) == "False"
    assert modules_named(tmp_path / "missing") == "False"
