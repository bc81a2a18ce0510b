"""What the plugin has of the daemon, and its help, are what the code says."""

import pytest

from clients.neovim.scripts.generate import PLUGIN, generated


@pytest.mark.parametrize("name", ["lua/pygent/protocol.lua", "doc/pygent.txt"])
def test_a_committed_file_is_what_is_generated(name: str) -> None:
    made = generated()

    assert (PLUGIN / name).read_text(encoding="utf-8") == made[PLUGIN / name], "run `make docs`"
    assert len(made) == 2
