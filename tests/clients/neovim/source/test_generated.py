"""What the plugin has of the daemon, and its help, are what the code says."""

from pathlib import Path

import pytest

from clients.neovim.scripts.generate import PLUGIN, generated


@pytest.mark.parametrize("path", sorted(generated()), ids=lambda path: Path(path).relative_to(PLUGIN).as_posix())
def test_a_committed_file_is_what_is_generated(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generated()[path], "run `make docs`"
