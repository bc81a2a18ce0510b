"""Defaults of a new session, and the choices offered for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, get_args

from pygent_ls.app.agents import variants_of

if TYPE_CHECKING:
    from pygent_ls.agent.permissions.permissions import Policy
    from pygent_ls.config.layers import Loaded
    from pygent_ls.config.live import Taken
    from pygent_ls.editors.ports import SessionStart
    from pygent_ls.llm.keys.saved_keys import SavedKeys


def model_and_reason(loaded: Loaded, saved: SavedKeys | None = None) -> tuple[str, str]:
    """Return the model from the settings or the available keys, and the reason for the choice. May read saved keys."""
    if loaded.settings.model:
        return loaded.settings.model, f"set by {loaded.origins['model']}"
    from pygent_ls.llm.providers.known_providers import default_model

    own = {name: each.api_key_env for name, each in loaded.settings.providers.items() if each.api_key_env}
    chosen = default_model(os.environ, saved, own)
    return chosen.name, chosen.reason


def beginning_of(taken: Taken, policy: Policy, saved: SavedKeys | None = None) -> SessionStart:
    """Return the defaults that these settings give. Blocking: reads agent files."""
    from pygent_ls.agent.kinds import Mode
    from pygent_ls.editors.ports import SessionStart
    from pygent_ls.llm.providers.known_providers import OFFLINE

    settings = taken.loaded.settings
    profile = variants_of(taken).usual(settings.agent)
    modes: tuple[Mode, ...] = get_args(Mode)
    if policy.is_restricted:
        modes = ("plan",)
    elif not policy.may_bypass:
        modes = tuple(each for each in modes if each != "bypass")
    modes = tuple(each for each in modes if policy.admin.allows(each))
    model = profile.model or model_and_reason(taken.loaded, saved)[0]
    return SessionStart(
        model=model,
        needs_model=model == OFFLINE and not (profile.model or settings.model),
        agent=settings.agent,
        mode="plan" if policy.is_restricted else profile.mode or settings.mode,
        modes=modes,
    )
