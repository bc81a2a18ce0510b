"""The settings of one front end, read: what its agent begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from pygent_ls.config.live import LiveSettings, Taken
from pygent_ls.config.trust import TrustStore

if TYPE_CHECKING:  # imported when the agent is built
    from pygent_ls.app.shared import Shared


class SettingsLayers(Struct, frozen=True, kw_only=True):
    """Current settings with the origin of each value."""

    live: LiveSettings
    taken: Taken
    trust: TrustStore
    model: str
    model_reason: str
    shared: Shared | None = None
    """Objects shared with the process's other front ends; None to create new ones."""
