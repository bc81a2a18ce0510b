"""What is installed is what is in the tree."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_wheel_holds_the_whole_package_and_nothing_else(tmp_path: Path) -> None:
    """Built by the backend itself, which needs neither pip nor a network."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=50,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")

    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (entry_points,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        commands = archive.read(entry_points).decode()
        (license_text,) = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]

    package = ROOT / "pygent_ls"
    files = {file.relative_to(ROOT).as_posix() for file in package.rglob("*") if file.is_file()}
    assert names == {name for name in files if "__pycache__" not in name}
    assert "pygent_ls/py.typed" in names
    assert any(name.startswith("pygent_ls/cli/demo/sample/") for name in names)
    assert "pygent-ls = pygent_ls.cli.main:main" in commands
    assert license_text
