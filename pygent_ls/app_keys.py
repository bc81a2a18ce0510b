"""The keys that the user saved, as every part of the application asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygent_ls.llm.keys import SavedKeys


def saved_keys() -> SavedKeys:
    """Return the store of saved keys. Reads nothing yet."""
    from pygent_ls.llm.keys import NoSavedKeys

    return NoSavedKeys()
