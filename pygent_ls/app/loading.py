"""Imports what the first turn uses, in a thread, while the user types its prompt."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygent_ls.agent.ports.model import Model

MODULES = (
    "pygent_ls.app.prompt",
    "pygent_ls.extensions.instructions",
    "pygent_ls.extensions.language_servers.specs",
    "pygent_ls.extensions.own_tools.tools",
    "pygent_ls.sessions.rules",
    "pygent_ls.tools.catalog",
    "pygent_ls.workspace.pictures.converter",
    "pygent_ls.workspace.symbols.index",
    "pygent_ls.workspace.templates.template_folders",
    "pygent_ls.workspace.web.http_client",
)
"""Modules that a turn imports on first use: half of the time from the first prompt to its request."""


def start_loading(model: Model | None) -> None:
    """Import them in a thread, and load what the model's first call needs; returns at once."""
    from pygent_ls.llm import routing

    threading.Thread(target=_load, name="turn-loader", daemon=True).start()
    if model is not None:
        routing.start_loading(model)


def _load() -> None:
    for name in MODULES:
        __import__(name)
