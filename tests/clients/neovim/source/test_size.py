"""A file of the plugin is read in one sitting."""

from clients.neovim.scripts.generate import PLUGIN

MAX_LINES = 400


def test_no_file_is_longer_than_400_lines() -> None:
    written = set(PLUGIN.rglob("*.lua")) - {PLUGIN / "lua/pygent/protocol.lua"}  # generated
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in written}

    assert {path.relative_to(PLUGIN).as_posix(): n for path, n in lines.items() if n > MAX_LINES} == {}
    assert len(written) > 5, "the plugin is elsewhere"
