"""Conversion of settings into the values that each package takes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygent_ls.app.agents import admin_limits_of, planners_of
from pygent_ls.config.admin import ADMIN_FILE
from pygent_ls.config.settings import Settings
from pygent_ls.config.sources import user_file
from pygent_ls.secrets.log_mask import redacted

if TYPE_CHECKING:
    from pygent_ls.agent.permissions.permissions import Policy
    from pygent_ls.agent.ports.hooks import Hooks
    from pygent_ls.agent.ports.processes import Processes
    from pygent_ls.agent.ports.workspace import Workspace
    from pygent_ls.agent.tools.session_secrets import SessionSecrets
    from pygent_ls.config.entries import McpServerTable
    from pygent_ls.config.layers import Loaded
    from pygent_ls.extensions.language_servers.specs import LanguageServerSpec
    from pygent_ls.extensions.mcp.server import ServerSpec
    from pygent_ls.llm.cli.model import CliEnvironment
    from pygent_ls.llm.providers.endpoint import Endpoint
    from pygent_ls.llm.providers.endpoints import Endpoints
    from pygent_ls.sessions.turns.settings import SessionLimits
    from pygent_ls.workspace.sandbox.sandbox import SandboxOptions
    from pygent_ls.workspace.web.search_services import SearchService


def mcp_servers_of(settings: Settings, folder: Path) -> list[ServerSpec]:
    """Return the MCP servers, which run in this folder unless the settings name another."""
    return [mcp_server_of(name, table, folder) for name, table in settings.mcp_servers.items()]


def mcp_server_of(name: str, table: McpServerTable, folder: Path) -> ServerSpec:
    """Return one server."""
    from pygent_ls.extensions.mcp.server import ServerSpec

    return ServerSpec(
        name=name,
        command=table.command,
        args=table.args,
        env=table.env,
        cwd=folder / _expanded(table.cwd),
        url=table.url,
        headers=table.headers,
        is_enabled=table.enabled,
        startup_timeout_s=table.startup_timeout_s,
        timeout_s=table.timeout_s,
    )


def language_servers_of(settings: Settings) -> list[LanguageServerSpec]:
    """Return the language servers that are used."""
    from pygent_ls.extensions.language_servers.specs import LanguageServerSpec

    return [
        LanguageServerSpec(
            name=name,
            command=table.command,
            files=table.files,
            root_markers=table.root_markers,
            language_id=table.language_id,
            env=table.env,
            initialization_options=table.initialization_options,
            settings=table.settings,
            startup_timeout_s=table.startup_timeout_s,
            timeout_s=table.timeout_s,
        )
        for name, table in settings.language_servers.items()
        if table.enabled
    ]


def sandbox_options(settings: Settings) -> SandboxOptions:
    """Return the sandbox options for commands."""
    from pygent_ls.workspace.sandbox.sandbox import Resources, SandboxOptions

    return SandboxOptions(
        mode=settings.sandbox,
        network=settings.sandbox_network,
        read=tuple(path for path in map(_expanded, settings.sandbox_read) if path.is_absolute()),
        resources=Resources(
            processes=settings.sandbox_max_processes,
            memory_mb=settings.sandbox_max_memory_mb,
            file_mb=settings.sandbox_max_file_mb,
        ),
    )


def _expanded(text: str) -> Path:
    return Path(os.path.normpath(os.path.expanduser(text)))  # noqa: PTH111 - of an unknown user it is the text itself


def limits_of(loaded: Loaded) -> SessionLimits:
    """Return the limits of a turn."""
    from pygent_ls.agent.context.window import CompactionRules, ContextRules
    from pygent_ls.agent.model.retry import RetryPolicy
    from pygent_ls.agent.turn_spec import ModelSettings, TurnLimits
    from pygent_ls.sessions.turns.settings import SessionLimits

    settings, most = loaded.settings, loaded.ceilings
    ceilings = TurnLimits(
        max_iterations=int(most.get("max_iterations", 0)),
        max_tokens=int(most.get("max_tokens", 0)),
        max_budget_usd=most.get("max_budget_usd", 0.0),
        max_seconds=most.get("max_turn_seconds", 0.0),
    )
    return SessionLimits(
        turn=TurnLimits(
            max_iterations=settings.max_iterations,
            max_tokens=settings.max_tokens,
            max_budget_usd=settings.max_budget_usd,
            max_seconds=settings.max_turn_seconds,
            ceilings=ceilings,
        ),
        model=ModelSettings(
            max_output_tokens=settings.max_output_tokens,
            temperature=settings.temperature,
            max_thinking_tokens=settings.max_thinking_tokens,
            retry=RetryPolicy(
                max_attempts=settings.retry.max_attempts,
                max_seconds=settings.retry.max_seconds,
                initial_delay_s=settings.retry.initial_delay_s,
            ),
            provider_search=settings.web_search.provider,
            fallback_models=tuple(settings.fallback_models),
            context=ContextRules(**settings.context.fields()),
            compaction=CompactionRules(strategy=settings.compaction.strategy, at=settings.compaction.at),
        ),
        stream_flush_s=settings.stream_flush_ms / 1000,
        wakes=settings.background_reports == "start_turn",
        summarizer=settings.compaction.model,
    )


def map_tokens_of(settings: Settings) -> int:
    """Return the size of the map in the system prompt; 0 for none."""
    return settings.repository_map.tokens if settings.repository_map.in_prompt else 0


def policy_of(loaded: Loaded, state: Path, *, is_restricted: bool = False) -> Policy:
    """Return the user's and the workspace's permission policy; `state` is the daemon's own folder."""
    from pygent_ls.agent.permissions.permissions import Policy
    from pygent_ls.agent.permissions.refusals import Protected
    from pygent_ls.llm.keys.key_store import FILE as KEYS_FILE

    settings, own = loaded.settings, (state, user_file().parent, ADMIN_FILE.parent)
    folders = dict.fromkeys(path.as_posix() for each in own for path in (each, each.resolve()))
    keys = tuple((folder / KEYS_FILE).as_posix() for folder in (state, state.resolve()))
    return Policy(
        rules=settings.permissions,
        may_bypass=settings.allow_bypass,
        admin=admin_limits_of(loaded),
        planners=planners_of(settings),
        is_restricted=is_restricted,
        has_language_servers=bool(settings.language_servers),
        protected=Protected(home=Path.home().as_posix(), folders=tuple(folders), keys=keys),
    )


