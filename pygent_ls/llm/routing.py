"""Selection of the model and adapter for a model string. An adapter is imported for the first model that needs it."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.ports.model import Model
from pygent_ls.errors import ModelError, SettingError
from pygent_ls.llm.cli.programs import PREFIX as CLI_PREFIX
from pygent_ls.llm.errors.model_errors import NO_PROVIDER as UNKNOWN_PROVIDER
from pygent_ls.llm.errors.model_errors import shown
from pygent_ls.llm.http.call import Native
from pygent_ls.llm.http.library import in_thread
from pygent_ls.llm.http.library import start_loading as start_loading_http
from pygent_ls.llm.http.model import NativeModel
from pygent_ls.llm.http.target import base_of, is_address
from pygent_ls.llm.litellm.loader import LitellmLoader
from pygent_ls.llm.openai.responses_request import needs_responses
from pygent_ls.llm.providers.endpoint import Endpoint
from pygent_ls.llm.providers.endpoints import NO_PROVIDER, Endpoints, is_known_provider
from pygent_ls.llm.providers.known_providers import (
    EXTRAS,
    LITELLM_PREFIX,
    OFFLINE,
    SCRIPTED,
    Provider,
    compatible_provider,
    provider_named,
)
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routed_model import RoutedModel
from pygent_ls.llm.text_tools.model import TextToolCalls, TextToolCallsSetting

_BARE_NAMES: Mapping[str, str] = {
    r"claude-": "anthropic",
    r"(chat)?gpt-|o\d": "openai",
    r"gemini-": "gemini",
    r"mistral-|codestral|devstral": "mistral",
    r"deepseek-": "deepseek",
    r"grok-": "xai",
}
"""Prefixes of model names newer than the table, with their providers."""


def make_model(name: str, endpoint: Endpoint, resources: ModelResources) -> Model:
    """Return the model of that name at a given endpoint, whatever its provider, as `make_configured_model` describes.

    Raises `SettingError` for an invalid name.
    """
    return _Router(resources=resources, choose=lambda _: endpoint).model(name)


def make_turn_model(name: str, endpoint: Endpoint, resources: ModelResources) -> Model:
    """Return the same model, with its tools as text if the setting asks for it or the model supports no others."""
    return with_text_tools(make_model(name, endpoint, resources), endpoint.text_tool_calls)


def make_configured_model(name: str, endpoints: Endpoints, resources: ModelResources, *, agent_base: str = "") -> Model:
    """Return the model of that name: `cli:NAME`, `scripted:FILE`, `offline/rules`, or any litellm string.

    It is called at the endpoint of its own provider, or at the address that its agent configures. Chat completions and
    Anthropic's Messages API are called by our own adapters; everything else, and `litellm/…`, through litellm. Nothing
    is loaded yet. A `scripted:` model keeps its position in the file: create it once per session. Raises `SettingError`
    for an invalid name, and for a model that the administrator does not allow.
    """
    endpoints.allowed.check(name)
    own_names = frozenset(endpoints.providers)

    def router(bare: Mapping[str, str]) -> _Router:
        def choose(provider: str) -> Endpoint:
            return endpoints.choose(name, provider, os.environ, bare=bare, agent_base=agent_base)

        return _Router(resources=resources, choose=choose, own_names=own_names)

    async def route() -> Model:
        model = router(await providers_of_bare(endpoints, name, resources)).model(name)
        return await model.routed() if isinstance(model, RoutedModel) else model

    return RoutedModel(name.strip(), route) if endpoints.bare_models(name) else router({}).model(name)


def with_text_tools(model: Model, setting: TextToolCallsSetting) -> Model:
    """Return the model with its tools as text, if the setting requires or permits that."""
    if setting == "off" or model.name == OFFLINE or model.name.startswith(CLI_PREFIX):
        return model  # programs take tools as text already
    return model if setting == "auto" and model.name.startswith(SCRIPTED) else TextToolCalls(model, setting)


async def providers_of_bare(endpoints: Endpoints, name: str, resources: ModelResources) -> Mapping[str, str]:
    """Return the providers of the bare names that determine a model's endpoint, from litellm's table."""
    return {bare: await _provider_of(bare, resources) for bare in endpoints.bare_models(name)}


def adapter_of(model: Model) -> str:
    """Return the name of a model's adapter, as shown to the user; call it after `prepare`."""
    from pygent_ls.llm.anthropic.model import AnthropicModel
    from pygent_ls.llm.cli.model import CliModel
    from pygent_ls.llm.litellm.model import LitellmModel
    from pygent_ls.llm.openai.chat_model import OpenAIModel
    from pygent_ls.llm.openai.responses_model import ResponsesModel
    from pygent_ls.llm.packages import PackageModel

    match model:
        case ResponsesModel():
            return "OpenAI's Responses API (built in)"
        case OpenAIModel():
            return "chat completions API (built in)"
        case AnthropicModel():
            return "Anthropic's Messages API (built in)"
        case LitellmModel() | PackageModel():
            return "litellm" if isinstance(model, LitellmModel) else "an installed package"
        case RoutedModel(chosen=chosen):
            return adapter_of(chosen) if chosen else "chosen at the first call"
        case TextToolCalls(inner=inner):
            return adapter_of(inner)
        case CliModel(command=command):
            return f"the program {command[0]}, run for each answer, outside the sandbox"
        case _:
            return "none needed"


