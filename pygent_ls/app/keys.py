"""Access to the user's saved keys for all parts of the application."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pygent_ls.config.paths import state_folder

if TYPE_CHECKING:
    from pygent_ls.llm.keys.key_store import KeyStore


def saved_keys() -> KeyStore:
    """Return the store of saved keys of providers. Reads nothing yet."""
    return _store_in(state_folder())


def server_tokens() -> KeyStore:
    """Return the store of tokens of MCP servers, by address. Reads nothing yet."""
    return _store_in(state_folder() / "mcp")


def _store_in(folder: Path) -> KeyStore:
    from pygent_ls.llm.keys.key_store import KeyStore
    from pygent_ls.llm.keys.system_keyring import SystemKeyring

    return KeyStore(folder, SystemKeyring(environment={**os.environ, "PATH": os.defpath}))
