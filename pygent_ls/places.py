"""Where the user's settings and the state lie on this system. It imports no settings, so that it costs nothing."""

from __future__ import annotations

from pathlib import Path


def user_file() -> Path:
    """The user's settings; the file need not be there."""
    import platformdirs

    return platformdirs.user_config_path("pygent-ls", appauthor=False) / "config.toml"


def state_folder() -> Path:
    """Where state lives that outlasts the daemon; it need not be there."""
    import platformdirs

    return platformdirs.user_state_path("pygent-ls", appauthor=False)
