"""Write the pages of this folder that are made from the code; `make docs` runs it."""

from __future__ import annotations

from pathlib import Path

from pygent_ls.config.reference_page import configuration_page
from pygent_ls.editors.lsp.reference_page import protocol_page, schema_text
from pygent_ls.tools.reference_page import tools_page


def main() -> None:
    """Make all of them before the first is written, so that a failure leaves the folder as it was."""
    pages = {
        "configuration.md": configuration_page(),
        "protocol.md": protocol_page(),
        "protocol.schema.json": schema_text() + "\n",
        "tools.md": tools_page(),
    }
    for name, text in pages.items():
        (Path(__file__).parent / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
