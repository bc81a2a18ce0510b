"""The user's saved keys by provider: the port, and an adapter without keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class SavedKeys(Protocol):
    """Keys entered once and stored outside settings and environment."""

    def providers(self) -> Sequence[str]:
        """Return the providers with a saved key. May read a file, but not the keyring, which may wait for the user."""
        ...

    def get(self, provider: str) -> str | None:
        """Return the key saved for a provider, by litellm's name for it, or None. May read a file or the keyring."""
        ...


class NoSavedKeys:
    """A store without keys."""

    def providers(self) -> Sequence[str]:
        """Return no provider."""
        return ()

    def get(self, provider: str) -> str | None:
        """Return None for every provider."""
        del provider
        return None
