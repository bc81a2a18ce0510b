"""The agents of the settings: the shipped variants, and what the tables `[agents.NAME]` make of them and add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from pygent_ls.config import Settings
from pygent_ls.config_live import Taken

if TYPE_CHECKING:
    from pygent_ls.agent.variants import AgentProfile, Variants

MAX_PROMPT_BYTES = 1_000_000
"""Of a `prompt_file`: no prompt is longer, and a large file named by mistake does not stop a turn."""

_SAME = (
    "description",
    "model",
    "api_base",
    "prompt",
    "tools",
    "disallowed_tools",
    "mode",
    "max_iterations",
    "max_tokens",
    "max_budget_usd",
    "context_mode",
    "stream",
    "temperature",
    "effort",
)
"""The settings of an agent that are what they are called."""


def profiles_of(settings: Settings) -> list[AgentProfile]:
    """The agents of the tables; one that has the name of a shipped one changes what it sets. Reads no file."""
    from pygent_ls.agent.variants import SHIPPED, AgentProfile

    found: list[AgentProfile] = []
    for name, table in settings.agents.items():
        given = {key: getattr(table, key) for key in _SAME if key in table.model_fields_set}
        shipped = SHIPPED.get(name, AgentProfile(name=name))
        if table.model and table.model.partition("/")[0] != shipped.model.partition("/")[0]:
            shipped = replace(shipped, api_base="")  # the shipped address is of another provider
        found.append(replace(shipped, **given))
    return found


def planners_of(settings: Settings) -> frozenset[str]:
    """The names of the agents that only plan."""
    from pygent_ls.agent.variants import variants

    return variants(profiles_of(settings)).planners


def variants_of(taken: Taken) -> Variants:
    """All agents, with the prompts that stand in files. Blocking; of one that cannot be read its agent says so."""
    from pygent_ls.agent.variants import variants

    settings = taken.loaded.settings
    own = [_with_prompt(each, settings.agents[each.name].prompt_file, taken) for each in profiles_of(settings)]
    return variants(own, may_bypass=settings.allow_bypass)


def _with_prompt(profile: AgentProfile, named: str, taken: Taken) -> AgentProfile:
    if not named:
        return profile
    from pygent_ls.app_prompt import place_in
    from pygent_ls.workspace.reading import beginning_of

    file = place_in(taken, _origin(profile.name, named, taken), named)
    try:
        text = beginning_of(file, MAX_PROMPT_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
        problem = f"agents.{profile.name}.prompt_file: {file} cannot be read ({why}); the agent has no prompt."
        return replace(profile, notices=(*profile.notices, problem))
    return replace(profile, prompt=text)


def _origin(agent: str, named: str, taken: Taken) -> str:
    """The name of the layer that says where the agent's prompt is: of those whose table counts, the strongest."""
    for layer in reversed(taken.layers):
        tables = layer.values.get("agents")
        table = cast("Mapping[str, object]", tables).get(agent) if isinstance(tables, Mapping) else None
        counts = (layer.trusted or taken.trusted) and isinstance(table, Mapping)
        if counts and named in cast("Mapping[str, object]", table).values():
            return layer.name
    return ""
