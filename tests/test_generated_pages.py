"""The committed pages are what the code says."""

from pathlib import Path

from pygent_ls.editors.lsp.reference_page import protocol_page, schema_text
from pygent_ls.tools.reference_page import tools_page

DOCS = Path(__file__).parent.parent / "docs"


def test_the_committed_protocol_page_is_made_from_the_wire_types() -> None:
    assert (DOCS / "protocol.md").read_text(encoding="utf-8") == protocol_page(), "run `make docs`"


def test_the_committed_schema_is_what_the_command_prints() -> None:
    assert (DOCS / "protocol.schema.json").read_text(encoding="utf-8") == schema_text() + "\n", "run `make docs`"


def test_the_committed_tools_page_is_made_from_the_tools() -> None:
    assert (DOCS / "tools.md").read_text(encoding="utf-8") == tools_page(), "run `make docs`"
