"""Keys that the user has saved, by provider: the port, and the adapter that has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class SavedKeys(Protocol):
    """Keys that were entered once and are kept outside of settings and environment."""

    def providers(self) -> Sequence[str]:
        """Return the providers with a saved key. May read a file, but not the keyring, which may wait for the user."""
        ...

    def get(self, provider: str) -> str | None:
        """Return the key saved for a provider, by litellm's name for it, or None. May read a file or the keyring."""
        ...


class NoSavedKeys:
    """Holds no key."""

    def providers(self) -> Sequence[str]:
        """Return no provider."""
        return ()

    def get(self, provider: str) -> str | None:
        """Return None for every provider."""
        del provider
        return None
