"""Resolution of a model string and an endpoint to a call target of our own adapters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pygent_ls.errors import ModelError
from pygent_ls.llm.errors.model_errors import Called, how_to_set_key, shown
from pygent_ls.llm.keys.saved_keys import SavedKeys
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.known_providers import Provider, first_set
from pygent_ls.llm.providers.provider_keys import NO_SAVED_KEYS, SAVED, ProviderKey, find_key, sendable

AUTH_TOKEN = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105 - a name
"""Variable with a token for the `Authorization` header, as gateways before Anthropic require; not an Anthropic key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeTarget:
    """Where and with which key a model is called."""

    name: str
    """The model string that selected it."""
    provider: Provider
    model: str
    """Its name at the provider."""
    base: str
    """Base address, without a trailing slash."""
    is_own_address: bool
    """Whether requests go to the provider's own servers and not to a compatible one."""
    key: str | None = field(repr=False)
    key_source: str
    """Variable or store that provides the key; empty without a key, or if the caller provided it."""
    is_token: bool
    """Whether the key is a token for the `Authorization` header, whatever the provider is."""
    called: Called = field(repr=False)


def native_target(
    name: str,
    provider: Provider,
    model: str,
    endpoint: Endpoint,
    env: Mapping[str, str],
    saved: SavedKeys = NO_SAVED_KEYS,
) -> NativeTarget:
    """Return the target of a model. May read a saved key.

    Raises `ModelError` for a missing key or an invalid address.
    """
    configured, base_variable = _configured(provider, endpoint, env)
    base = _address(configured or provider.address, provider)
    if not is_address(base):
        where = (
            f"setting `{endpoint.api_base_setting}`" if endpoint.api_base else f"environment variable {base_variable}"
        )
        raise ModelError(
            (
                f"The {where} is not an HTTP address: {shown(configured or '')!r}. It must start with http:// or "
                "https://."
            ),
            type="invalid_request",
        )
    key = sendable(find_key(provider.name, provider.key_variables, endpoint, env, saved), provider.name)
    variable = _variable(provider, endpoint, key)
    if key is None and (endpoint.api_key_env or (provider.needs_key and configured is None)):
        message = f"No key for {provider.name}. {how_to_set_key(variable, provider.name)}"
        raise ModelError(message, type="auth", provider=provider.name)
    value = key.value if key else None
    keys = (value or "", *(env.get(each, "") for each in provider.key_variables), *endpoint.secrets)
    return NativeTarget(
        name=name,
        provider=provider,
        model=_model(model, provider),
        base=base,
        is_own_address=urlsplit(base).hostname == urlsplit(provider.address).hostname,
        key=value,
        key_source=key.source if key else "",
        is_token=key is not None and key.source == AUTH_TOKEN,
        called=Called(name=name, provider=provider.name, address=configured, key_variable=variable, keys=keys),
    )


def base_of(provider: Provider, endpoint: Endpoint, env: Mapping[str, str]) -> str:
    """Return the address that models of a provider are called at, valid or not."""
    configured, _ = _configured(provider, endpoint, env)
    return _address(configured or provider.address, provider)


def _configured(provider: Provider, endpoint: Endpoint, env: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return the address of the settings or the environment, and the variable that is set there."""
    variable = first_set(provider.base_variables, env)
    return endpoint.api_base or (env[variable] if variable else None), variable


def _address(given: str, provider: Provider) -> str:
    base, version = given.strip().rstrip("/"), provider.habits.version_path
    return base if base.endswith(version) else base + version


def _variable(provider: Provider, endpoint: Endpoint, key: ProviderKey | None) -> str:
    """Return what the user should check if the key is missing or refused."""
    if key is not None and key.source:
        return f"the key {key.source}" if key.source == SAVED else key.source
    if endpoint.api_key_env or provider.key_variables:
        return endpoint.api_key_env or provider.key_variables[0]
    return "the setting `api_key_env`"


def _model(model: str, provider: Provider) -> str:
    prefix = provider.habits.model_prefix
    return model if not prefix or model.startswith("accounts/") else prefix + model


def is_address(text: str) -> bool:
    """Whether a text is an HTTP address."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
