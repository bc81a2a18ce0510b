"""Agent switch in a running turn."""

from __future__ import annotations

from msgspec.structs import replace

from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.session_services import SessionServices
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn_spec import TurnSpec
from pygent_ls.sessions.turns.choices import Choices, model_settings_for, narrowed
from pygent_ls.sessions.turns.context import SessionContext
from pygent_ls.sessions.turns.prompt import system_prompt
from pygent_ls.sessions.turns.session_parts import ActiveParts
from pygent_ls.sessions.turns.turn import RunningTurn


def switch_agent(running: RunningTurn, choices: Choices, active: ActiveParts, context: SessionContext) -> None:
    """Switch the running turn to the currently chosen agent from its next model call on: its model, prompt, tools and
    mode. The turn keeps the limits that it began with. A turn that chose its agent itself is not changed."""
    turn = running.turn
    if not isinstance(turn, Turn) or choices.problem_of(running.request):  # the next turn reports the problem
        return
    if choices.for_turn(running.request).profile.name == turn.context.spec.agent:
        return

    async def made() -> tuple[TurnSpec, SessionServices]:
        services, spec = active.services, turn.context.spec
        chosen = choices.for_turn(running.request)
        profile = chosen.profile
        running.own_mode = chosen.own_mode
        services.memory.permissions.set_turn_mode(chosen.own_mode)
        own = narrowed(services, profile, running.request)
        tools = [each.name for each in own.tools.list_all()]
        wanted = PromptFor(mode=chosen.mode, tools=tools, agent=profile.prompt)
        usual = replace(spec.model_settings, temperature=active.limits.model.temperature)
        spec = replace(
            spec,
            model=chosen.model,
            mode=chosen.mode,
            agent=profile.name,
            system=await system_prompt(services, active.parts.make_system_prompt, wanted),
            model_settings=model_settings_for(usual, profile, context.rules_for(profile.context_mode)),
        )
        return spec, own

    turn.switch_agent(made)
