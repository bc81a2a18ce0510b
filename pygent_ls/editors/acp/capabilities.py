"""Capabilities of both sides, exchanged by `initialize`.

Imports nothing of the SDK, so that `initialize` is answered before it is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from pygent_ls import __version__

PROTOCOL_VERSION = 1

SETUP = "setup"
"""Id of the authentication method that runs `pygent-ls setup` in a terminal."""

KEYS = "keys"
"""Id of the authentication method by environment variables."""

KEY_VARIABLES = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
"""Variables that are offered to clients; those of all other providers work too."""


class AcpFeatures(Struct, frozen=True, kw_only=True):
    """What the client can do."""

    reads_files: bool = False
    """Whether it serves the text of files, as its buffers hold it."""
    writes_files: bool = False
    runs_commands: bool = False
    """Whether it runs commands in its terminals."""
    asks_forms: bool = False
    """Whether it shows forms to the user (`elicitation`)."""
    runs_setup: bool = False
    """Whether it runs an authentication method in a terminal."""


def client_features(params: object) -> AcpFeatures:
    """Return the capabilities in the parameters of `initialize`; a missing or broken one counts as absent."""
    given = _table(_table(params).get("clientCapabilities"))
    files, form = _table(given.get("fs")), _table(given.get("elicitation")).get("form")
    return AcpFeatures(
        reads_files=files.get("readTextFile") is True,
        writes_files=files.get("writeTextFile") is True,
        runs_commands=given.get("terminal") is True,
        asks_forms=isinstance(form, dict),
        runs_setup=_table(given.get("auth")).get("terminal") is True,
    )


def initialize_result(params: object) -> dict[str, Any]:
    """Return the result of `initialize`. Only version 1 of the protocol is spoken; a client of another one decides
    whether it can."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentInfo": {"name": "pygent-ls", "title": "pygent-ls", "version": __version__},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": {
                "list": {},
                "resume": {},
                "close": {},
                "delete": {},
                "additionalDirectories": {},
            },
        },
        "authMethods": _auth_methods(client_features(params)),
    }


def _auth_methods(features: AcpFeatures) -> list[dict[str, Any]]:
    """Return the ways to get a model. A client that cannot run a program shows the description of `setup`."""
    setup: dict[str, Any] = {
        "id": SETUP,
        "name": "Set up a model",
        "description": "Run `pygent-ls setup` in a terminal: it finds models on this computer, or takes a key.",
    }
    if features.runs_setup:
        setup |= {"type": "terminal", "args": ["setup"]}
    keys = {
        "id": KEYS,
        "type": "env_var",
        "name": "Use an API key",
        "description": "Start pygent-ls with the key of a provider in its environment.",
        "vars": [{"name": name, "secret": True, "optional": True} for name in KEY_VARIABLES],
    }
    return [setup, keys]


def _table(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
