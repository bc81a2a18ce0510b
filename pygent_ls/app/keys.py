"""Access to the user's saved keys for all parts of the application."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pygent_ls.config.paths import state_folder

if TYPE_CHECKING:
    from pygent_ls.llm.keys.key_store import KeyStore


def saved_keys() -> KeyStore:
    """Return the store of saved keys. Reads nothing yet."""
    from pygent_ls.llm.keys.key_store import KeyStore
    from pygent_ls.llm.keys.system_keyring import SystemKeyring

    return KeyStore(state_folder(), SystemKeyring(environment={**os.environ, "PATH": os.defpath}))
