"""Commands that say, or choose, what answers and what it may do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from pygent_ls.agent.model import EFFORTS, Effort
from pygent_ls.agent.permissions import Mode
from pygent_ls.sessions.commands.command import Call, Choice, Command, ModelPrompt, UsageError, first_word, one_of
from pygent_ls.sessions.commands.wording import one_line

MAX_SHOWN = 50
"""Models that an answer lists; the rest is counted."""

MODES: Mapping[Mode, str] = {
    "default": "what only reads runs, everything else is asked for",
    "accept_edits": "edits of files run too",
    "plan": "reads and plans, changes nothing",
    "trust": "medium risk runs, high risk is asked for",
    "bypass": "everything runs; needs `allow_bypass` in your own settings",
}
"""What each mode lets through."""


async def _model(call: Call) -> str:
    if call.text:
        first, more = first_word(call.text)
        if not call.text.isprintable() or (more and ":" not in first):  # a file's name may have spaces
            raise UsageError("Name one model, as `PROVIDER/MODEL`.")
        call.session.set_model(call.text)
        return f"The model is `{call.text}` from now on."
    lines = [f"The model is `{call.session.model}`."]
    models = await call.facts.models()
    usable = [each.name for each in models if each.available]
    if usable:
        more = f" and {len(usable) - MAX_SHOWN} more" if len(usable) > MAX_SHOWN else ""
        lines += [f"Ready to use: {', '.join(f'`{name}`' for name in usable[:MAX_SHOWN])}{more}."]
    lines += [f"- `{each.name}`: {each.reason}" for each in models if not each.available][:MAX_SHOWN]
    return "\n".join([*lines, "`/model NAME` chooses another one, any that a provider has."])


async def _models(call: Call) -> Sequence[Choice]:
    if call.words:
        return ()
    return [Choice(word=each.name, detail=each.reason) for each in await call.facts.models() if each.available]


async def _mode(call: Call) -> str:
    if call.text:
        mode = one_of(call, "mode", {name: name for name in get_args(Mode)})
        call.session.permissions.set_mode(mode)
        return f"The mode is `{mode}` from now on: {MODES[mode]}."
    current = call.session.permissions.mode
    lines = [f"- `{name}`: {what}{' (now)' if name == current else ''}" for name, what in MODES.items()]
    return "\n".join([f"The mode is `{current}`.", *lines])


async def _modes(call: Call) -> Sequence[Choice]:
    return () if call.words else [Choice(word=name, detail=what) for name, what in MODES.items()]


USUAL = "default"
"""Takes back what was chosen for the session."""


async def _effort(call: Call) -> str:
    if call.text == USUAL:
        call.session.choices.effort = None
        return "The agent, the settings or the model choose the effort from the next prompt on."
    if call.text:
        effort = one_of(call, "effort", {name: name for name in get_args(Effort)})
        call.session.choices.effort = effort
        return f"The effort is `{effort}` from the next prompt on; each model gets the nearest one that it takes."
    chosen = call.session.choices.effort
    now = f"The effort is `{chosen}`." if chosen else "The agent, the settings or the model choose the effort."
    names = ", ".join(f"`{name}`" for name in EFFORTS)
    return f"{now} `/effort NAME` chooses one of {names}, and `/effort {USUAL}` leaves it to them again."


async def _efforts(call: Call) -> Sequence[Choice]:
    return () if call.words else [Choice(word=name) for name in (*EFFORTS, USUAL)]


# Agents


async def _agent(call: Call) -> str:
    agents = call.session.choices.variants.profiles
    if call.text:
        found = one_of(call, "agent", agents)
        call.session.set_agent(found.name)
        return f"The agent is `{found.name}` from now on: {found.description}"
    lines = [
        f"- `{each.name}`: {each.description}{' (now)' if each.name == call.session.agent else ''}"
        for each in agents.values()
    ]
    return "\n".join([f"The agent is `{call.session.agent}`.", *lines])


async def _agent_prompt(call: Call) -> ModelPrompt | None:
    """`/agent NAME PROMPT`: one turn of that agent."""
    name, prompt = first_word(call.text)
    if not prompt or name not in call.session.choices.variants.profiles:
        return None
    return ModelPrompt(text=prompt, agent=name)


async def _agents(call: Call) -> Sequence[Choice]:
    if call.words:
        return ()
    return [Choice(word=each.name, detail=each.description) for each in call.session.choices.variants.profiles.values()]


# What it may do


async def _list_rules(call: Call) -> str:
    permissions = call.session.permissions
    lines = [f"The mode is `{permissions.mode}`: {MODES[permissions.mode]}."]
    rules = permissions.rules()
    if not rules:
        return "\n".join([*lines, 'There are no rules. "Always allow" makes one, and so do the settings.'])
    lines += [f"- {rule.decision} `{rule.text}` ({_ORIGINS[rule.origin]})" for rule in rules]
    return "\n".join([*lines, "`/permissions forget RULE` takes back one that an answer of yours made."])


_ORIGINS = {
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


async def _forget_rule(call: Call) -> str:
    permissions = call.session.permissions
    if permissions.forget(call.text):
        return f"The rule `{call.text}` is forgotten."
    kept = next((rule for rule in permissions.rules() if rule.text == call.text), None)
    if kept is not None:
        raise UsageError(f"The rule `{call.text}` stands in {_ORIGINS[kept.origin]}: take it out there.")
    raise UsageError(f"There is no rule {call.text!r}. `/permissions` lists them.")


async def _forgettable(call: Call) -> Sequence[Choice]:
    if call.words:
        return ()
    rules = call.session.permissions.rules()
    return [Choice(word=rule.text, detail=_ORIGINS[rule.origin]) for rule in rules if rule.origin in _OF_ANSWERS]


async def _tools(call: Call) -> str:
    lines = [
        f"- `{tool.name}` ({tool.risk.value} risk{', only reads' if tool.read_only else ''}): "
        f"{one_line(tool.description.partition(chr(10))[0])}"
        for tool in call.session.around.tools.list_all()
    ]
    return "\n".join(["The model is offered:", *lines])


COMMANDS = (
    Command(
        name="model",
        takes="[NAME]",
        description="which model answers, or another one from now on",
        run=_model,
        complete=_models,
    ),
    Command(
        name="agent",
        takes="[NAME [PROMPT]]",
        description="which agent answers, or another one from now on; with a prompt, for that alone",
        run=_agent,
        prompt=_agent_prompt,
        complete=_agents,
    ),
    Command(
        name="effort",
        takes="[NAME]",
        description="how much the model reasons before it answers",
        run=_effort,
        complete=_efforts,
    ),
    Command(name="mode", takes="[NAME]", description="what runs without being asked for", run=_mode, complete=_modes),
    Command(
        name="permissions",
        description="the rules that count, and where each is from",
        parts=(
            Command(name="list", description="all of them", run=_list_rules),
            Command(
                name="forget",
                takes="RULE",
                description="take back one that an answer of yours made",
                run=_forget_rule,
                complete=_forgettable,
            ),
        ),
    ),
    Command(name="tools", description="what the model is offered, and how risky each is", run=_tools),
)
