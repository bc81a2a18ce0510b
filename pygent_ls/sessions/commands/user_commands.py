"""Commands defined by the user, the workspace or an MCP server: prompts for the model."""

from __future__ import annotations

from functools import partial

from pygent_ls.agent.variants import matches
from pygent_ls.errors import SessionError
from pygent_ls.extensions.acp.programs import AgentCommand
from pygent_ls.extensions.commands import OwnCommand
from pygent_ls.extensions.mcp.prompts import ServerPrompt
from pygent_ls.sessions.commands.command import Command, CommandCall
from pygent_ls.sessions.commands.template import filled
from pygent_ls.sessions.turns.command_turn import ModelPrompt


def own_command(own: OwnCommand) -> Command:
    """Return the command. A broken one says why in the list and when it is used."""
    if own.problem:
        return Command(
            name=own.name,
            description=f"cannot be used: {own.problem}",
            takes="[…]",
            prompt=partial(_broken, own),
            source=own.source,
        )
    return Command(
        name=own.name,
        description=own.description,
        takes=f"[{own.takes or '…'}]",
        prompt=partial(_prompt, own),
        source=own.source,
        takes_files=True,
    )


def server_command(given: ServerPrompt) -> Command:
    """Return the command for a prompt of an MCP server."""

    async def prompt(call: CommandCall) -> ModelPrompt:
        filled_prompt = await given.filled(call.text)
        if not filled_prompt.text.strip() and not filled_prompt.images:
            raise SessionError(f"The MCP server gives an empty prompt for `/{given.command}`.", kind="broken_command")
        return ModelPrompt(text=filled_prompt.text, images=filled_prompt.images, own_words=call.text)

    return Command(
        name=given.command, description=given.description, takes=f"[{given.takes}]", prompt=prompt, source="mcp"
    )


def agent_command(given: AgentCommand) -> Command:
    """Return the command that an agent of another program offers, which reads it as it is written."""

    async def prompt(call: CommandCall) -> ModelPrompt:
        return ModelPrompt(text=f"/{given.name} {call.text}".strip())

    return Command(name=given.name, description=given.description, takes="[…]", prompt=prompt, source="agent")


async def _broken(own: OwnCommand, _call: CommandCall) -> ModelPrompt:
    raise SessionError(f"The {own.source} command `/{own.name}` cannot be used: {own.problem}.", kind="broken_command")


async def _prompt(own: OwnCommand, call: CommandCall) -> ModelPrompt:
    """Return the prompt. Raises `SessionError` if the front matter names an unknown agent or tool."""
    notices: list[str] = []
    agent, model, own_words = own.agent, own.model, None
    variants = call.session.choices.variants
    if agent is not None and agent not in variants.profiles:
        raise _names_nothing(own, f"the agent `{agent}`", list(variants.profiles))
    if own.source == "workspace":
        if agent is not None and agent not in variants.planners:
            notices.append(_left_out(own, f"the agent `{agent}`"))
            agent = None
        if model is not None:
            notices.append(_left_out(own, f"the model `{model}`"))
            model = None
        own_words = call.text  # in the rest of the prompt, `@agent-NAME` chooses no agent
    tools = [each.name for each in call.session.services.tools.list_all()]
    for name in own.tools or ():
        if not any(matches(tool, (name,)) for tool in tools):
            raise _names_nothing(own, f"the tool `{name}`", sorted(tools))
    return ModelPrompt(
        text=filled(own.template, call.text),
        agent=agent,
        model=model,
        tools=own.tools,
        notices=tuple(notices),
        own_words=own_words,
    )


def _names_nothing(own: OwnCommand, what: str, known: list[str]) -> SessionError:
    listed = ", ".join(f"`{name}`" for name in known)
    return SessionError(
        f"The {own.source} command `/{own.name}` requires {what}, which does not exist. Available: {listed}.",
        kind="broken_command",
    )


def _left_out(own: OwnCommand, what: str) -> str:
    return (
        f"/{own.name} sets {what}, which is ignored: commands of the workspace can only restrict a turn. Your own "
        "commands can set it."
    )