def start_loading(model: Model) -> None:
    """Load in the background what the model's first call would wait for."""
    match model:
        case NativeModel():
            start_loading_http()
            in_thread(partial(_load_certificates, model.native))
        case RoutedModel():
            start_loading_http()
        case TextToolCalls(inner=inner):
            start_loading(inner)
        case object(loader=LitellmLoader() as loader):
            loader.start()
        case _:
            pass


def _load_certificates(native: Native) -> None:
    """Load the certificates if the model is called by https."""
    start_loading_http().wait()  # else a first call would wait longer
    if base_of(native.provider, native.endpoint, os.environ).startswith("https:"):
        with suppress(OSError):  # which the first call reports
            native.resources.connections.load_certificates()


def missing_extra(name: str) -> str:
    """Return what must be installed for a model's provider, as a sentence; empty if nothing is missing."""
    provider = name.removeprefix(LITELLM_PREFIX).partition("/")[0]
    module, extra = EXTRAS.get(provider, ("", ""))
    if not module or _is_installed(module):
        return ""
    return f"{provider} needs a package that is not installed: pip install 'pygent-ls[{extra}]'"


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


def _scripted(name: str) -> Model:
    from pygent_ls.llm.scripted.model import ScriptedModel

    file = name.removeprefix(SCRIPTED)
    if not file:
        raise SettingError(f"The model {name!r} does not name a file. Write {SCRIPTED}FILE.")
    return ScriptedModel(Path(file))


def _program(name: str, endpoint: Endpoint, resources: ModelResources) -> Model:
    if resources.cli is None:
        raise SettingError(f"The model {name!r} is a program, and programs cannot be run here.")
    around = replace(
        resources.cli,
        own=endpoint.programs,
        first_byte_timeout_s=endpoint.first_byte_timeout_s,
        idle_timeout_s=endpoint.idle_timeout_s,
        text_tool_calls=endpoint.text_tool_calls != "off",
    )
    return around.model(name)


async def _provider_of(bare: str, resources: ModelResources) -> str:
    """Return the provider of a model named without one; `NO_PROVIDER` if it is unknown."""
    listed = await resources.prices.provider_of(bare.removeprefix(LITELLM_PREFIX))
    if listed.startswith("vertex_ai-"):  # the table separates Google's vendors: `vertex_ai-anthropic_models`
        return "vertex_ai"
    begins = (each for start, each in _BARE_NAMES.items() if re.match(start, bare.removeprefix(LITELLM_PREFIX)))
    return listed or next(begins, NO_PROVIDER)


