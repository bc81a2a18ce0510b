"""Agents of other programs as models, made from the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pygent_ls.agent.external_agent import ExternalModel
from pygent_ls.app.factories import mcp_servers_of
from pygent_ls.config.settings import Settings
from pygent_ls.editors.ports import FrontEnd
from pygent_ls.errors import SettingError
from pygent_ls.extensions.acp.agents import ExternalAgents
from pygent_ls.extensions.acp.process import AgentServices
from pygent_ls.extensions.acp.programs import PRESETS, AgentCommand, AgentProgram, program_named
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.processes.marked import end_marked


class ExternalModels:
    """The agents that a front end has used; ends their processes in `close`."""

    def __init__(
        self,
        processes: LocalProcesses,
        folder: Callable[[], Path],
        settings: Callable[[], Settings],
        front_end: FrontEnd,
    ) -> None:
        self._settings = settings
        self._agents = ExternalAgents(
            AgentServices(
                run=processes.serve,
                find=processes.find,
                folder=folder,
                servers=lambda: mcp_servers_of(settings(), folder()),
                end_marked=end_marked,
                is_restricted=front_end.is_restricted,
            )
        )

    def model(self, name: str) -> ExternalModel:
        """Return the agent of that name: `acp:NAME`, `acp:NAME/MODEL`. Raises `SettingError`."""
        program, model = program_named(name, agent_programs_of(self._settings()))
        return ExternalModel(name, self._agents.agent(program, model))

    @property
    def commands(self) -> Sequence[AgentCommand]:
        """Commands that running agents offer."""
        return self._agents.commands

    async def close(self) -> None:
        """End all processes."""
        await self._agents.close()


def agent_programs_of(settings: Settings) -> Mapping[str, AgentProgram]:
    """Return the agents of the settings. An entry with the name of a known agent changes that. Raises `SettingError`
    for an agent without a command."""
    found: dict[str, AgentProgram] = {}
    for name, table in settings.acp_agents.items():
        preset = PRESETS.get(name)
        if not table.command and preset is None:
            raise SettingError(f"acp_agents.{name} has no command. Set `command` to the program and its arguments.")
        base = preset or AgentProgram(name=name, label=name, command=table.command)
        found[name] = replace(
            base,
            command=table.command or base.command,
            env={**base.env, **table.env},
            mode=table.mode or base.mode,
        )
    return found
