"""Agent switch in a running turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pygent_ls.agent.context.system_prompt import PromptFor
from pygent_ls.agent.run_context import RunContext
from pygent_ls.agent.turn.loop import Turn
from pygent_ls.agent.turn.state import TurnSpec
from pygent_ls.sessions.turns.choices import Choices, narrowed
from pygent_ls.sessions.turns.context import SessionContext
from pygent_ls.sessions.turns.prompt import system_prompt
from pygent_ls.sessions.turns.turn import RunningTurn, SessionParts


def keep_up(running: RunningTurn, choices: Choices, parts: Callable[[], SessionParts], context: SessionContext) -> None:
    """Switch the running turn to the currently chosen agent from its next model call on: its model, prompt, tools and
    mode. The turn keeps the limits that it began with. A turn that chose its agent itself is not changed."""
    turn = running.turn
    if not isinstance(turn, Turn) or choices.problem_of(running.request):  # the next turn reports the problem
        return
    if choices.for_turn(running.request).profile.name == turn.agent:
        return

    async def made() -> tuple[TurnSpec, RunContext]:
        around, limits = parts().surroundings, parts().limits
        chosen = choices.for_turn(running.request)
        profile = chosen.profile
        running.own_mode = chosen.own_mode
        around.permissions.set_turn_mode(chosen.own_mode)
        own = narrowed(around, profile, running.request)
        tools = [each.name for each in own.tools.list_all()]
        spec = replace(
            turn.spec,
            model=chosen.model,
            mode=chosen.mode,
            agent=profile.name,
            system=await system_prompt(
                around, parts().make_system_prompt, PromptFor(mode=chosen.mode, tools=tools, agent=profile.prompt)
            ),
            temperature=limits.temperature if profile.temperature is None else profile.temperature,
            context=context.rules_for(profile.context_mode),
            stream=profile.stream,
        )
        return spec, own

    turn.become(made)
