"""Creation of subagents, each with an agent definition and at most its parent's permissions."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.context.instructions import without_secrets
from pygent_ls.agent.context.memory import ContextMemory
from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.permissions.permissions import stricter
from pygent_ls.agent.ports.model import Model
from pygent_ls.agent.ports.subagents import SubagentTask
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.tools.plan import Plan
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.turn.state import Delegate
from pygent_ls.agent.turn_spec import TurnLimits
from pygent_ls.agent.variants import PLANNER, AgentProfile, Variants
from pygent_ls.errors import ModelError, SessionError, ToolError
from pygent_ls.sessions.turns.choices import model_settings_for
from pygent_ls.sessions.turns.settings import MakeSystemPrompt

SUBAGENT_PROMPT = """\
You are a subagent: another agent gave you this task, and reads only your last message. Do what it asks and no more. \
End with a report that stands for itself: what you found or did, with files and lines, what you have verified, and \
what is left open."""


class SubagentFactory(Struct, frozen=True, kw_only=True):
    """Creates the subagents of one turn."""

    variants: Variants
    make_model: Callable[[str, str], Model]
    """Makes a model by name and API base URL; raises `ModelError`."""
    make_system_prompt: MakeSystemPrompt

    async def make(self, tool_id: str, task: SubagentTask, parent: RunContext) -> Delegate:
        """Return the subagent for the `task` call of that id. Raises `ToolError` if it is unavailable."""
        spec, memory = parent.spec, parent.memory
        mode = stricter(memory.permissions.mode, spec.ceiling)
        profile = self._profile(task.agent, spec.agent, plans=mode == "plan")
        ceiling = stricter(profile.mode or "bypass", spec.ceiling)
        if task.background:  # the mode of the session or of a later turn must not loosen its own
            ceiling = stricter(mode, ceiling)
        services = SessionServices(
            environment=replace(parent.environment, instructions=parent.environment.instructions.afresh()),
            memory=replace(memory, reads=ReadLog(), plan=Plan(), window=ContextMemory()),
            tools=profile.offered(parent.tools),
        )
        masked, settings = memory.secrets.masked, spec.model_settings
        context = replace(settings.context, mode=profile.context_mode or settings.context.mode)
        return Delegate(
            services=services,
            spec=replace(
                spec,
                prompt=await masked(task.description),
                content=await masked(task.prompt),
                model=self._model(profile) or spec.model,
                mode=stricter(mode, ceiling),
                agent=profile.name,
                system=await self._system(profile, services, stricter(mode, ceiling)),
                limits=_limits(profile, spec.limits),
                model_settings=replace(
                    model_settings_for(settings, profile, context), effort=profile.effort or settings.effort
                ),
                notices=self._news(profile, parent),
                parent_tool_id=tool_id,
                source=await masked(f"subagent {profile.name}: {one_line(task.description)}"),
                ceiling=ceiling,
            ),
        )

    def _profile(self, named: str | None, parents: str, *, plans: bool) -> AgentProfile:
        if named is None:
            named = PLANNER if plans and parents not in self.variants.planners else parents
        try:
            return self.variants.get(named)
        except SessionError as error:
            raise ToolError(str(error)) from None

    def _news(self, profile: AgentProfile, parent: RunContext) -> tuple[str, ...]:
        """Return the agent's notices that were not yet shown in this turn."""
        told = parent.share.told
        new = tuple(each for each in profile.notices if each not in told)
        told.update(new)
        return new

    def _model(self, profile: AgentProfile) -> Model | None:
        """Return the agent's own model; None if it has none."""
        if not profile.model:
            return None
        try:
            return self.make_model(profile.model, profile.api_base)
        except ModelError as error:
            raise ToolError(f"The agent {profile.name} cannot be started: {error.message}") from None

    async def _system(self, profile: AgentProfile, services: SessionServices, mode: str) -> str:
        found = await services.environment.instructions.of_workspace(services.memory.permissions.reading())
        wanted = PromptFor(
            mode=mode,
            tools=[each.name for each in services.tools.list_all()],
            agent="\n\n".join(filter(None, (SUBAGENT_PROMPT, profile.prompt))),
            instructions=[await without_secrets(each, services.memory.secrets) for each in found if not each.problem],
        )
        return await services.memory.secrets.masked(await self.make_system_prompt(wanted))


def _limits(profile: AgentProfile, parents: TurnLimits) -> TurnLimits:
    """Return the subagent's limits. It makes at most as many model calls as its parent may, and they are counted
    separately. Its tokens, cost and time count for the turn; here they are limited only if the agent sets limits of its
    own."""
    calls = [each for each in (profile.max_iterations, parents.max_iterations) if each]
    return TurnLimits(
        max_iterations=min(calls, default=0),
        max_tokens=profile.max_tokens or 0,
        max_budget_usd=profile.max_budget_usd or 0.0,
    )
