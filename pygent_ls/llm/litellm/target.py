"""Resolution of a model string and an endpoint for litellm. It is passed the library, and does not import it."""

from __future__ import annotations

import os
from typing import Any

from msgspec import Struct

from pygent_ls.errors import ModelError
from pygent_ls.llm.errors.model_errors import Called, how_to_set_key, model_error, shown
from pygent_ls.llm.http.target import AUTH_TOKEN, is_address
from pygent_ls.llm.keys.saved_keys import SavedKeys
from pygent_ls.llm.message_rules import RULES, MessageRules, rules_of
from pygent_ls.llm.providers.endpoint import NO_KEY, Endpoint
from pygent_ls.llm.providers.known_providers import first_set, key_variable, provider_named
from pygent_ls.llm.providers.litellm_providers import (
    HAS_OTHER_CREDENTIALS,
    JUDGED,
    SAME_CREDENTIALS,
    has_requirements,
    key_names,
    missing_variables,
)
from pygent_ls.llm.providers.provider_keys import NO_SAVED_KEYS, SAVED, ProviderKey, find_key, sendable

_OPENAI_HANDLERS = frozenset({"aiohttp_openai", "custom_openai", "openai_like"})
"""Providers outside `openai_compatible_providers` for which litellm falls back to OPENAI_API_KEY."""


class LitellmTarget(Struct, frozen=True, kw_only=True):
    """What litellm calls for a model string."""

    model: str
    """Model string passed to litellm."""
    bare: str
    """Model name without its provider."""
    api_key: str | None
    called: Called

    @property
    def family(self) -> str:
        """Family of the model: Claude and Gemini accept their own data wherever they run."""
        for vendor, family in (("claude", "anthropic"), ("gemini", "gemini")):
            if vendor in self.bare:
                return family
        return self.called.provider

    @property
    def rules(self) -> MessageRules:
        """The model's rules for the conversation."""
        return rules_of(self.family if self.family in RULES else f"{self.family}/{self.bare}")


class EnvironmentCheck(Struct, frozen=True, kw_only=True):
    """litellm's check of the variables of a model's provider."""

    provider: str
    missing: tuple[str, ...]
    is_judged: bool
    """Whether litellm checks this provider at all; if not, `missing` is empty."""


class _NamedModel(Struct, frozen=True):
    """A model string as litellm parses it."""

    model: str
    bare: str
    provider: str
    """Empty if litellm knows none; the configured server is then called as OpenAI-compatible."""
    found_key: str | None
    """The provider's key, if litellm already found it in the environment."""


class TargetChoice(Struct, frozen=True):
    """A model string and an endpoint to be resolved."""

    name: str
    endpoint: Endpoint
    litellm: Any
    saved: SavedKeys = NO_SAVED_KEYS

    def target(self) -> LitellmTarget:
        """Return what to call. May read a saved key. Raises `ModelError` if the model can never be called."""
        named = self._named()
        known = provider_named(named.provider)
        variables = known.key_variables if known else key_names(named.provider)
        base_variable = first_set(known.base_variables, os.environ) if known else None
        address = self.endpoint.api_base or (os.environ[base_variable] if base_variable else None)
        if address is not None and not is_address(address):
            is_set = self.endpoint.api_base
            where = f"setting `{self.endpoint.api_base_setting}`" if is_set else f"environment variable {base_variable}"
            raise ModelError(
                (f"The {where} is not an HTTP address: {shown(address)!r}. It must start with http:// or https://."),
                type="invalid_request",
            )
        found = find_key(named.provider, variables, self.endpoint, os.environ, self.saved)
        key = sendable(found, named.provider)
        called = Called(
            name=self.name,
            provider=named.provider or shown(address or ""),
            address=address,
            key_variable=self._variable(named.provider, variables, key),
            keys=(
                key.value if key else "",
                *(os.environ.get(variable, "") for variable in variables),
                *self.endpoint.secrets,
            ),
        )
        return LitellmTarget(
            model=named.model,
            bare=named.bare,
            api_key=self._key(named, key, called),
            called=called,
        )

    def environment(self) -> EnvironmentCheck:
        """Return the result of litellm's own check. Raises `ModelError` for a name without a known provider."""
        provider = self._named().provider
        checked = SAME_CREDENTIALS.get(provider, provider)
        said = self.litellm.validate_environment(f"{checked}/{self.name}")
        missing = tuple(map(str, said["missing_keys"]))
        return EnvironmentCheck(provider=provider, missing=missing, is_judged=bool(missing) or checked in JUDGED)

    def _named(self) -> _NamedModel:
        api_base = self.endpoint.api_base
        try:
            bare, provider, key, _ = self.litellm.get_llm_provider(model=self.name, api_base=api_base)
        except self.litellm.exceptions.BadRequestError as error:
            if self.name and api_base:
                return _NamedModel(f"openai/{self.name}", self.name, "", None)
            called = Called(name=self.name, provider="", address=None, key_variable="")
            raise model_error(error, called) from None
        return _NamedModel(self.name, bare, provider, key)

    def _variable(self, provider: str, variables: tuple[str, ...], key: ProviderKey | None) -> str:
        """Return what the user should check if the key is missing or refused."""
        if key is not None and key.source:
            return f"the key {SAVED}" if key.source == SAVED else key.source
        if self.endpoint.api_key_env or variables:
            return self.endpoint.api_key_env or variables[0]
        return key_variable(provider) if provider else "the setting `api_key_env`"

    def _key(self, named: _NamedModel, key: ProviderKey | None, called: Called) -> str | None:
        """Return the key to pass; None if litellm finds the provider's own, or none is needed."""
        if key is not None:
            is_found = key.source not in ("", SAVED) and not self.endpoint.api_key_env
            is_left = key.source == AUTH_TOKEN or (is_found and self._is_left_to_litellm(named))
            return None if is_left else key.value
        if not self.endpoint.api_key_env and (self.endpoint.keys == "none" or not self._lacks_key(named, called)):
            is_known = self.endpoint.keys == "none" or provider_named(named.provider) is not None
            return None if not is_known and self._is_left_to_litellm(named) else NO_KEY
        message = f"No key for {called.provider}. {how_to_set_key(called.key_variable, called.provider)}"
        raise ModelError(message, type="auth", provider=called.provider)

    def _lacks_key(self, named: _NamedModel, called: Called) -> bool:
        """Whether the provider's required key is missing; for some providers only litellm can tell."""
        if called.address:
            return False
        known = provider_named(named.provider)
        if known is not None:
            return known.needs_key
        return bool(missing_variables(named.provider, os.environ, has_key=False, has_address=True))

    def _is_left_to_litellm(self, named: _NamedModel) -> bool:
        """Whether litellm may look for credentials without a risk of using another provider's key.

        If it finds no key for a provider that it treats as OpenAI-compatible, it sends OPENAI_API_KEY.
        """
        if named.found_key or named.provider in HAS_OTHER_CREDENTIALS:
            return True
        if not named.provider or provider_named(named.provider) is not None or has_requirements(named.provider):
            return False
        return named.provider not in {*self.litellm.openai_compatible_providers, *_OPENAI_HANDLERS}