def endpoints_of(loaded: Loaded, model: str) -> Endpoints:
    """Return how each provider is reached, and the settings for individual models.

    `model` is the configured or the default model.
    """
    from pygent_ls.config.layers import OF_A_PROVIDER
    from pygent_ls.llm.providers.endpoints import AllowedModels, Endpoints, ProviderSettings, needs_no_provider

    settings = loaded.settings
    values: dict[str, dict[str, Any]] = {model: {}}
    for key in OF_A_PROVIDER:
        beside = loaded.models_beside.get(key, "")
        values.setdefault(model if needs_no_provider(beside) else beside, {})[key] = getattr(settings, key)
    top_level = {name: ProviderSettings(**each) for name, each in values.items()}
    return Endpoints(
        model=model,
        top_level=top_level.pop(model),
        set_with_other_models=top_level,
        providers={name: ProviderSettings(**table.fields()) for name, table in settings.providers.items()},
        common=_common_endpoint(loaded),
        allowed=AllowedModels(file=loaded.admin.file, globs=loaded.admin.table.models, problem=loaded.admin.problem),
    )


def named_key_variables(settings: Settings) -> frozenset[str]:
    """Return the environment variables that hold keys: those named by the user and those of known providers."""
    from pygent_ls.llm.providers.known_providers import key_variables

    named = [settings.api_key_env, *(each.api_key_env for each in settings.providers.values())]
    return key_variables([*named, search_key_variable(settings)])


