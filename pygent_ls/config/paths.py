"""Paths of the user's settings and the state on this system. Imports no settings, so that it costs nothing."""

from __future__ import annotations

from pathlib import Path


def user_file() -> Path:
    """Return the path of the user's settings file, which need not exist."""
    import platformdirs

    return platformdirs.user_config_path("pygent-ls", appauthor=False) / "config.toml"


def state_folder() -> Path:
    """Return the path of the folder for persistent state, which need not exist."""
    import platformdirs

    return platformdirs.user_state_path("pygent-ls", appauthor=False)
