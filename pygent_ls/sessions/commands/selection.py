"""Commands that show or choose the model, the agent and the permissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports.model import EFFORTS, Effort
from pygent_ls.sessions.commands.command import Command, CommandCall, UsageError, WordChoice, first_word, one_of
from pygent_ls.sessions.turns.command_turn import ModelPrompt

MAX_SHOWN = 50
"""Maximum number of models listed in an answer; the others are counted."""

MODES: Mapping[Mode, str] = {
    "default": "only reading runs without asking",
    "accept_edits": "reading and file edits run without asking",
    "plan": "read-only: plans but changes nothing",
    "trust": "asks for high risk, and if a rule or hook asks",
    "bypass": "asks only if a rule or hook asks; requires `allow_bypass` in your own settings",
}
"""Description of what each mode allows."""


async def _model(call: CommandCall) -> str:
    if call.text:
        first, more = first_word(call.text)
        if not call.text.isprintable() or (more and ":" not in first):  # a file name may contain spaces
            raise UsageError("Name one model as `PROVIDER/MODEL`.")
        call.session.set_model(call.text)
        return f"Model set to `{call.text}`."
    lines = [f"Current model: `{call.session.model}`."]
    models = await call.facts.models()
    usable = [each.name for each in models if each.available]
    if usable:
        more = f" and {len(usable) - MAX_SHOWN} more" if len(usable) > MAX_SHOWN else ""
        lines += [f"Ready to use: {', '.join(f'`{name}`' for name in usable[:MAX_SHOWN])}{more}."]
    lines += [f"- `{each.name}`: {each.reason}" for each in models if not each.available][:MAX_SHOWN]
    return "\n".join([*lines, "`/model NAME` switches to any model of any provider."])


async def _models(call: CommandCall) -> Sequence[WordChoice]:
    if call.words:
        return ()
    return [WordChoice(word=each.name, detail=each.reason) for each in await call.facts.models() if each.available]


async def _mode(call: CommandCall) -> str:
    if call.text:
        mode = one_of(call, "mode", {name: name for name in get_args(Mode)})
        call.session.permissions.set_mode(mode)
        return f"Mode set to `{mode}`: {MODES[mode]}."
    current, offered = call.session.permissions.mode, _offered_modes(call)
    lines = [f"- `{name}`: {what}{' (current)' if name == current else ''}" for name, what in offered.items()]
    return "\n".join([f"Current mode: `{current}`.", *lines])


async def _modes(call: CommandCall) -> Sequence[WordChoice]:
    offered = _offered_modes(call)
    return () if call.words else [WordChoice(word=name, detail=what) for name, what in offered.items()]


def _offered_modes(call: CommandCall) -> Mapping[Mode, str]:
    """Return the modes that the administrator allows; the others are refused with the reason."""
    return {name: what for name, what in MODES.items() if call.session.permissions.admin.allows(name)}


USUAL = "default"
"""Argument that resets what was chosen for the session."""


async def _effort(call: CommandCall) -> str:
    if call.text == USUAL:
        call.session.choices.set_effort(None)
        return "Effort reset: the agent, the settings or the model determine it from the next prompt on."
    if call.text:
        effort = one_of(call, "effort", {name: name for name in get_args(Effort)})
        call.session.choices.set_effort(effort)
        return f"Effort set to `{effort}` from the next prompt on. Each model gets the nearest level it supports."
    chosen = call.session.choices.effort
    now = f"Current effort: `{chosen}`." if chosen else "The agent, the settings or the model determine the effort."
    names = ", ".join(f"`{name}`" for name in EFFORTS)
    return f"{now} `/effort NAME` sets one of {names}; `/effort {USUAL}` resets it."


async def _efforts(call: CommandCall) -> Sequence[WordChoice]:
    return () if call.words else [WordChoice(word=name) for name in (*EFFORTS, USUAL)]


# Agents


async def _agent(call: CommandCall) -> str:
    agents = call.session.choices.variants.profiles
    if call.text:
        found = one_of(call, "agent", agents)
        call.session.set_agent(found.name)
        return f"Agent set to `{found.name}`: {found.description}"
    lines = [
        f"- `{each.name}`: {each.description}{' (current)' if each.name == call.session.agent else ''}"
        for each in agents.values()
    ]
    return "\n".join([f"Current agent: `{call.session.agent}`.", *lines])


async def _agent_prompt(call: CommandCall) -> ModelPrompt | None:
    """Handle `/agent NAME PROMPT`: one turn of that agent."""
    name, prompt = first_word(call.text)
    if not prompt or name not in call.session.choices.variants.profiles:
        return None
    return ModelPrompt(text=prompt, agent=name)


async def _agents(call: CommandCall) -> Sequence[WordChoice]:
    if call.words:
        return ()
    return [
        WordChoice(word=each.name, detail=each.description) for each in call.session.choices.variants.profiles.values()
    ]


# Permissions


async def _list_rules(call: CommandCall) -> str:
    permissions = call.session.permissions
    lines = [f"Current mode: `{permissions.mode}`: {MODES[permissions.mode]}."]
    rules = permissions.rules()
    if not rules:
        return "\n".join(
            [*lines, ('There are no rules. The answer "Always allow" adds one, and settings can define them.')]
        )
    lines += [f"- {rule.decision} `{rule.text}` ({_ORIGINS[rule.origin]})" for rule in rules]
    return "\n".join([*lines, "`/permissions forget RULE` removes a rule that one of your answers added."])


_ORIGINS = {
    "admin": "the administrator's settings",
    "user": "your settings",
    "workspace": "the workspace's settings",
    "environment": "the environment",
    "editor": "the editor's settings",
    "command_line": "the command line",
    "session": "allowed for this session",
    "always_allow": "Always allow",
    "always_reject": "Always reject",
}

_OF_ANSWERS = frozenset({"session", "always_allow", "always_reject"})


async def _forget_rule(call: CommandCall) -> str:
    permissions = call.session.permissions
    if permissions.forget(call.text):
        return f"Removed the rule `{call.text}`."
    kept = next((rule for rule in permissions.rules() if rule.text == call.text), None)
    if kept is not None:
        raise UsageError(f"The rule `{call.text}` is defined in {_ORIGINS[kept.origin]}. Remove it there.")
    raise UsageError(f"There is no rule {call.text!r}. `/permissions` lists them.")


async def _forgettable(call: CommandCall) -> Sequence[WordChoice]:
    if call.words:
        return ()
    rules = call.session.permissions.rules()
    return [WordChoice(word=rule.text, detail=_ORIGINS[rule.origin]) for rule in rules if rule.origin in _OF_ANSWERS]


async def _tools(call: CommandCall) -> str:
    lines = [
        f"- `{tool.name}` ({tool.risk.value} risk{', read-only' if tool.read_only else ''}): "
        f"{one_line(tool.description.partition(chr(10))[0])}"
        for tool in call.session.services.tools.list_all()
    ]
    return "\n".join(["Tools available to the model:", *lines])


COMMANDS = (
    Command(
        name="model",
        takes="[NAME]",
        description="show or change the model",
        run=_model,
        complete=_models,
    ),
    Command(
        name="agent",
        takes="[NAME [PROMPT]]",
        description="show or change the agent; with a prompt, use it for that prompt only",
        run=_agent,
        prompt=_agent_prompt,
        complete=_agents,
    ),
    Command(
        name="effort",
        takes="[NAME]",
        description="show or change the reasoning effort",
        run=_effort,
        complete=_efforts,
    ),
    Command(name="mode", takes="[NAME]", description="show or change the permission mode", run=_mode, complete=_modes),
    Command(
        name="permissions",
        description="show and remove permission rules",
        parts=(
            Command(name="list", description="list all", run=_list_rules),
            Command(
                name="forget",
                takes="RULE",
                description="remove a rule that one of your answers added",
                run=_forget_rule,
                complete=_forgettable,
            ),
        ),
    ),
    Command(name="tools", description="list the available tools and their risk", run=_tools),
)
