"""Write what the Neovim plugin has of the daemon and of itself; `make docs` runs it."""

from __future__ import annotations

import json
from pathlib import Path

from clients.neovim.scripts.help_page import help_page
from clients.neovim.scripts.wire_types import wire_types

PLUGIN = Path(__file__).parent.parent
SCHEMA = PLUGIN.parent.parent / "docs" / "protocol.schema.json"


def generated() -> dict[Path, str]:
    """The text of each generated file."""
    return {
        PLUGIN / "lua/pygent/protocol.lua": wire_types(json.loads(SCHEMA.read_text(encoding="utf-8"))),
        PLUGIN / "doc/pygent.txt": help_page(PLUGIN),
    }


def main() -> None:
    """Make all of them before the first is written, so that a failure leaves the folder as it was."""
    for path, text in generated().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