class _Router(Struct, frozen=True, kw_only=True):
    """Creates models; `choose` returns the endpoint of a provider."""

    resources: ModelResources
    choose: Callable[[str], Endpoint]
    own_names: frozenset[str] = frozenset()
    """Providers that the settings configure."""

    def model(self, name: str) -> Model:
        """Return the model of that name. Raises `SettingError`."""
        name = name.strip()
        if not name:
            raise SettingError("The setting `model` is empty. Set a model, or remove the setting to have one chosen.")
        if name == OFFLINE:
            from pygent_ls.llm.offline.model import OfflineModel  # callers of a provider do not need its grammar

            return OfflineModel()
        if name.startswith(SCRIPTED):
            return _scripted(name)
        if name.startswith(CLI_PREFIX):
            return _program(name, self.choose(NO_PROVIDER), self.resources)
        prefix, slash, bare = name.removeprefix(LITELLM_PREFIX).partition("/")
        if not slash:
            return self._by_bare_name(name)
        if name.startswith(LITELLM_PREFIX):
            return self._through_litellm(name, prefix)
        return self._by_provider(name, prefix, bare)

    def _by_provider(self, name: str, prefix: str, bare: str) -> Model:
        known = provider_named(prefix)
        if known is not None and known.protocol != "litellm" and bare:
            return self._native(name, known, bare)
        if bare and not is_known_provider(prefix):
            from pygent_ls.llm.packages import PackageModel, package_models

            is_own = prefix in self.own_names
            if not is_own and prefix in package_models():
                return PackageModel(name, package_models()[prefix], self.choose(NO_PROVIDER))
            endpoint = self.choose(prefix if is_own else NO_PROVIDER)
            if endpoint.api_base:
                return self._compatible(name, endpoint, prefix if is_own else "", bare if is_own else name)
            if is_own:
                raise SettingError(f"The provider {prefix} has no known address. Set `providers.{prefix}.api_base`.")
        return self._through_litellm(name, prefix if is_known_provider(prefix) else NO_PROVIDER)

    def _by_bare_name(self, name: str) -> Model:
        async def route() -> Model:
            found = await _provider_of(name, self.resources)
            provider = provider_named(found)
            if name.startswith(LITELLM_PREFIX):
                return self._through_litellm(name, found)
            if provider is not None and provider.protocol != "litellm":
                return self._native(name, provider, name)
            if found:
                return self._through_litellm(name, found)
            endpoint = self.choose(NO_PROVIDER)
            if endpoint.api_base and is_address(endpoint.api_base):
                return self._compatible(name, endpoint, "", name)
            raise ModelError(UNKNOWN_PROVIDER.format(name=name), type="invalid_request")

        return RoutedModel(name, route)

    def _through_litellm(self, name: str, provider: str) -> Model:
        from pygent_ls.llm.litellm.model import LitellmModel

        resources = self.resources
        return LitellmModel(
            name,
            self.choose(provider),
            resources.loader,
            resources.prices,
            resources.refusals,
            saved_keys=resources.saved_keys,
        )

    def _compatible(self, name: str, endpoint: Endpoint, provider: str, model: str) -> Model:
        """Return a model at the user's own server, which receives no key except the one that the settings name."""
        own = compatible_provider(provider or shown(endpoint.api_base or "").partition("://")[2].partition("/")[0])
        native = Native(name=name, provider=own, model=model, endpoint=endpoint, resources=self.resources)
        return _of_openai(native, is_of_responses=needs_responses(model))

    def _native(self, name: str, provider: Provider, bare: str) -> Model:
        endpoint, resources = self.choose(provider.name), self.resources
        native = Native(name=name, provider=provider, model=bare, endpoint=endpoint, resources=resources)
        if provider.protocol == "messages":
            from pygent_ls.llm.anthropic.model import AnthropicModel

            return AnthropicModel(native)
        return _of_openai(native, is_of_responses=provider.name == "openai" and needs_responses(bare))


def _of_openai(native: Native, *, is_of_responses: bool) -> Model:
    if is_of_responses:
        from pygent_ls.llm.openai.responses_model import ResponsesModel

        return ResponsesModel(native)
    from pygent_ls.llm.openai.chat_model import OpenAIModel

    return OpenAIModel(native)
