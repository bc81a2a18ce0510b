"""Composition root: builds the packages and connects them. The only module that imports all of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pygent_ls.app.agents import profiles_of, variants_of
from pygent_ls.app.defaults import beginning_of, model_and_reason
from pygent_ls.app.factories import (
    endpoints_of,
    hooks_of,
    limits_of,
    map_tokens_of,
    named_key_variables,
    policy_of,
    sandbox_options,
    search_of,
    secrets_of,
)
from pygent_ls.config.live import Taken
from pygent_ls.config.settings import Settings
from pygent_ls.config.sources import user_file
from pygent_ls.errors import ModelError

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
    from pygent_ls.config.admin import AdminSettings
    from pygent_ls.editors.ports import Core, FrontEnd, SessionStart
    from pygent_ls.extensions.mcp.server import Sample, SampleRequest, ServerView
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
    from pygent_ls.workspace.symbols.index import WorkspaceSymbols


MAX_MCP_TOOLS = 30
"""Maximum number of MCP tools, and of the editor's, whose definitions all requests contain, about 100 tokens each; of
more, the model finds those that it needs with `search_tools`."""


class Agent:
    """All packages wired together for one front end."""

    def __init__(self, layers: SettingsLayers, front_end: FrontEnd, beside: Agent | None = None) -> None:
        """`beside` is the agent of the user's work tree, for the agent of a worktree: it has the same settings, trust,
        stored rules and notes, and a workspace, a sandbox, caches and servers of its own."""
        from pygent_ls.agent.tools.cache import ToolCache
        from pygent_ls.app.commands import command_facts
        from pygent_ls.app.language import LanguageSupport
        from pygent_ls.app.mcp import McpSupport
        from pygent_ls.app.remote import RemoteSupport
        from pygent_ls.app.setup import AppSetup
        from pygent_ls.app.shared import Shared
        from pygent_ls.app.storage import CHECKPOINTS
        from pygent_ls.app.trust_prompt import TrustPrompt
        from pygent_ls.app.worktrees import WorktreeAgents
        from pygent_ls.sessions.checkpoints.past_sessions import PastSessions
        from pygent_ls.sessions.store import Sessions
        from pygent_ls.workspace.snapshots.snapshots import Snapshots

        self._shared = layers.shared or Shared()
        self._is_alone = layers.shared is None
        self.state_folder = self._shared.state_folder
        self._front_end = front_end
        self._layers = layers
        self._beside = beside
        self._live = layers.live
        self._live.news(layers.taken)  # the front end reports these itself
        self._taken = layers.taken
        if front_end.is_restricted:
            self._live.distrust()
            self._taken = self._live.take(layers.taken.folder)
        self._trusting = beside._trusting if beside else TrustPrompt(layers.trust, front_end.ask_trust)
        self._processes, self._sandbox = self._shared.processes(
            self._settings,
            lambda: (*front_end.workspace.folders, *front_end.workspace.more_folders),
            named_key_variables(self._settings),
        )
        self._models = self._shared.models(self._settings, self._processes)
        self._endpoints = self._endpoints_of(self._taken)
        self._has_skills = False
        """Whether there were skills when the settings were last taken."""
        self._mcp = McpSupport(front_end, self._processes, self._sample)
        self._language = LanguageSupport(front_end, self._processes)
        self._remote = RemoteSupport(self._processes, self._project, self.state_folder)
        self._voice: Voice | None = None
        self._setup = AppSetup(
            live=self._live,
            keys=self._shared.keys,
            models=self._models,
            find=self._processes.find,
            folder=self._project,
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
        self.sessions.share(self._shared.live, is_front_end=beside is None)
        self.sessions.keep_checkpoints(self._checkpoints, self._past)
        self.sessions.keep_in(self._kept.journals)
        found = beside.worktrees if beside else None
        self.worktrees = found or WorktreeAgents(front_end, self.sessions, self._processes.find, self._agent_beside)
        self.sessions.tell_commands(
            command_facts(
                self._live, front_end, self, self._project, lambda: self._external_models.commands, self._admin
            )
        )

    def _agent_beside(self, front_end: FrontEnd) -> Agent:
        return Agent(replace(self._layers, taken=self._taken, shared=self._shared), front_end, beside=self)

    @property
    def _agents_beside(self) -> Iterable[Core]:
        """Return the agents of the worktrees beside the user's work tree."""
        return self.worktrees.agents if self._beside is None else ()

    def _project(self) -> Path | None:
        """Return the first folder that the user has open, if any; its settings, stored rules and notes apply."""
        return next(iter((self._beside or self)._front_end.workspace.folders), None)

    def _read_settings(self) -> Taken:
        """Read the settings that apply now. Blocking."""
        return self._live.take(self._project(), self._first_folder())

    @property
    def _settings(self) -> Settings:
        """Return the settings as they were last taken."""
        return self._taken.loaded.settings

    def _admin(self) -> AdminSettings:
        return self._taken.loaded.admin

    @cached_property
    def _skills(self) -> SkillFolders:
        from pygent_ls.app.prompt import skills_of

        return skills_of(self._front_end.workspace, self._admin, is_restricted=self._front_end.is_restricted)

    @cached_property
    def _symbols(self) -> WorkspaceSymbols:
        from pygent_ls.workspace.symbols.index import WorkspaceSymbols

        return WorkspaceSymbols(self._processes, self._front_end.workspace, self.state_folder / "symbols")

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
        taken = self._live.take(self._taken.folder)
        self._completions.use(taken)
        return self._live.news(taken)

    async def close(self) -> None:
        """Implement `Core`."""
        if self._voice is not None:
            await self._voice.close()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._shared.close() if self._is_alone else self.sessions.leave())
            group.create_task(self._mcp.close())
            group.create_task(self._language.close())
            if self._beside is None:
                group.create_task(self.worktrees.close())
            if "_external_models" in self.__dict__:
                group.create_task(self._external_models.close())
        if self._beside is None:
            await self._trusting.close()

    async def _take_settings(self) -> TurnSettings:
        """Return the settings for a new turn; ask the user for trust if the workspace's settings need it."""
        from pygent_ls.app.prompt import make_system_prompt, more_folders, notes_for, prompt_settings
        from pygent_ls.sessions.turns.settings import TurnSettings

        await self._front_end.configured()
        taken = await asyncio.to_thread(self._read_settings)
        self._taken = taken = await self._trusting.settle(taken)
        settings = taken.loaded.settings
        if taken.loaded.admin.problem:
            raise ModelError(taken.loaded.admin.problem, type="invalid_request")
        self._completions.use(taken)
        self._front_end.on_settings_change()
        self._mcp.apply(settings, self._first_folder())
        self._language.apply(settings)
        await self._own_tools.refresh(None if self._admin().is_exclusive("tools") else taken.trusted_tools)
        await self._mcp.until_started()
        of_keys = await asyncio.to_thread(self._shared.refresh_keys)
        self._endpoints = endpoints = await asyncio.to_thread(self._endpoints_of, taken)
        options = sandbox_options(settings)
        self._sandbox.change(await asyncio.to_thread(self.worktrees.with_git, options) if self._beside else options)
        await asyncio.to_thread(self._sandbox.tidy)
        self._processes.hide(named_key_variables(settings))
        also, wrong = await asyncio.to_thread(more_folders, taken)
        if self._beside is not None:
            also, problems = await asyncio.to_thread(self.worktrees.translated, also, self._first_folder())
            wrong = [*wrong, *problems]
        self._front_end.workspace.use_also(also)
        self._has_skills = bool(skills := await self._skills.all())
        notes = await notes_for(self._notes(), settings)
        prompt = replace(await prompt_settings(taken), skills=skills, notes=notes)
        problems = [f"Settings: {each}" for each in self._live.news(taken)]
        taken_names = [each.name for each in (*self._built_in(settings), *self._front_end.tools())]
        problems += self._live.untold(self._own_tools.tools(taken_names)[1])
        offer = await self._remote.offer(settings.remote)
        problems += self._live.untold(filter(None, (*wrong, prompt.problem, *of_keys, search_of(settings)[1], offer)))
        return TurnSettings(
            model=endpoints.model,
            mode=settings.mode,
            agent=settings.agent,
            variants=await asyncio.to_thread(variants_of, taken),
            limits=limits_of(taken.loaded),
            policy=self._policy(taken),
            endpoint=(endpoints, self._shared.keys_version),
            make_model=partial(self._make_model, endpoints),
            make_model_at=partial(self._make_model, endpoints),
            make_system_prompt=partial(make_system_prompt, self._front_end.workspace, prompt),
            renewed=partial(self._renewed, taken),
            notices=tuple(filter(None, (*problems, *self._trust_notices(taken)))),
        )

    def _trust_notices(self, taken: Taken) -> Sequence[str]:
        """Return the notices about an untrusted workspace, for the editor or its user."""
        from pygent_ls.app.trust_prompt import UNTRUSTED

        return self._live.untold([UNTRUSTED]) if self._front_end.is_restricted else [self._trusting.notice(taken)]

    def _policy(self, taken: Taken) -> Policy:
        return policy_of(taken.loaded, self.state_folder, is_restricted=self._front_end.is_restricted)

    def _renewed(self, taken: Taken, services: SessionServices) -> SessionServices:
        settings = taken.loaded.settings
        services.memory.secrets.switch(on=settings.redact_secrets)
        services.memory.secrets.know(self._shared.known_keys)
        environment = replace(
            services.environment,
            remote=self._remote.of(settings.remote),
            search=search_of(settings)[0],
            notes=self._notes(),
            prompt_map_tokens=map_tokens_of(settings),
            resources=self._mcp.servers,
            language=self._language.features,
            diagnostics_wait_s=settings.edits.diagnostics_wait_s,
            formatting=settings.edits.format,
            max_tool_result_chars=settings.max_tool_result_chars,
            hooks=hooks_of(taken.loaded, self._processes, self._front_end.hooks),
        )
        return replace(services, environment=environment, tools=self._tools(settings, services.memory.found_tools))

    @property
    def tools(self) -> ToolRegistry:
        """Return the tools that a new session offers to its model."""
        return self._tools(self._settings)

    def _tools(self, settings: Settings, found: set[str] | None = None) -> ToolRegistry:
        """Return the tools. `found` are the session's tools on demand that its model has found."""
        from pygent_ls.agent.tools.tool import ToolRegistry
        from pygent_ls.agent.variants import allowed_by_settings
        from pygent_ls.tools.tool_search import search_tool

        offered, of_editor = self._built_in(settings), self._front_end.tools()
        own, _ = self._own_tools.tools([each.name for each in (*offered, *of_editor)])
        servers = self._mcp.servers
        of_servers = servers.tools if servers else ()
        on_demand = [each for some in (of_servers, of_editor) if len(some) > MAX_MCP_TOOLS for each in some]
        finding = [search_tool(on_demand)] if on_demand else []
        reading = servers.resource_tools if servers else ()
        all_tools = [*offered, *own, *finding, *reading, *of_servers, *of_editor]
        registry = ToolRegistry(all_tools, on_demand=frozenset(each.name for each in on_demand), found=found)
        return allowed_by_settings(registry, settings.disallowed_tools)

    def _built_in(self, settings: Settings) -> Sequence[Tool]:
        from pygent_ls.agent.variants import variants
        from pygent_ls.tools.catalog import offered_tools

        return offered_tools(
            has_folder=bool(self._front_end.workspace.folders),
            shell_timeout_s=settings.shell_timeout_s,
            place=remote.place if (remote := self._remote.of(settings.remote)) else "",
            has_skills=self._has_skills,
            has_memory=settings.memory.enabled,
            map_tokens=settings.repository_map.tokens,
            has_search=settings.web_search.provider or search_of(settings)[0] is not None,
            language=self._language.features.offered,
            agents=[(each.name, each.description) for each in variants(profiles_of(settings)).profiles.values()],
        )

    @property
    def mcp(self) -> ServerView:
        """Implement `Core`."""
        return self._mcp.view

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
                servers=lambda: self._mcp.servers,
                tell=front_end.tell,
                settings=lambda: self._settings,
            )
        return self._voice or NoVoice()

    @property
    def completions(self) -> InlineCompletions:
        """Implement `Core`."""
        return self._completions

    @cached_property
    def _completions(self) -> ConfiguredCompletions:
        from pygent_ls.app.completion import completions_of

        front_end, shared = self._front_end, self._shared
        return completions_of(front_end, shared, self._taken, self._read_settings, self._completion_model)

    async def _completion_model(self, taken: Taken) -> Model:
        """Create the model that completes. Raises `ModelError`."""
        endpoints = await asyncio.to_thread(self._endpoints_of, taken)
        return self._make_model(endpoints, taken.loaded.settings.completion.model)

    async def _sample(self, request: SampleRequest) -> Sample:
        """Call the default model for an MCP server. Raises `ModelError`."""
        from pygent_ls.app.models import sampled

        return await sampled(
            self._make_model(self._endpoints, self._endpoints.model), request, self._settings.temperature
        )

    async def commit_message(self, folder: Path | None) -> str:
        """Implement `Core`."""
        from pygent_ls.app.commit_message import commit_message_writer

        taken = await self._take_settings()
        services = partial(self._services, "commit-message", "plan")
        return await commit_message_writer(taken, self._settings, services, self.sessions.all()).write(folder)

    def _notes(self) -> NotesFile:
        """Return the notes about the user's first folder, which may change."""
        from pygent_ls.workspace.files.notes_file import notes_file

        workspace = self._front_end.workspace
        return notes_file(self.state_folder, self._project() or Path.cwd(), workspace.open_document)

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

        def read() -> SessionStart:
            taken = self._read_settings()
            return beginning_of(taken, self._policy(taken), self._models.saved_keys)

        return await asyncio.to_thread(read)

    async def set_up(self, way: Way = "any") -> SetUp:
        """Implement `Core`."""
        return await self._setup.run(way)

    def take_keys(self, keys: Mapping[str, str | None]) -> frozenset[str]:
        """Implement `Core`."""
        self._shared.take_keys(keys)
        self._models = self._shared.models(self._settings, self._processes)
        self._endpoints = self._endpoints_of(self._taken)
        for agent in self._agents_beside:
            agent.take_keys(keys)
        return self._shared.editor_keys.variables

    async def models(self) -> Sequence[ListedModel]:
        """Implement `Core`."""
        from pygent_ls.app.models import models_of

        return await models_of(self._settings, self._endpoints, self._models, self._processes.find)

    @property
    def model_ready(self) -> bool:
        """Return whether the default model can be called without further loading."""
        return self._default_model is not None and self._default_model.ready

    def start_loading(self, after_s: float = 0.0) -> None:
        """Implement `Core`."""
        self._kept.start_tidying()
        self._mcp.apply(self._settings, self._first_folder())
        asyncio.get_running_loop().call_later(after_s, self._load)

    def _load(self) -> None:
        from pygent_ls.app.loading import start_loading

        start_loading(self._default_model)

    @cached_property
    def _default_model(self) -> Model | None:
        """Return the default model; None if its name is invalid, which the first turn reports."""
        try:
            return self._make_model(self._endpoints, self._endpoints.model)
        except ModelError:
            return None

    def rules(self) -> Sequence[Rule]:
        """Return the stored rules of this workspace, and those of the settings."""
        return [*self._rules().load(), *self._settings.permissions]

    def forget_rule(self, text: str) -> bool:
        """Remove a stored rule; return False if it is not stored."""
        return self._rules().remove(text)

    def file_changed(self, path: Path) -> None:
        """Drop cached data about a file that may have changed."""
        from pygent_ls.agent.rules.globs import escape

        self._cache.invalidate(escape(path))
        for agent in self._agents_beside:
            agent.file_changed(path)

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
            limits=limits_of(self._taken.loaded),
            variants=variants_of(self._taken),
            look_up_variants=self._look_up_variants,
            answer_without_model=self._setup.answer_without_model,
            persist=self._settings.persist_sessions,
            make_model_at=lambda name, api_base: self._make_model(self._endpoints, name, api_base),
        )

    def _look_up_variants(self) -> Variants:
        """Return the agents from the current settings, without workspace settings that the user was not asked about."""
        return variants_of(self._read_settings())

    def _first_folder(self) -> Path:
        """Return the first workspace folder, which may change; without one, the daemon's working directory."""
        return next(iter(self._front_end.workspace.folders), None) or Path.cwd()

    def _rules(self) -> FileRuleStore:
        from pygent_ls.sessions.rules import FileRuleStore

        return FileRuleStore(self.state_folder, self._project() or Path.cwd())

    def _services(self, session_id: str, mode: Mode) -> SessionServices:
        from pygent_ls.agent.permissions.permissions import Permissions
        from pygent_ls.agent.session_services import Environment, SessionMemory, SessionServices
        from pygent_ls.agent.tools.read_log import ReadLog
        from pygent_ls.extensions.instructions import RepositoryInstructions
        from pygent_ls.workspace.pictures.converter import PictureConverter
        from pygent_ls.workspace.templates.template_folders import TemplateFolders
        from pygent_ls.workspace.web.http_client import HttpWeb

        secrets = secrets_of(self._settings, self.state_folder, self._front_end.workspace, self._shared.known_keys)
        environment = Environment(
            workspace=self._front_end.workspace,
            processes=self._front_end.around_processes(self._processes),
            remote=self._remote.of(self._settings.remote),
            web=HttpWeb(self._processes),
            pictures=PictureConverter(self._processes),
            search=search_of(self._settings)[0],
            skills=self._skills,
            notes=self._notes(),
            symbols=self._symbols,
            prompt_map_tokens=map_tokens_of(self._settings),
            resources=self._mcp.servers,
            templates=TemplateFolders(
                self._processes, shipped=Path(__file__).parents[1] / "scaffold", users=user_file().parent
            ),
            approver=self._front_end.approver,
            questioner=self._front_end.questioner,
            pauser=self._front_end.pauser,
            editor=self._front_end.editor,
            language=self._language.features,
            reviewer=self._front_end.reviewer,
            findings=self._front_end.findings,
            cache=self._cache,
            max_tool_result_chars=self._settings.max_tool_result_chars,
            instructions=RepositoryInstructions(self._front_end.workspace, secrets.masks),
            telemetry=self._shared.telemetry,
        )
        memory = SessionMemory(
            session_id=session_id,
            permissions=Permissions(mode, self._rules(), self._policy(self._taken)),
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
        return endpoints_of(taken.loaded, model_and_reason(taken.loaded, self._models.saved_keys)[0])

    @cached_property
    def _external_models(self) -> ExternalModels:
        from pygent_ls.app.external_models import ExternalModels

        return ExternalModels(self._processes, self._first_folder, lambda: self._settings, self._front_end)

    def _make_model(self, endpoints: Endpoints, name: str, api_base: str = "") -> Model:
        """Create a model, or the agent of another program in place of one. Raises `ModelError`."""
        from pygent_ls.app.models import turn_model

        return turn_model(endpoints, name, api_base, self._models, lambda: self._external_models)

    async def _system_prompt(self, wanted: PromptFor) -> str:
        """Return the system prompt for a session that does not take settings at the start of a turn."""
        from pygent_ls.app.prompt import make_system_prompt, notes_for, prompt_settings

        notes = await notes_for(self._notes(), self._settings)
        settings = replace(await prompt_settings(self._taken), skills=await self._skills.all(), notes=notes)
        return await make_system_prompt(self._front_end.workspace, settings, wanted)
