"""Agent profiles from the settings: the shipped variants, changed and extended by the tables `[agents.NAME]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from pygent_ls.config.layers import Loaded
from pygent_ls.config.live import Taken
from pygent_ls.config.settings import Settings

if TYPE_CHECKING:
    from pygent_ls.agent.admin_limits import AdminLimits
    from pygent_ls.agent.variants import AgentProfile, Variants

MAX_PROMPT_BYTES = 1_000_000
"""Maximum size of a `prompt_file`, so that a large file named by mistake does not stall a turn."""

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
"""Agent settings whose names equal the profile's field names."""


def profiles_of(settings: Settings) -> list[AgentProfile]:
    """Return the configured agents; a table named after a shipped agent overrides only what it sets. Reads no file."""
    from pygent_ls.agent.variants import SHIPPED, AgentProfile

    found: list[AgentProfile] = []
    for name, table in settings.agents.items():
        given = {key: value for key in _SAME if (value := getattr(table, key)) is not None}
        shipped = SHIPPED.get(name, AgentProfile(name=name))
        if table.model and table.model.partition("/")[0] != shipped.model.partition("/")[0]:
            shipped = replace(shipped, api_base="")  # the shipped address belongs to another provider
        found.append(replace(shipped, **given))
    return found


def planners_of(settings: Settings) -> frozenset[str]:
    """Return the names of the agents that only plan."""
    from pygent_ls.agent.variants import variants

    return variants(profiles_of(settings)).planners


def admin_limits_of(loaded: Loaded) -> AdminLimits:
    """Return what the administrator keeps sessions and agents from choosing."""
    from pygent_ls.agent.admin_limits import AdminLimits

    admin = loaded.admin
    modes = (loaded.settings.mode,) if "mode" in admin.locked else admin.table.modes
    return AdminLimits(file=admin.file, locked=admin.locked, modes=modes, ceilings=loaded.ceilings)


def variants_of(taken: Taken) -> Variants:
    """Return all agents, with their prompt files read. An unreadable file is reported in its agent. Blocking."""
    from pygent_ls.agent.variants import variants

    settings = taken.loaded.settings
    own = [_with_prompt(each, settings.agents[each.name].prompt_file, taken) for each in profiles_of(settings)]
    limits, of_admin = admin_limits_of(taken.loaded), taken.loaded.admin.entries("agents")
    return variants(own, may_bypass=settings.allow_bypass, admin=limits, of_admin=of_admin)


def _with_prompt(profile: AgentProfile, named: str | None, taken: Taken) -> AgentProfile:
    if not named:
        return profile
    from pygent_ls.app.prompt import place_in
    from pygent_ls.workspace.files.reader import beginning_of

    file = place_in(taken, _origin(profile.name, named, taken), named)
    try:
        text = beginning_of(file, MAX_PROMPT_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
        problem = f"agents.{profile.name}.prompt_file: {file} cannot be read ({why}); the agent has no prompt."
        return replace(profile, notices=(*profile.notices, problem))
    return replace(profile, prompt=text)


def _origin(agent: str, named: str, taken: Taken) -> str:
    """Return the name of the strongest effective layer that sets the agent's prompt file."""
    admin = taken.loaded.admin
    own = () if admin.layer is None else (admin.layer,)
    locked = agent in admin.entries("agents")
    for layer in own if locked else (*reversed(taken.layers), *own):
        tables = layer.values.get("agents")
        table = cast("Mapping[str, object]", tables).get(agent) if isinstance(tables, Mapping) else None
        counts = (layer.trusted or taken.trusted) and isinstance(table, Mapping)
        if counts and named in cast("Mapping[str, object]", table).values():
            return layer.name
    return ""
