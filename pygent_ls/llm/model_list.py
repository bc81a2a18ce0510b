"""Models that the user can choose, and whether each can be called; uses no network."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from pygent_ls.errors import ModelError, SettingError
from pygent_ls.llm.anthropic.model import AnthropicModel
from pygent_ls.llm.cli.programs import PREFIX, PRESETS, CliProgram
from pygent_ls.llm.keys.saved_keys import SavedKeys
from pygent_ls.llm.openai.chat_model import OpenAIModel
from pygent_ls.llm.packages import load, package_models
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.endpoints import Endpoints
from pygent_ls.llm.providers.known_providers import OFFLINE, PROVIDERS, Provider, first_set, provider_named
from pygent_ls.llm.providers.provider_keys import ProviderKey, find_key
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_configured_model, missing_extra, providers_of_bare

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MAX_A_PROVIDER = 40
"""Maximum number of models listed for one provider, to fit a menu."""

LOAD_S = 5.0
"""Maximum time to import a package before its models are listed."""

ANY = "ANY"
"""Placeholder name for any listed model."""

_DATED = re.compile(r"\d{4}-?\d{2}-?\d{2}$")
"""End of the names of dated models, which also have an undated name."""


class ListedModel(Struct, frozen=True, kw_only=True):
    """A model; `reason` says what is missing before it can be called, if anything."""

    name: str
    available: bool = True
    reason: str = ""
    key_variable: str = ""
    """Environment variable of its provider's key; empty if it needs none."""
    lacks_key: bool = False
    """Whether the key is what is missing."""


async def listed_models(
    named: Sequence[str],
    find: Callable[[str], str | None],
    endpoints: Endpoints,
    resources: ModelResources,
    environment: Mapping[str, str],
) -> Sequence[ListedModel]:
    """Return the models that the settings name, those of providers with a key, programs, and the offline model.

    A provider without a key is represented by its default model. Each name appears once, in this order.
    """
    lacking = _Lacking(endpoints, resources.saved_keys, environment, await providers_of_bare(endpoints, ANY, resources))
    keyed = [each.name for each in PROVIDERS if await asyncio.to_thread(lacking.has_key, each)]
    of_table = await resources.prices.chat_models(keyed)
    found = [await asyncio.to_thread(_judged, name, lacking, resources) for name in named]
    for provider in PROVIDERS:
        others = [name for name in of_table.get(provider.name, ()) if not _DATED.search(name)]
        models = [provider.default_model, *others][:MAX_A_PROVIDER]
        found += await asyncio.to_thread(lacking.judged, provider, models)
    for name, entry in package_models().items():
        found += await _of_package(name, entry)
    found += [_program(name, program, find) for name, program in {**PRESETS, **endpoints.common.programs}.items()]
    found.append(ListedModel(name=OFFLINE))
    return list({each.name: each for each in reversed(found)}.values())[::-1]


async def models_to_offer(provider: str, resources: ModelResources) -> Sequence[str]:
    """Return the models of a provider that the user may choose from, the default first."""
    known = provider_named(provider)
    of_table = (await resources.prices.chat_models([provider])).get(provider, ())
    others = [name for name in of_table if not _DATED.search(name) and "/ft:" not in name]
    named = [known.default_model] if known and known.default_model else []
    return list(dict.fromkeys([*named, *others]))[:MAX_A_PROVIDER]


class _Lacking(Struct, frozen=True):
    """Determines what a provider lacks before it can be called. May read saved keys."""

    endpoints: Endpoints
    saved: SavedKeys
    environment: Mapping[str, str]
    bare: Mapping[str, str]

    def judged(self, provider: Provider, names: Sequence[str], reason: str = "") -> Sequence[ListedModel]:
        """Return models of one provider, which all lack the same; `reason` is a problem found before."""
        endpoint = self._endpoint(provider, names[0])
        variable = endpoint.api_key_env or (provider.key_variables[0] if provider.needs_key else "")
        key = self._key(provider, endpoint)
        has_address = endpoint.api_base or first_set(provider.base_variables, self.environment)
        lacks_key = key is None and bool(endpoint.api_key_env or (provider.needs_key and not has_address))
        missing = key.problem if key is not None else f"{variable} is not set" if lacks_key else ""
        return [
            ListedModel(
                name=name,
                available=not (reason or missing),
                reason=reason or missing,
                key_variable=variable,
                lacks_key=lacks_key and not reason,
            )
            for name in names
        ]

    def has_key(self, provider: Provider, name: str = "") -> bool:
        """Return whether there is a key for a provider's models."""
        return self._key(provider, self._endpoint(provider, name)) is not None

    def _key(self, provider: Provider, endpoint: Endpoint) -> ProviderKey | None:
        return find_key(provider.name, provider.key_variables, endpoint, self.environment, self.saved)

    def _endpoint(self, provider: Provider, name: str) -> Endpoint:
        model = name or provider.default_model
        return self.endpoints.choose(model, provider.name, self.environment, bare=self.bare)


def _judged(name: str, lacking: _Lacking, resources: ModelResources) -> ListedModel:
    """Return a model that the settings name, with what is known to be missing."""
    reason = missing_extra(name)
    try:
        model = make_configured_model(name, lacking.endpoints, resources)
        if isinstance(model, OpenAIModel | AnthropicModel):
            model.check(lacking.environment)
    except (SettingError, ModelError) as error:
        reason = str(error)
    provider = provider_named(lacking.endpoints.provider_of(name) or "")
    if provider is None:
        return ListedModel(name=name, available=not reason, reason=reason)
    return lacking.judged(provider, [name], reason)[0]


async def _of_package(name: str, entry: EntryPoint) -> Sequence[ListedModel]:
    """Return the models that a package lists; of one that cannot be imported, why."""
    try:
        async with asyncio.timeout(LOAD_S):
            models = await asyncio.to_thread(load, entry)
    except (ModelError, TimeoutError) as error:
        return [ListedModel(name=f"{name}/MODEL", available=False, reason=str(error) or "it is still being imported")]
    return [ListedModel(name=f"{name}/{each}") for each in models.names] or [ListedModel(name=f"{name}/MODEL")]


def _program(name: str, program: CliProgram, find: Callable[[str], str | None]) -> ListedModel:
    command = program.command[0]
    whole = f"{PREFIX}{name}" + ("/MODEL" if program.needs_model else "")
    if find(command) is None:
        return ListedModel(name=whole, available=False, reason=f"{command} was not found")
    return ListedModel(name=whole)
