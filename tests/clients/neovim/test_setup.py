"""`:Pygent setup`: a first model, by the editor's own menus and a line that shows nothing."""

from __future__ import annotations

from pathlib import Path

from tests.clients.neovim.conftest import Start
from tests.clients.neovim.picking import Picker
from tests.clients.neovim.prompts import told
from tests.llm.setup.keyrings import NO_KEYRING
from tests.llm.setup.local_servers import nowhere
from tests.model_server import Step

KEY = "my0wnkey-of-mistral"


def test_a_key_is_typed_unseen_and_the_model_is_the_default(start: Start, home: Path) -> None:
    script = [Step(text="ready")]
    editor = start(script, **{**nowhere(), **NO_KEYRING})
    picker = Picker(editor)
    picker.will_choose("Enter an API key", "mistral", "mistral-medium-latest")
    # Where the editor's provider is, Mistral is, too.
    editor.lua(
        "vim.env.MISTRAL_API_BASE = vim.env.OPENAI_BASE_URL; vim.env.OPENAI_API_KEY = nil; vim.env.PYGENT_MODEL = nil"
    )

    editor.command("Pygent setup")
    picker.offered(2)
    editor.until("return vim.api.nvim_get_mode().mode == 'c'", what="a line for the key")
    editor.nvim.input(f"{KEY}<CR>")
    offered = picker.offered(3)

    told(editor, "used from your next prompt on")
    assert offered[0][0].startswith("Enter an API key · saved in")
    assert (home / "config" / "pygent-ls" / "config.toml").read_text() == 'model = "mistral/mistral-medium-latest"\n'
    assert KEY in (home / "state" / "pygent-ls" / "keys.json").read_text()
    assert editor.model.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in editor.lua("return vim.fn.execute('messages')")


def test_a_menu_that_is_closed_changes_nothing(start: Start, home: Path) -> None:
    editor = start([], **{**nowhere(), **NO_KEYRING})
    picker = Picker(editor)

    editor.command("Pygent setup")

    assert len(picker.offered(1)) == 1
    told(editor, "Nothing was changed.")
    assert not (home / "state" / "pygent-ls" / "keys.json").exists()
