"""Models that a user with these settings can name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pygent_ls.config.settings import Settings
from pygent_ls.errors import ModelError, SettingError

if TYPE_CHECKING:
    from pygent_ls.agent.ports.model import Model
    from pygent_ls.app.external_models import ExternalModels
    from pygent_ls.extensions.mcp.server import Sample, SampleRequest
    from pygent_ls.llm.model_list import ListedModel
    from pygent_ls.llm.providers.endpoints import Endpoints
    from pygent_ls.llm.resources import ModelResources


async def sampled(model: Model, request: SampleRequest, temperature: float) -> Sample:
    """Call a model for an MCP server, at this temperature if the server names none. Raises `ModelError`."""
    from pygent_ls.agent.ports.model import ModelRequest
    from pygent_ls.extensions.mcp.server import Sample

    await model.prepare()
    answer = await model.complete(
        ModelRequest(
            system=request.system,
            messages=request.messages,
            tools=(),
            max_output_tokens=request.max_tokens,
            temperature=temperature if request.temperature is None else request.temperature,
        )
    )
    return Sample(text=answer.text, model=model.name, usage=answer.usage)


async def models_of(
    settings: Settings, endpoints: Endpoints, resources: ModelResources, find: Callable[[str], str | None]
) -> Sequence[ListedModel]:
    """Return the models for `Core.models`."""
    from pygent_ls.extensions.acp.programs import PREFIX
    from pygent_ls.llm.model_list import listed_models

    agents = [each.model for each in settings.agents.values() if each.model]
    named = [endpoints.model, settings.compaction.model, *settings.fallback_models, *agents, *settings.models]
    models = [each for each in named if each and not each.startswith(PREFIX)]
    listed = [*await listed_models(models, find, endpoints, resources, os.environ), *_external(settings, find)]
    return [each for each in listed if endpoints.allowed.allows(each.name)]


def turn_model(
    endpoints: Endpoints,
    name: str,
    api_base: str,
    resources: ModelResources,
    external: Callable[[], ExternalModels],
) -> Model:
    """Create a model at its agent's or provider's address, or the agent of another program in place of one. Raises
    `ModelError` for an invalid name, and for a model that the administrator does not allow."""
    from pygent_ls.extensions.acp.programs import PREFIX
    from pygent_ls.llm.routing import make_configured_model, with_text_tools

    try:
        if name.startswith(PREFIX):
            endpoints.allowed.check(name)
            return external().model(name)
        model = make_configured_model(name, endpoints, resources, agent_base=api_base)
        return with_text_tools(model, endpoints.common.text_tool_calls)
    except SettingError as error:
        raise ModelError(str(error), type="invalid_request") from error


def _external(settings: Settings, find: Callable[[str], str | None]) -> Sequence[ListedModel]:
    """Return the agents of other programs."""
    from pygent_ls.app.external_models import agent_programs_of
    from pygent_ls.extensions.acp.programs import PREFIX, PRESETS
    from pygent_ls.llm.model_list import ListedModel

    try:
        programs = {**PRESETS, **agent_programs_of(settings)}
    except SettingError:  # the first turn reports it
        programs = PRESETS
    found = [(each, find(each.command[0]) is not None) for each in programs.values()]
    return [
        ListedModel(name=f"{PREFIX}{each.name}", available=is_there, reason="" if is_there else each.missing)
        for each, is_there in found
    ]
