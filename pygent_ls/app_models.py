"""The models that a user of these settings could name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pygent_ls.config import Settings

if TYPE_CHECKING:
    from pygent_ls.llm.endpoint import Endpoint
    from pygent_ls.llm.listing import ListedModel
    from pygent_ls.llm.resources import ModelResources


async def models_of(
    settings: Settings, default: str, endpoint: Endpoint, resources: ModelResources, find: Callable[[str], str | None]
) -> Sequence[ListedModel]:
    """See `Core`; `default` is the model of a session that has chosen none."""
    from pygent_ls.llm.listing import listed_models

    agents = [each.model for each in settings.agents.values() if each.model]
    named = [default, settings.compaction.model, *settings.fallback_models, *agents, *settings.models]
    return await listed_models([each for each in named if each], find, endpoint, resources, os.environ)
