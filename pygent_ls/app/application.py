"""Composition root: builds the packages and connects them. The only module that imports all of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pygent_ls.app.agents import profiles_of, variants_of
from pygent_ls.app.defaults import beginning_of, model_and_reason
from pygent_ls.app.factories import (
    endpoints_of,
    hooks_of,
    limits_of,
    mcp_servers_of,
    named_key_variables,
    policy_of,
    sandbox_options,
    search_of,
    secrets_of,
)
from pygent_ls.app.keys import server_tokens
from pygent_ls.config.live import Taken
from pygent_ls.config.settings import Settings
from pygent_ls.config.sources import user_file
from pygent_ls.errors import ModelError, SettingError

if TYPE_CHECKING:  # what is built from here on is imported when it is built
    from pygent_ls.agent.context.system_prompt import PromptFor
    from pygent_ls.agent.kinds import Mode
    from pygent_ls.agent.permissions.permissions import Policy
    from pygent_ls.agent.ports.completer import InlineCompletions
    from pygent_ls.agent.ports.model import Model
    from pygent_ls.agent.ports.output_store import Outputs
    from pygent_ls.agent.ports.skills import Skill
    from pygent_ls.agent.rules.rule import Rule
    from pygent_ls.agent.session_services import SessionServices
    from pygent_ls.agent.tools.tool import Tool, ToolRegistry
    from pygent_ls.agent.variants import AgentProfile, Variants
    from pygent_ls.app.completion import ConfiguredCompletions
    from pygent_ls.app.external_models import ExternalModels
    from pygent_ls.app.settings_layers import SettingsLayers
    from pygent_ls.editors.ports import FrontEnd, SessionStart
    from pygent_ls.extensions.mcp.server import Sample, SampleRequest, ServerView
    from pygent_ls.extensions.mcp.servers import McpServers
    from pygent_ls.extensions.own_tools.tools import OwnTools
    from pygent_ls.extensions.skills import SkillFolders
    from pygent_ls.extensions.voice import Voice, VoiceInput
    from pygent_ls.llm.model_list import ListedModel
    from pygent_ls.llm.providers.endpoints import Endpoints
    from pygent_ls.llm.setup.flow import SetUp, Way
    from pygent_ls.sessions.checkpoints.checkpoints import Checkpoints
    from pygent_ls.sessions.lifecycle.defaults import SessionDefaults
    from pygent_ls.sessions.rules import FileRuleStore
    from pygent_ls.sessions.turns.settings import TurnSettings
    from pygent_ls.workspace.files.notes_file import NotesFile


MAX_MCP_TOOLS = 30
"""Maximum number of MCP tools whose definitions all requests contain, about 100 tokens each; of more, the model finds
those that it needs with `search_tools`."""


class Agent:
    """All packages wired together for one front end."""

    def __init__(self, layers: SettingsLayers, front_end: FrontEnd) -> None:
        from pygent_ls.agent.tools.cache import ToolCache
        from pygent_ls.app.commands import command_facts
        from pygent_ls.app.setup import AppSetup
        from pygent_ls.app.shared import Shared
        from pygent_ls.app.storage import CHECKPOINTS
        from pygent_ls.app.trust_prompt import TrustPrompt
        from pygent_ls.sessions.checkpoints.past_sessions import PastSessions
        from pygent_ls.sessions.store import Sessions
        from pygent_ls.workspace.snapshots.snapshots import Snapshots

        self._shared = layers.shared or Shared()
        self._is_alone = layers.shared is None
        self.state_folder = self._shared.state_folder
        self._front_end = front_end
        self._live = layers.live
        self._live.news(layers.taken)  # the front end reports these itself
        self._taken = layers.taken
        if front_end.is_restricted:
            self._live.distrust()
            self._taken = self._live.take(layers.taken.folder)
        self._trusting = TrustPrompt(layers.trust, front_end.ask_trust)
        self._processes, self._sandbox = self._shared.processes(
            self._settings,
            lambda: (*front_end.workspace.folders, *front_end.workspace.more_folders),
            named_key_variables(self._settings),
        )
        self._models = self._shared.models(self._settings, self._processes)
        self._endpoints = self._endpoints_of(self._taken)
        self._has_skills = False
        """Whether there were skills when the settings were last taken."""
        self._mcp: McpServers | None = None
        """None until a server is configured."""
        self._voice: Voice | None = None
        """None until it is used."""
        self._setup = AppSetup(
            live=self._live,
            keys=self._shared.keys,
            models=self._models,
            find=self._processes.find,
            folder=lambda: next(iter(front_end.workspace.folders), None),
            questioner=front_end.questioner,
            tell=front_end.tell,
            on_change=front_end.on_models_change,
            offers=front_end.offers_setup,
        )
        self._cache = ToolCache(max_entries=self._settings.cache_entries, clock=time.monotonic)
        self._snapshots = Snapshots(
            self.state_folder / "snapshots", lambda: self._processes.find("git"), days=self._settings.snapshot_days
        )
        self._kept = self._shared.kept
        self._past = PastSessions(self.state_folder / CHECKPOINTS, front_end.workspace, self._snapshots)
        self.sessions: Sessions = Sessions(
            self._session_defaults,
            make_services=self._services,
            make_model=lambda name: self._make_model(self._endpoints, name),
            make_system_prompt=self._system_prompt,
            on_change=front_end.on_session_change,
            take_settings=self._take_settings,
        )
        self.sessions.tell_user_with(front_end.tell)
        self.sessions.share(self._shared.live)
        self.sessions.keep_checkpoints(self._checkpoints, self._past)
        self.sessions.keep_in(self._kept.journals)
        self.sessions.tell_commands(command_facts(self._live, front_end, self, lambda: self._external_models.commands))

    @property
    def _settings(self) -> Settings:
        """Return the settings as they were last taken."""
        return self._taken.loaded.settings

    @cached_property
    def _skills(self) -> SkillFolders:
        from pygent_ls.app.prompt import skills_of

        return skills_of(self._front_end.workspace, is_restricted=self._front_end.is_restricted)

    @cached_property
    def _own_tools(self) -> OwnTools:
        from pygent_ls.extensions.own_tools.tools import OwnTools

        return OwnTools(user_file().parent / "tools", self._processes.serve)

    @property
    def reviews_edits(self) -> bool:
        """Implement `Core`."""
        return self._settings.edits.review == "ask"

    def configure(self, given: object) -> Sequence[str]:
        """Implement `Core`."""
        self._live.set_editor_section(given)
        return self._live.news(self._live.take(self._taken.folder))

    async def close(self) -> None:
        """Implement `Core`."""
        if self._voice is not None:
            await self._voice.close()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._shared.close() if self._is_alone else self.sessions.leave())
            if self._mcp is not None:
                group.create_task(self._mcp.close())
            if "_external_models" in self.__dict__:
                group.create_task(self._external_models.close())
        await self._trusting.close()

    async def _take_settings(self) -> TurnSettings:
        """Return the settings for a new turn; ask the user for trust if the workspace's settings need it."""
        from pygent_ls.app.prompt import make_system_prompt, more_folders, notes_for, prompt_settings
        from pygent_ls.sessions.turns.settings import TurnSettings

        await self._front_end.configured()
        folders = self._front_end.workspace.folders
        taken = await asyncio.to_thread(self._live.take, folders[0] if folders else None)
        self._taken = taken = await self._trusting.settle(taken)
        settings = taken.loaded.settings
        self._start_servers(settings)
        await self._own_tools.refresh(taken.trusted_tools)
        if self._mcp is not None and self._front_end.waits_for_servers_s:
            await self._mcp.until_started(self._front_end.waits_for_servers_s)
        of_keys = await asyncio.to_thread(self._shared.refresh_keys)
        self._endpoints = endpoints = await asyncio.to_thread(self._endpoints_of, taken)
        self._sandbox.change(sandbox_options(settings))
        await asyncio.to_thread(self._sandbox.tidy)
        self._processes.hide(named_key_variables(settings))
        beside, wrong = await asyncio.to_thread(more_folders, taken)
        self._front_end.workspace.use_also(beside)
        self._has_skills = bool(skills := await self._skills.all())
        notes = await notes_for(self._notes(), settings)
        prompt = replace(await prompt_settings(taken), skills=skills, notes=notes)
        problems = [f"Settings: {each}" for each in self._live.news(taken)]
        problems += self._live.untold(self._own_tools.tools([each.name for each in self._built_in(settings)])[1])
        problems += self._live.untold(filter(None, (*wrong, prompt.problem, *of_keys, search_of(settings)[1])))
        return TurnSettings(
            model=endpoints.model,
            mode=settings.mode,
            agent=settings.agent,
            variants=await asyncio.to_thread(variants_of, taken),
            limits=limits_of(settings),
            policy=self._policy(settings),
            endpoint=(endpoints, self._shared.keys_version),
            make_model=partial(self._make_model, endpoints),
            make_model_at=partial(self._make_model, endpoints),
            make_system_prompt=partial(make_system_prompt, self._front_end.workspace, prompt),
            renewed=partial(self._renewed, settings),
            notices=tuple(filter(None, (*problems, *self._trust_notices(taken)))),
        )

    def _trust_notices(self, taken: Taken) -> Sequence[str]:
        """Return the notices about an untrusted workspace, for the editor or its user."""
        from pygent_ls.app.trust_prompt import UNTRUSTED

        return self._live.untold([UNTRUSTED]) if self._front_end.is_restricted else [self._trusting.notice(taken)]

    def _policy(self, settings: Settings) -> Policy:
        return policy_of(settings, self.state_folder, is_restricted=self._front_end.is_restricted)

    def _renewed(self, settings: Settings, services: SessionServices) -> SessionServices:
        services.memory.secrets.switch(on=settings.redact_secrets)
        services.memory.secrets.know(self._shared.known_keys)
        environment = replace(
            services.environment,
            search=search_of(settings)[0],
            notes=self._notes(),
            resources=self._mcp,
            max_tool_result_chars=settings.max_tool_result_chars,
            hooks=hooks_of(settings, self._processes, self._front_end.hooks),
        )
        return replace(services, environment=environment, tools=self._tools(settings, services.memory.found_tools))

    @property
    def tools(self) -> ToolRegistry:
        """Return the tools that a new session offers to its model; file tools only if there is a workspace folder."""
        return self._tools(self._settings)

    def _tools(self, settings: Settings, found: set[str] | None = None) -> ToolRegistry:
        """Return the tools. `found` are the session's tools on demand that its model has found."""
        from pygent_ls.agent.tools.tool import ToolRegistry
        from pygent_ls.agent.variants import allowed_by_settings
        from pygent_ls.tools.tool_search import search_tool

        offered = self._built_in(settings)
        own, _ = self._own_tools.tools([each.name for each in offered])
        of_servers = self._mcp.tools if self._mcp else ()
        on_demand = of_servers if len(of_servers) > MAX_MCP_TOOLS else ()
        finding = [search_tool(on_demand)] if on_demand else []
        reading = self._mcp.resource_tools if self._mcp else ()
        all_tools = [*offered, *own, *finding, *reading, *of_servers]
        registry = ToolRegistry(all_tools, on_demand=frozenset(each.name for each in on_demand), found=found)
        return allowed_by_settings(registry, settings.disallowed_tools)

    def _built_in(self, settings: Settings) -> Sequence[Tool]:
        from pygent_ls.agent.variants import variants
        from pygent_ls.tools.catalog import offered_tools

        return offered_tools(
            has_folder=bool(self._front_end.workspace.folders),
            shell_timeout_s=settings.shell_timeout_s,
            has_skills=self._has_skills,
            has_memory=settings.memory.enabled,
            has_search=settings.web_search.provider or search_of(settings)[0] is not None,
            agents=[(each.name, each.description) for each in variants(profiles_of(settings)).profiles.values()],
        )

    def _start_servers(self, settings: Settings) -> None:
        """Start the MCP servers of the settings, and end those that are no longer in them. Returns at once.

        In a restricted workspace none is started: it would run in a folder whose files it may execute.
        """
        if self._front_end.is_restricted:
            return
        if self._mcp is None:
            if not settings.mcp_servers:
                return
            from pygent_ls.extensions.mcp.server import McpHost
            from pygent_ls.extensions.mcp.servers import McpServers

            self._mcp = McpServers(
                McpHost(
                    run=self._processes.serve,
                    find=self._processes.find,
                    folders=lambda: self._front_end.workspace.folders,
                    tell=self._front_end.tell,
                    ask=self._front_end.questioner.ask,
                    sample=self._sample,
                    tokens=server_tokens(),
                    open_url=self._front_end.open_url,
                    on_change=self._front_end.on_mcp_change,
                )
            )
        self._mcp.apply(mcp_servers_of(settings, self._first_folder()))

    @property
    def mcp(self) -> ServerView:
        """Implement `Core`."""
        from pygent_ls.extensions.mcp.server import NoServers

        return self._mcp or NoServers()

    @property
    def voice(self) -> VoiceInput:
        """Implement `Core`."""
        from pygent_ls.app.voice import voice_of
        from pygent_ls.extensions.voice import NoVoice

        front_end = self._front_end
        if self._voice is None and front_end.speech is not None:
            self._voice = voice_of(
                self.sessions,
                front_end.speech,
                servers=lambda: self._mcp,
                tell=front_end.tell,
                settings=lambda: self._settings,
            )
        return self._voice or NoVoice()

    @cached_property
    def _completions(self) -> ConfiguredCompletions:
        from pygent_ls.app.completion import completions_of

        return completions_of(self._front_end.workspace, self._shared, lambda: self._settings, self._completion_model)

    @property
    def completions(self) -> InlineCompletions | None:
        """Implement `Core`."""
        return None if self._front_end.is_restricted or not self._settings.completion.model else self._completions

    def _completion_model(self) -> Model:
        return self._make_model(self._endpoints, self._settings.completion.model)

    async def _sample(self, request: SampleRequest) -> Sample:
        """Call the default model for an MCP server. Raises `ModelError`."""
        from pygent_ls.app.models import sampled

        model = self._make_model(self._endpoints, self._endpoints.model)
        return await sampled(model, request, self._settings.temperature)

    def _notes(self) -> NotesFile:
        """Return the notes about the first workspace folder, which may change."""
        from pygent_ls.workspace.files.notes_file import notes_file

        workspace = self._front_end.workspace
        return notes_file(self.state_folder, self._first_folder(), workspace.open_document)

    async def skills(self) -> Sequence[Skill]:
        """Implement `Core`."""
        return await self._skills.all()

    @property
    def agents(self) -> Sequence[AgentProfile]:
        """Implement `Core`."""
        return list(variants_of(self._taken).profiles.values())

    async def beginning(self) -> SessionStart:
        """Implement `Core`."""
        await self._front_end.configured()
        folders = self._front_end.workspace.folders

        def read() -> SessionStart:
            taken = self._live.take(folders[0] if folders else None)
            return beginning_of(taken, self._policy(taken.loaded.settings), self._models.saved_keys)

        return await asyncio.to_thread(read)

    async def set_up(self, way: Way = "any") -> SetUp:
        """Implement `Core`."""
        return await self._setup.run(way)

    def take_keys(self, keys: Mapping[str, str | None]) -> frozenset[str]:
        """Implement `Core`."""
        self._shared.take_keys(keys)
        self._models = self._shared.models(self._settings, self._processes)
        self._endpoints = self._endpoints_of(self._taken)
        return self._shared.editor_keys.variables

    async def models(self) -> Sequence[ListedModel]:
        """Implement `Core`."""
        from pygent_ls.app.models import models_of

        return await models_of(self._settings, self._endpoints, self._models, self._processes.find)

    @property
    def model_ready(self) -> bool:
        """Return whether the default model can be called without further loading."""
        return self._default_model is not None and self._default_model.ready

    def start_loading(self) -> None:
        """Load in the background what the default model's first call needs, start the MCP servers, and purge sessions
        deleted long ago."""
        from pygent_ls.llm.routing import start_loading

        if self._default_model is not None:
            start_loading(self._default_model, self._models)
        self._kept.start_tidying()
        self._start_servers(self._settings)

    @cached_property
    def _default_model(self) -> Model | None:
        """Return the default model; None if its name is invalid, which the first turn reports."""
        try:
            return self._make_model(self._endpoints, self._endpoints.model)
        except ModelError:
            return None

    def rules(self) -> Sequence[Rule]:
        """Return the rules stored by "Always allow" for this workspace, and those of the settings."""
        return [*self._rules().load(), *self._settings.permissions]

    def forget_rule(self, text: str) -> bool:
        """Remove a stored rule; return False if it is not stored."""
        return self._rules().remove(text)

    def file_changed(self, path: Path) -> None:
        """Drop cached data about a file that may have changed."""
        from pygent_ls.agent.rules.globs import escape

        self._cache.invalidate(escape(path))

    def kill_processes(self) -> None:
        """Kill all child process groups immediately."""
        if self._is_alone:  # else its turns have ended their programs, and the others belong to other agents
            self._shared.kill_processes()

    def _session_defaults(self) -> SessionDefaults:
        from pygent_ls.sessions.lifecycle.defaults import SessionDefaults

        return SessionDefaults(
            working_directory=self._first_folder(),
            agent=self._settings.agent,
            model=self._endpoints.model,
            mode=self._settings.mode,
            limits=limits_of(self._settings),
            variants=variants_of(self._taken),
            look_up_variants=self._look_up_variants,
            answer_without_model=self._setup.answer_without_model,
            persist=self._settings.persist_sessions,
            make_model_at=lambda name, api_base: self._make_model(self._endpoints, name, api_base),
        )

    def _look_up_variants(self) -> Variants:
        """Return the agents from the current settings; workspace settings that the user was not asked about are left
        out.
        """
        folders = self._front_end.workspace.folders
        return variants_of(self._live.take(folders[0] if folders else None))

    def _first_folder(self) -> Path:
        """Return the first workspace folder, which may change; the daemon's working directory if the workspace has no
        folder.
        """
        folders = self._front_end.workspace.folders
        return folders[0] if folders else Path.cwd()

    def _rules(self) -> FileRuleStore:
        from pygent_ls.sessions.rules import FileRuleStore

        return FileRuleStore(self.state_folder, self._first_folder())

    def _services(self, session_id: str, mode: Mode) -> SessionServices:
        from pygent_ls.agent.permissions.permissions import Permissions
        from pygent_ls.agent.session_services import Environment, SessionMemory, SessionServices
        from pygent_ls.agent.tools.read_log import ReadLog
        from pygent_ls.extensions.instructions import RepositoryInstructions
        from pygent_ls.workspace.templates.template_folders import TemplateFolders
        from pygent_ls.workspace.web.http_client import HttpWeb

        secrets = secrets_of(self._settings, self.state_folder, self._front_end.workspace, self._shared.known_keys)
        environment = Environment(
            workspace=self._front_end.workspace,
            processes=self._front_end.around_processes(self._processes),
            web=HttpWeb(self._processes),
            search=search_of(self._settings)[0],
            skills=self._skills,
            notes=self._notes(),
            resources=self._mcp,
            templates=TemplateFolders(
                self._processes, shipped=Path(__file__).parents[1] / "scaffold", users=user_file().parent
            ),
            approver=self._front_end.approver,
            questioner=self._front_end.questioner,
            pauser=self._front_end.pauser,
            editor=self._front_end.editor,
            reviewer=self._front_end.reviewer,
            cache=self._cache,
            max_tool_result_chars=self._settings.max_tool_result_chars,
            instructions=RepositoryInstructions(self._front_end.workspace, secrets.masks),
            telemetry=self._shared.telemetry,
        )
        memory = SessionMemory(
            session_id=session_id,
            permissions=Permissions(mode, self._rules(), self._policy(self._settings)),
            reads=ReadLog(),
            outputs=self._outputs(session_id),
            secrets=secrets,
        )
        return SessionServices(environment=environment, memory=memory, tools=self.tools)

    def _checkpoints(self, session_id: str) -> Checkpoints:
        from pygent_ls.sessions.checkpoints.checkpoints import Checkpoints

        return Checkpoints(
            self._front_end.workspace,
            self._snapshots,
            self._past.records(session_id) if self._is_kept(session_id) else None,
            self._shared.write_log,
        )

    def _outputs(self, session_id: str) -> Outputs:
        """Return the session's stored outputs, on the disk if the session is."""
        from pygent_ls.agent.ports.output_store import Outputs

        return Outputs(self._kept.outputs.of(session_id) if self._is_kept(session_id) else None)

    def _is_kept(self, session_id: str) -> bool:
        """Return whether the session is stored on the disk, or will be."""
        return self._settings.persist_sessions or self._kept.journals.exists(session_id)

    def _endpoints_of(self, taken: Taken) -> Endpoints:
        """Return the provider endpoints. May read saved keys."""
        model, _ = model_and_reason(taken.loaded, self._models.saved_keys)
        return endpoints_of(taken.loaded, model)

    @cached_property
    def _external_models(self) -> ExternalModels:
        from pygent_ls.app.external_models import ExternalModels

        return ExternalModels(self._processes, self._first_folder, lambda: self._settings, self._front_end)

    def _make_model(self, endpoints: Endpoints, name: str, api_base: str = "") -> Model:
        """Create a model at its agent's or provider's address, or the agent of another program in place of one. Raises
        `ModelError` for an invalid name."""
        from pygent_ls.extensions.acp.programs import PREFIX
        from pygent_ls.llm.routing import make_configured_model, with_text_tools

        try:
            if name.startswith(PREFIX):
                return self._external_models.model(name)
            model = make_configured_model(name, endpoints, self._models, agent_base=api_base)
            return with_text_tools(model, endpoints.common.text_tool_calls)
        except SettingError as error:
            raise ModelError(str(error), type="invalid_request") from error

    async def _system_prompt(self, wanted: PromptFor) -> str:
        """Return the system prompt for a session that does not take settings at the start of a turn."""
        from pygent_ls.app.prompt import make_system_prompt, notes_for, prompt_settings

        notes = await notes_for(self._notes(), self._settings)
        settings = replace(await prompt_settings(self._taken), skills=await self._skills.all(), notes=notes)
        return await make_system_prompt(self._front_end.workspace, settings, wanted)
