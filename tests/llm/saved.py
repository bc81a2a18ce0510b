"""A store of saved keys that holds them in memory."""

from __future__ import annotations

from collections.abc import Mapping


class SavedInMemory:
    """Implements `SavedKeys`; `asked` lists the providers in the order of the questions."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._keys = keys
        self.asked: list[str] = []

    def providers(self) -> list[str]:
        """Return those with a key."""
        return list(self._keys)

    def get(self, provider: str) -> str | None:
        """Return the key of a provider."""
        self.asked.append(provider)
        return self._keys.get(provider)
