"""Choice of a model's endpoint from the settings of its own provider only. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from msgspec import Struct, field

from pygent_ls.errors import SettingError
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.known_providers import OFFLINE, SCRIPTED, first_set, provider_named
from pygent_ls.llm.providers.litellm_providers import NAMES

CLI = "cli:"
LITELLM = "litellm/"

NO_PROVIDER = ""
"""Provider of a name with no known prefix: a model of the server that the settings name."""

_SAME_SERVER: Mapping[str, str] = {
    "ai21_chat": "ai21",
    "azure_text": "azure",
    "bedrock_converse": "bedrock",
    "cohere_chat": "cohere",
    "ollama": "ollama_chat",
    "sagemaker_chat": "sagemaker",
    "text-completion-openai": "openai",
    "vertex_ai_beta": "vertex_ai",
}
"""litellm's alternative names of one provider, which share its key."""

_CLAUDE_HOSTS = frozenset({"anthropic", "azure_ai", "bedrock", "bedrock_converse", "vertex_ai", "vertex_ai_beta"})
"""Providers that accept Anthropic's beta names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """The user's settings for one provider. Empty values leave the choice to settings of lower precedence."""

    api_base: str = ""
    api_key_env: str = ""
    extra_headers: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str], repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is set."""
        return not (self.api_base or self.api_key_env or self.extra_headers)


NOTHING_SET = ProviderSettings()


class AllowedModels(Struct, frozen=True, kw_only=True):
    """Models that the administrator of the machine allows; by default all."""

    file: str = ""
    """Path of the file that says so, for messages."""
    globs: tuple[str, ...] | None = None
    """Globs of their names; None for all. The offline model, which sends nothing, is always allowed."""
    problem: str = ""
    """Why no model may be used; empty if those that match may."""

    def check(self, name: str) -> None:
        """Raise `SettingError` for a model that may not be used."""
        if self.problem:
            raise SettingError(self.problem)
        if not self.allows(name):
            allowed = ", ".join(self.globs or ()) or "none"
            raise SettingError(f"The model {name.strip()} is locked by {self.file}, which allows only: {allowed}.")

    def allows(self, name: str) -> bool:
        """Whether the model may be used."""
        name = name.strip()
        return self.globs is None or name == OFFLINE or any(fnmatchcase(name, each) for each in self.globs)


class Endpoints(Struct, frozen=True, kw_only=True):
    """Settings of all providers; `choose` returns the endpoint of one."""

    model: str = ""
    """Configured or default model. `top_level` belongs to its provider."""
    top_level: ProviderSettings = NOTHING_SET
    set_with_other_models: Mapping[str, ProviderSettings] = field(default_factory=dict[str, ProviderSettings])
    """Top-level settings from layers whose `model` is overridden, by that model: they belong to its provider."""
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict[str, ProviderSettings])
    """The `[providers.NAME]` tables, by name."""
    common: Endpoint = field(default_factory=Endpoint)
    """Settings common to all models: timeouts, betas, programs, prices. It has no address, key or header."""
    allowed: AllowedModels = field(default_factory=AllowedModels)

    @property
    def key_variables(self) -> frozenset[str]:
        """Environment variables that the user names as holding a key."""
        named = (self.top_level, *self.set_with_other_models.values(), *self.providers.values())
        return frozenset(each.api_key_env for each in named if each.api_key_env)

    def provider_of(self, name: str) -> str | None:
        """Return the provider of a model string.

        None: the string is a bare name (`gpt-5`), whose provider is looked up in litellm's table. `NO_PROVIDER`: it
        begins with no known provider, or needs none.
        """
        name = name.strip()
        if needs_no_provider(name):
            return NO_PROVIDER
        prefix, slash, _ = name.removeprefix(LITELLM).partition("/")
        if not slash:
            return None
        return prefix if prefix in self.providers or is_known_provider(prefix) else NO_PROVIDER

    def bare_models(self, name: str) -> frozenset[str]:
        """Return the bare names whose providers determine the endpoint of this model."""
        others = (model for model, settings in self._groups() if model != name.strip() and not settings.is_empty)
        return frozenset() if needs_no_provider(name) else frozenset(each for each in others if self._is_bare(each))

    def _is_bare(self, name: str) -> bool:
        return self.provider_of(name) is None

    def _groups(self) -> Iterator[tuple[str, ProviderSettings]]:
        """Yield the top-level settings, each with the model whose provider they belong to; highest precedence last."""
        for model, settings in self.set_with_other_models.items():
            yield model.strip(), settings
        yield self.model.strip(), self.top_level

    def choose(
        self,
        name: str,
        provider: str,
        environment: Mapping[str, str],
        *,
        bare: Mapping[str, str] | None = None,
        agent_base: str = "",
    ) -> Endpoint:
        """Return the endpoint of the model `name` of `provider`.

        `bare` maps each of `bare_models` to its provider. `agent_base` is the address that the agent configures for its
        model.
        """
        own = self._settings_of(name, provider, bare or {})
        found = replace(
            self.common,
            api_base=own.api_base or None,
            api_base_setting=self._where(provider),
            api_key_env=own.api_key_env or None,
            extra_headers=dict(own.extra_headers),
            betas=self.common.betas if provider in _CLAUDE_HOSTS else (),
        )
        return _at_agents_address(found, provider, agent_base, environment) if agent_base else found

    def _settings_of(self, name: str, provider: str, bare: Mapping[str, str]) -> ProviderSettings:
        """Merge all settings of the provider, ignoring those for a server other than the one that is finally chosen."""
        found = ProviderSettings()
        for model, settings in self._groups():
            if self._belongs(name, provider, model, bare):
                found = _merged(found, settings)
        return _merged(found, self._table(provider))

    def _belongs(self, name: str, provider: str, model: str, bare: Mapping[str, str]) -> bool:
        """Whether the top-level settings of `model` apply to the model `name` of `provider`."""
        if needs_no_provider(name) or needs_no_provider(model):
            return False
        own = self.provider_of(model)
        own = bare.get(model) if own is None else own
        is_same = own is not None and _SAME_SERVER.get(provider, provider) == _SAME_SERVER.get(own, own)
        return name.strip() == model or is_same

    def _table(self, provider: str) -> ProviderSettings:
        same = (each for each in self.providers if _SAME_SERVER.get(each, each) == _SAME_SERVER.get(provider, provider))
        return self.providers.get(provider) or self.providers.get(next(same, ""), NOTHING_SET)

    def _where(self, provider: str) -> str:
        return f"providers.{provider}.api_base" if self._table(provider).api_base else "api_base"


def _merged(weaker: ProviderSettings, stronger: ProviderSettings) -> ProviderSettings:
    if weaker.api_base and stronger.api_base and not is_same_server(weaker.api_base, stronger.api_base):
        weaker = NOTHING_SET
    return ProviderSettings(
        api_base=stronger.api_base or weaker.api_base,
        api_key_env=stronger.api_key_env or weaker.api_key_env,
        extra_headers={**weaker.extra_headers, **stronger.extra_headers},
    )


def is_known_provider(name: str) -> bool:
    """Whether pygent-ls or litellm knows a provider of that name."""
    return name in NAMES or provider_named(name) is not None


def is_same_server(one: str, other: str) -> bool:
    """Whether two addresses have the same scheme, host and port; all names of the loopback interface are one host."""
    return _server(one) == _server(other)


def _at_agents_address(found: Endpoint, provider: str, agent_base: str, environment: Mapping[str, str]) -> Endpoint:
    """Return the endpoint at the address that an agent configures.

    A key belongs to the server configured for its provider. If the agent's address is another server, neither key nor
    headers are sent. If no server is configured, the agent's address counts as the user's configuration of the
    provider.
    """
    known = provider_named(provider)
    usual = (f"{provider.upper().replace('-', '_')}_API_BASE",)  # litellm's convention
    variable = first_set(known.base_variables if known else usual, environment)
    configured = found.api_base or (environment[variable] if variable else "")
    at = replace(found, api_base=agent_base, api_base_setting="agents.NAME.api_base")
    if configured and not is_same_server(configured, agent_base):
        return replace(at, api_key_env=None, extra_headers={}, keys="none")
    is_usual = is_same_server(configured or (known.address if known else ""), agent_base)
    return at if is_usual else replace(at, keys="environment")


def needs_no_provider(name: str) -> bool:
    """Whether a model string names a program, a script or the offline model, or is empty."""
    name = name.strip()
    return not name or name == OFFLINE or name.startswith((SCRIPTED, CLI))


def is_loopback(address: str) -> bool:
    """Whether a server is on this machine."""
    return _server(address)[1] == "localhost"


def _server(address: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(address.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return address, "", None
    is_loopback = host in ("localhost", "::1") or host.startswith("127.")
    return parts.scheme, "localhost" if is_loopback else host, port or {"http": 80, "https": 443}.get(parts.scheme)
