"""Which model a name stands for, and through which adapter. Imports nothing heavy."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pygent_ls.agent.model import Model
from pygent_ls.errors import ModelError, SettingError
from pygent_ls.llm.anthropic.model import AnthropicModel
from pygent_ls.llm.cli.model import CliModel
from pygent_ls.llm.cli.programs import PREFIX as CLI_PREFIX
from pygent_ls.llm.endpoint import Endpoint
from pygent_ls.llm.errors import NO_PROVIDER
from pygent_ls.llm.http.call import Native
from pygent_ls.llm.http.target import is_address
from pygent_ls.llm.litellm.model import PREFIX as LITELLM_PREFIX
from pygent_ls.llm.litellm.model import LitellmModel
from pygent_ls.llm.openai.chat_model import OpenAIModel
from pygent_ls.llm.openai.responses_model import ResponsesModel
from pygent_ls.llm.openai.responses_request import needs_responses
from pygent_ls.llm.providers import EXTRAS, OFFLINE, SCRIPTED, Provider, provider_named
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routed_model import RoutedModel
from pygent_ls.llm.text_tools.model import TextToolCalls

_BARE_NAMES: Mapping[str, str] = {
    r"claude-": "anthropic",
    r"(chat)?gpt-|o\d": "openai",
    r"gemini-": "gemini",
    r"mistral-|codestral|devstral": "mistral",
    r"deepseek-": "deepseek",
    r"grok-": "xai",
}
"""How names begin that are newer than the table."""


def make_model(name: str, endpoint: Endpoint, resources: ModelResources) -> Model:
    """The model of that name: `cli:NAME`, `scripted:FILE`, `offline/rules`, or any litellm string. Loads nothing yet.

    What speaks chat completions or Anthropic's Messages API is called by our own adapters; everything else, and
    `litellm/…`, through litellm. A `scripted:` model keeps its place in the file: make it once a session. Raises
    `SettingError` for a name that can be none.
    """
    name = name.strip()
    if not name:
        raise SettingError("The setting `model` is empty: give a model, or leave it out to have one chosen.")
    if name == OFFLINE:
        from pygent_ls.llm.offline.model import OfflineModel  # who calls a provider has no use for its grammar

        return OfflineModel()
    if name.startswith(SCRIPTED):
        return _scripted(name)
    if name.startswith(CLI_PREFIX):
        return _program(name, endpoint, resources)
    if name.startswith(LITELLM_PREFIX):
        return _through_litellm(name, endpoint, resources)
    provider, slash, bare = name.partition("/")
    if not slash:
        return _by_bare_name(name, endpoint, resources)
    known = provider_named(provider)
    if known is None or known.protocol == "litellm" or not bare:
        return _through_litellm(name, endpoint, resources)
    return _native(name, known, bare, endpoint, resources)


def make_turn_model(name: str, endpoint: Endpoint, resources: ModelResources) -> Model:
    """The same, and its tools are text where that is wanted, or where it turns out to have no other."""
    model = make_model(name, endpoint, resources)
    setting = endpoint.text_tool_calls
    if setting == "off" or model.name == OFFLINE or isinstance(model, CliModel):  # a program's are text already
        return model
    return model if setting == "auto" and model.name.startswith(SCRIPTED) else TextToolCalls(model, setting)


def adapter_of(model: Model) -> str:
    """Through what a model is called, in words for a person; ask once it is prepared."""
    match model:
        case ResponsesModel():
            return "OpenAI's Responses API, spoken by pygent-ls itself"
        case OpenAIModel():
            return "chat completions, spoken by pygent-ls itself"
        case AnthropicModel():
            return "Anthropic's Messages API, spoken by pygent-ls itself"
        case LitellmModel():
            return "litellm"
        case RoutedModel(chosen=chosen):
            return adapter_of(chosen) if chosen else "chosen with the first call"
        case TextToolCalls(inner=inner):
            return adapter_of(inner)
        case CliModel(command=command):
            return f"the program {command[0]}, run for each answer, outside the sandbox"
        case _:
            return "none is needed"


def start_loading(model: Model, resources: ModelResources) -> None:
    """Load in the background what the model's first call would wait for."""
    match model:
        case OpenAIModel() | AnthropicModel() | RoutedModel():
            resources.connections.start_loading()
        case LitellmModel():
            resources.loader.start()
        case TextToolCalls(inner=inner):
            start_loading(inner, resources)
        case _:
            pass


def missing_extra(name: str) -> str:
    """What must be installed for a model's provider, as a sentence; empty where nothing is missing."""
    provider = name.removeprefix(LITELLM_PREFIX).partition("/")[0]
    module, extra = EXTRAS.get(provider, ("", ""))
    if not module or _is_installed(module):
        return ""
    return f"{provider} needs a package that is not installed: pip install 'pygent-ls[{extra}]'"


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of what stands before the dot
        return False


def _scripted(name: str) -> Model:
    from pygent_ls.llm.scripted.model import ScriptedModel

    file = name.removeprefix(SCRIPTED)
    if not file:
        raise SettingError(f"The model {name!r} names no file: write {SCRIPTED}FILE.")
    return ScriptedModel(Path(file))


def _program(name: str, endpoint: Endpoint, resources: ModelResources) -> Model:
    if resources.cli is None:
        raise SettingError(f"The model {name!r} is a program, and none can be run here.")
    around = replace(
        resources.cli,
        own=endpoint.programs,
        first_byte_timeout_s=endpoint.first_byte_timeout_s,
        idle_timeout_s=endpoint.idle_timeout_s,
        text_tool_calls=endpoint.text_tool_calls != "off",
    )
    return around.model(name)


def _through_litellm(name: str, endpoint: Endpoint, resources: ModelResources) -> Model:
    return LitellmModel(name, endpoint, resources.loader, resources.prices, resources.refusals)


def _native(name: str, provider: Provider, bare: str, endpoint: Endpoint, resources: ModelResources) -> Model:
    native = Native(name=name, provider=provider, model=bare, endpoint=endpoint, resources=resources)
    if provider.protocol == "messages":
        return AnthropicModel(native)
    if provider.name == "openai" and needs_responses(bare):
        return ResponsesModel(native)
    return OpenAIModel(native)


def _by_bare_name(name: str, endpoint: Endpoint, resources: ModelResources) -> Model:
    async def route() -> Model:
        listed = await resources.prices.provider_of(name)
        begins = (each for start, each in _BARE_NAMES.items() if re.match(start, name))
        provider = provider_named(listed or next(begins, ""))
        if provider is not None and provider.protocol != "litellm":
            return _native(name, provider, name, endpoint, resources)
        if provider is not None or listed:
            return _through_litellm(name, endpoint, resources)
        compatible = provider_named("openai")
        if endpoint.api_base and is_address(endpoint.api_base) and compatible is not None:
            return _native(name, compatible, name, endpoint, resources)
        raise ModelError(NO_PROVIDER.format(name=name), type="invalid_request")

    return RoutedModel(name, route)
