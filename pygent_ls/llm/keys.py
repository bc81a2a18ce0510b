"""Keys that the user has saved, by provider: the port, and the adapter that has none."""

from __future__ import annotations

from typing import Protocol


class SavedKeys(Protocol):
    """Keys that were entered once and are kept outside of settings and environment."""

    def get(self, provider: str) -> str | None:
        """Return the key saved for a provider, by litellm's name for it, or None. May read a file or the keyring."""
        ...


class NoSavedKeys:
    """Holds no key."""

    def get(self, provider: str) -> str | None:
        """Return None for every provider."""
        del provider
        return None
