"""The models that a user could name, and whether each could be called; asks no network."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pygent_ls.errors import ModelError, SettingError
from pygent_ls.llm.anthropic.model import AnthropicModel
from pygent_ls.llm.cli.programs import PREFIX, PRESETS, CliProgram
from pygent_ls.llm.endpoint import Endpoint
from pygent_ls.llm.openai.chat_model import OpenAIModel
from pygent_ls.llm.providers import OFFLINE, PROVIDERS, Provider, first_set, provider_named
from pygent_ls.llm.resources import ModelResources
from pygent_ls.llm.routing import make_model, missing_extra

MAX_A_PROVIDER = 40
"""Models of one provider that are listed: what a menu has room for."""

_DATED = re.compile(r"\d{4}-?\d{2}-?\d{2}$")
"""Ends the names of models that are also there under a name that stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModel:
    """A model; `reason` says what it lacks, where something is known to be lacking."""

    name: str
    available: bool = True
    reason: str = ""


async def listed_models(
    named: Sequence[str],
    find: Callable[[str], str | None],
    endpoint: Endpoint,
    resources: ModelResources,
    environment: Mapping[str, str],
) -> Sequence[ListedModel]:
    """Those that the settings name, those of the providers whose key is set, programs, and the one that needs nothing.

    Of a provider without a key the model to begin with stands for all. Each name once, in the order of this sentence.
    """
    keyed = [each for each in PROVIDERS if first_set(each.key_variables, environment)]
    of_table = await resources.prices.chat_models([each.name for each in keyed])
    found = [_judged(name, endpoint, resources, environment) for name in named]
    for provider in PROVIDERS:
        others = [name for name in of_table.get(provider.name, ()) if not _DATED.search(name)]
        models = [provider.default_model, *others][:MAX_A_PROVIDER]
        reason = _lacking(provider, environment)
        found += [ListedModel(name=name, available=not reason, reason=reason) for name in models]
    found += [_program(name, program, find) for name, program in {**PRESETS, **endpoint.programs}.items()]
    found.append(ListedModel(name=OFFLINE))
    return list({each.name: each for each in reversed(found)}.values())[::-1]


async def models_to_offer(provider: str, resources: ModelResources) -> Sequence[str]:
    """The models of a provider that a person may choose from, the one to begin with first."""
    known = provider_named(provider)
    of_table = (await resources.prices.chat_models([provider])).get(provider, ())
    others = [name for name in of_table if not _DATED.search(name) and "/ft:" not in name]
    named = [known.default_model] if known and known.default_model else []
    return list(dict.fromkeys([*named, *others]))[:MAX_A_PROVIDER]


def _judged(name: str, endpoint: Endpoint, resources: ModelResources, environment: Mapping[str, str]) -> ListedModel:
    """A model that the settings name, as far as it can be told."""
    reason = missing_extra(name)
    try:
        model = make_model(name, endpoint, resources)
        if isinstance(model, OpenAIModel | AnthropicModel):
            model.check(environment)
    except (SettingError, ModelError) as error:
        reason = str(error)
    provider = provider_named(name.partition("/")[0])
    if not reason and provider is not None and not endpoint.api_base:
        reason = _lacking(provider, environment)
    return ListedModel(name=name, available=not reason, reason=reason)


def _lacking(provider: Provider, environment: Mapping[str, str]) -> str:
    variables = (*provider.key_variables, *provider.base_variables)
    if not provider.needs_key or first_set(variables, environment):
        return ""
    return f"{provider.key_variables[0]} is not set"


def _program(name: str, program: CliProgram, find: Callable[[str], str | None]) -> ListedModel:
    command = program.command[0]
    whole = f"{PREFIX}{name}" + ("/MODEL" if program.needs_model else "")
    if find(command) is None:
        return ListedModel(name=whole, available=False, reason=f"{command} is not found")
    return ListedModel(name=whole)
