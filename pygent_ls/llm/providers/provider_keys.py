"""Lookup of a provider's key and its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pygent_ls.errors import ModelError
from pygent_ls.llm.keys.saved_keys import NoSavedKeys, SavedKeys
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.known_providers import first_set

NO_SAVED_KEYS = NoSavedKeys()

SAVED = "saved by pygent-ls setup"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderKey:
    """A key and its source."""

    value: str = field(repr=False)
    source: str
    """Name of the environment variable, or `SAVED`; empty for a key passed by the caller."""

    @property
    def problem(self) -> str:
        """Why the key cannot be sent, as a sentence; empty if it is valid."""
        if can_be_sent(self.value):
            return ""
        where = f"The key {SAVED}" if self.source == SAVED else f"The value of {self.source or 'the key'}"
        return f"{where} is not a valid key: it contains a line break or another invalid character. Set it again."


def can_be_sent(key: str) -> bool:
    """Whether a header can hold the key."""
    return key.isascii() and key.isprintable()


def sendable(key: ProviderKey | None, provider: str) -> ProviderKey | None:
    """Return the key. Raises `ModelError` if it cannot be sent."""
    if key is not None and key.problem:
        raise ModelError(key.problem, type="auth", provider=provider)
    return key


def find_key(
    provider: str, variables: Sequence[str], endpoint: Endpoint, environment: Mapping[str, str], saved: SavedKeys
) -> ProviderKey | None:
    """Return the key that may be sent to an endpoint: from `api_key_env`, else the provider's variables, else saved.

    If `api_key_env` is set, no other source counts. May read a file or the keyring.
    """
    if endpoint.api_key:
        return ProviderKey(value=endpoint.api_key, source="")
    if endpoint.keys == "none":
        return None
    variable = endpoint.api_key_env or first_set(tuple(variables), environment)
    if variable:
        value = environment.get(variable, "").strip()  # a trailing line break, as from a file, is not part of the key
        return ProviderKey(value=value, source=variable) if value else None
    value = (saved.get(provider) or "").strip() if endpoint.keys == "all" else ""
    return ProviderKey(value=value, source=SAVED) if value else None
