"""Models that a user with these settings can name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pygent_ls.config.settings import Settings

if TYPE_CHECKING:
    from pygent_ls.agent.ports.model import Model
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
    from pygent_ls.llm.model_list import listed_models

    agents = [each.model for each in settings.agents.values() if each.model]
    named = [endpoints.model, settings.compaction.model, *settings.fallback_models, *agents, *settings.models]
    return await listed_models([each for each in named if each], find, endpoints, resources, os.environ)
