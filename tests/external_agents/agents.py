"""Agents that can be installed: programs, and settings that let them use a model on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pygent_ls.extensions.acp.programs import PRESETS

OFFLINE = {"DO_NOT_TRACK": "1", "MOCK_KEY": "test"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folders and the model of an agent in one run."""

    home: Path
    workspace: Path
    url: str
    """Address of the model, without a path."""

    def put(self, name: str, content: str) -> None:
        """Write a file below the agent's home."""
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent."""

    name: str
    """Name of its preset."""
    program: str
    """Path or glob pattern below the folder of the agents."""
    options: tuple[str, ...]
    variables: Callable[[Place], Mapping[str, str]]
    """Returns the variables that it is started with, and writes its settings."""
    asks_to_run: bool = False
    """Whether it asks before the command of the story, which only prints."""
    shows: Literal["output", "command", "nothing"] = "output"
    """What it tells of a command."""

    def found_in(self, folder: Path) -> Path | None:
        """Return the program; None if it is not installed."""
        return next(iter(sorted(folder.glob(self.program))), None)

    @property
    def install(self) -> str:
        """Command that installs it, with AGENTS for the folder of the agents."""
        words = PRESETS[self.name].install.split()
        if words[0] != "npm":
            return f"uv venv --python 3.12 AGENTS/{self.name} && uv pip install --python AGENTS/{self.name} {words[-1]}"
        packages = " ".join(words[words.index("-g") + 1 :])
        return f"npm install --ignore-scripts --prefix AGENTS/{'/'.join(self.program.split('/')[:2])} {packages}"


def variables_of(agent: Agent, place: Place) -> Mapping[str, str]:
    """Return all variables that an agent is started with."""
    home = {
        "HOME": str(place.home),
        "XDG_CONFIG_HOME": str(place.home / ".config"),
        "XDG_DATA_HOME": str(place.home / ".local/share"),
        "XDG_STATE_HOME": str(place.home / ".local/state"),
        "XDG_CACHE_HOME": str(place.home / ".cache"),
    }
    place.home.mkdir(parents=True, exist_ok=True)
    return {**OFFLINE, **home, **agent.variables(place)}


def _gemini(place: Place) -> Mapping[str, str]:
    settings = {
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
    }
    place.put(".gemini/settings.json", json.dumps(settings))
    return {
        "GEMINI_API_KEY": "test",
        "GOOGLE_GEMINI_BASE_URL": place.url,
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def _qwen(place: Place) -> Mapping[str, str]:
    settings = {
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "security": {"auth": {"selectedType": "openai"}},
    }
    place.put(".qwen/settings.json", json.dumps(settings))
    return {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": f"{place.url}/v1", "OPENAI_MODEL": "mock"}


def _opencode(place: Place) -> Mapping[str, str]:
    limit = {"context": 1_000_000, "output": 10_000}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "mock",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": "test"},
        "models": {"mock": {"name": "mock", "tool_call": True, "limit": limit}},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "model": "mock/mock",
        "small_model": "mock/mock",
        "enabled_providers": ["mock"],
        "provider": {"mock": provider},
        "compaction": {"auto": False, "prune": False},
        "lsp": False,
        "formatter": False,
    }
    place.put(".config/opencode/opencode.json", json.dumps(settings))
    off = ("MODELS_FETCH", "AUTOUPDATE", "SHARE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {f"OPENCODE_DISABLE_{each}": "1" for each in off}


def _vibe(place: Place) -> Mapping[str, str]:
    off = ("telemetry", "otel", "update_checks", "auto_update", "notifications", "connectors")
    lines = [
        'active_model = "mock"',
        *(f"enable_{each} = false" for each in off),
        "[experiments]",
        "enable = false",
        "[session_logging]",
        "generate_titles = false",
        "[[providers]]",
        'name = "mock"',
        f'api_base = "{place.url}/v1"',
        'api_key_env_var = "MOCK_KEY"',
        'api_style = "openai"',
        'backend = "generic"',
        "[[models]]",
        'name = "mock"',
        'provider = "mock"',
        'alias = "mock"',
    ]
    place.put(".vibe/config.toml", "\n".join(lines))
    return {"VIBE_HOME": str(place.home / ".vibe"), "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}


def _claude(place: Place) -> Mapping[str, str]:
    off = ("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "DISABLE_BUG_COMMAND")
    return {
        **dict.fromkeys((*off, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"), "1"),
        "CLAUDE_CONFIG_DIR": str(place.home / ".claude"),
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": "test",
        "ANTHROPIC_MODEL": "mock",
        "ANTHROPIC_SMALL_FAST_MODEL": "mock",
    }


def _codex(place: Place) -> Mapping[str, str]:
    lines = [
        'model = "mock"',
        'model_provider = "mock"',
        "check_for_update_on_startup = false",
        'web_search = "disabled"',
        "[model_providers.mock]",
        'name = "mock"',
        f'base_url = "{place.url}/v1"',
        'wire_api = "responses"',
        'env_key = "MOCK_KEY"',
        "request_max_retries = 0",
        "stream_max_retries = 0",
        *("[analytics]", "enabled = false", "[feedback]", "enabled = false"),
        *("[otel]", 'exporter = "none"', 'trace_exporter = "none"', 'metrics_exporter = "none"'),
        *("[history]", 'persistence = "none"'),
        *(f"[projects.{json.dumps(str(place.workspace))}]", 'trust_level = "trusted"'),
        *("[features]", "apps = false"),
    ]
    place.put(".codex/config.toml", "\n".join(lines))
    home = str(place.home / ".codex")
    return {"CODEX_HOME": home, "NO_BROWSER": "1", "OPENAI_API_KEY": "test", "MODEL_PROVIDER": "mock"}


def _copilot(place: Place) -> Mapping[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": f"{place.url}/v1",
        "COPILOT_PROVIDER_API_KEY": "test",
        "COPILOT_MODEL": "mock",
        "COPILOT_HOME": str(place.home / ".copilot"),
    }


AGENTS = (
    Agent(
        name="gemini",
        program="npm/gemini/node_modules/.bin/gemini",
        options=("--acp", "-m", "gemini-2.5-flash"),
        variables=_gemini,
        shows="command",
    ),
    Agent(
        name="opencode",
        program="npm/opencode/node_modules/opencode-*/bin/opencode",
        options=("acp",),
        variables=_opencode,
        asks_to_run=True,
    ),
    Agent(name="vibe", program="vibe/bin/vibe-acp", options=(), variables=_vibe),
    Agent(
        name="qwen",
        program="npm/qwen/node_modules/.bin/qwen",
        options=("--acp", "--auth-type", "openai"),
        variables=_qwen,
    ),
    Agent(name="claude", program="npm/new/node_modules/.bin/claude-agent-acp", options=(), variables=_claude),
    Agent(
        name="codex",
        program="npm/codexacp/node_modules/.bin/codex-acp",
        options=(),
        variables=_codex,
        shows="nothing",  # its sandbox does not start in every container, and then the command does not, either
    ),
    Agent(
        name="copilot",
        program="npm/copilot/node_modules/.bin/copilot",
        options=("--acp", "--no-auto-update", "--disable-client-telemetry"),
        variables=_copilot,
        asks_to_run=True,
    ),
)