def search_of(settings: Settings) -> tuple[SearchService | None, str]:
    """Return the search service of the settings, and why it cannot be used; None and empty text if it is off."""
    from pygent_ls.workspace.web.search_services import ADDRESSES, KEYS, SearchService

    table = settings.web_search
    if table.service == "off":
        return None, ""
    variable = search_key_variable(settings)
    key = os.environ.get(variable, "") if variable else ""
    if table.service in KEYS and not key:
        return None, f"web_search: the variable {variable} is not set, so the web cannot be searched."
    address = table.url or ADDRESSES.get(table.service, "")
    if not address:
        return None, "web_search.url: set the address of your SearXNG instance."
    return SearchService(service=table.service, address=address.rstrip("/"), key=key), ""


def search_key_variable(settings: Settings) -> str:
    """Return the environment variable of the search service's key; empty if it needs none."""
    from pygent_ls.workspace.web.search_services import KEYS

    table = settings.web_search
    return table.api_key_env or ("" if table.service == "off" else KEYS.get(table.service, ""))


def _common_endpoint(loaded: Loaded) -> Endpoint:
    from dataclasses import replace

    from pygent_ls.llm.catalog.known_model import OwnFacts
    from pygent_ls.llm.cli.programs import CliProgram
    from pygent_ls.llm.providers.endpoint import Endpoint

    settings, admin = loaded.settings, loaded.admin
    facts = {name: OwnFacts(**table.fields()) for name, table in settings.models.items()}
    if "effort" in admin.locked:
        others = facts.keys() - admin.entries("models")
        facts.update({name: replace(facts[name], effort=None) for name in others})
    return Endpoint(
        betas=settings.betas,
        effort=settings.effort or None,
        cache_ttl="" if settings.cache_ttl == "5m" else settings.cache_ttl,
        first_byte_timeout_s=settings.first_byte_timeout_s,
        idle_timeout_s=settings.stream_idle_timeout_s,
        own_facts=facts,
        programs={
            name: CliProgram(command=each.command, form=each.format, stream=each.stream)
            for name, each in settings.cli_models.items()
        },
        text_tool_calls=settings.text_tool_calls,
    )


def programs_of(settings: Settings, processes: Processes, state: Path) -> CliEnvironment:
    """Return what programs used as models are run with; `state` is the daemon's own folder."""
    from pygent_ls.llm.cli.model import CliEnvironment

    keys = (name for name in sorted(named_key_variables(settings)) if name in os.environ)
    return CliEnvironment(
        processes=processes,
        folder=state / "cli_models",
        environment={name: os.environ[name] for name in keys},
        masked=redacted,
    )


def secrets_of(settings: Settings, state: Path, workspace: Workspace, keys: Iterable[str]) -> SessionSecrets:
    """Return the secrets that a session masks; `state` is the daemon's own folder, `keys` are the saved keys."""
    from pygent_ls.agent.tools.session_secrets import SessionSecrets
    from pygent_ls.secrets.finder import find_secrets
    from pygent_ls.secrets.redactor import Redactor
    from pygent_ls.workspace.installation_key import installation_key

    secrets = SessionSecrets(Redactor(find_secrets, key=installation_key(state)), workspace)
    secrets.switch(on=settings.redact_secrets)
    secrets.know(keys)
    return secrets


def hooks_of(loaded: Loaded, processes: Processes, brought: Hooks) -> Hooks:
    """Return the front end's hooks, the user's commands, and those of a workspace that the user trusts; only the
    administrator's if the administrator says so."""
    from pygent_ls.agent.ports.hooks import NoHooks, SeveralHooks

    settings = loaded.settings
    if loaded.admin.is_exclusive("hooks"):
        brought = NoHooks()
    if not settings.hooks:
        return brought
    from pygent_ls.extensions.hooks import CommandHooks, HookCommand

    commands = [
        HookCommand(event=each.event, command=each.command, matcher=each.matcher, timeout_s=each.timeout_s)
        for each in settings.hooks
    ]
    return SeveralHooks([brought, CommandHooks(commands, processes)])
