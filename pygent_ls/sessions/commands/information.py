"""Commands that show information: the commands, the usage, the configuration."""

from __future__ import annotations

from collections.abc import Sequence

from pygent_ls.agent.context.conversation_text import fenced
from pygent_ls.extensions.mcp.server import ServerStatus
from pygent_ls.sessions.commands.answer_text import spent
from pygent_ls.sessions.commands.command import (
    Command,
    CommandCall,
    CommandList,
    CommandSource,
    UsageError,
    WordChoice,
    usage_of,
)
from pygent_ls.sessions.read_only_view import looking_around
from pygent_ls.tools.search.repository_map import DEFAULT_TOKENS, MAX_FOCUS, NOTHING, MapRequest, repository_map

_TITLES: dict[CommandSource, str] = {
    "built-in": "Commands:",
    "user": "Your commands:",
    "workspace": "Workspace commands:",
    "alias": "Aliases from the settings:",
    "mcp": "Prompts of MCP servers:",
    "agent": "Commands of other agents:",
}


def list_of(listing: CommandList) -> str:
    """Return a list of all commands, grouped by source."""
    lines: list[str] = []
    for source, title in _TITLES.items():
        of_source = [each for each in listing.commands.values() if each.source == source]
        if of_source:
            lines += ([""] if lines else []) + [title]
            lines += [f"- `/{each.name}`: {each.description}" for each in of_source]
    if listing.problems:
        lines += ["", *listing.problems]
    return "\n".join(lines)


async def _help(call: CommandCall) -> str:
    if not call.text:
        return list_of(call.listing)
    command = call.listing.commands.get(call.text.removeprefix("/").lower())
    if command is None:
        raise UsageError(f"There is no command {call.text!r}. `/help` lists them.")
    lines = [f"`/{command.name}`: {command.description}"]
    if command.parts:
        lines += [f"- `/{command.name} {part.usages[0]}`: {part.description}" for part in command.parts]
    if command.run is not None or not command.parts:
        lines.append(usage_of(command))
    return "\n".join(lines)


async def _names(call: CommandCall) -> Sequence[WordChoice]:
    if call.words:
        return ()
    return [WordChoice(word=each.name, detail=each.description) for each in call.listing.commands.values()]


async def _cost(call: CommandCall) -> str:
    session, turn = call.session.usage, call.session.last_turn_usage
    if session.is_nothing:
        return "No usage yet: no model was called."
    lines = [f"- last turn: {spent(turn)}", f"- session: {spent(session)}"]
    if session.cost_usd is None:
        lines.append(f'The price of a model is unknown. Set it in `[models."{call.session.model}"]` in the settings.')
    return "\n".join(lines)


async def _mcp(call: CommandCall) -> str:
    mcp = call.facts.mcp()
    servers = mcp.statuses
    action, _, name = call.text.partition(" ")
    name = name.strip()
    match action:
        case "restart":
            mcp.restart(name)
            return f"The MCP server `{name}` is started again."
        case "login":
            await mcp.sign_in(name)
            return f"You are signed in to the MCP server `{name}`, which is started again."
        case "logout":
            is_forgotten = await mcp.sign_out(name)
            return f"You are signed out of the MCP server `{name}`." if is_forgotten else "You were not signed in."
        case "log":
            lines = mcp.log(name)
            return fenced("\n".join(lines), "") if lines else f"The MCP server `{name}` has written no log."
        case "":
            if not servers:
                return "The settings define no MCP servers (`[mcp_servers.NAME]`)."
            return "\n".join(line for each in servers for line in _server_lines(each))
        case _:
            raise UsageError(f"/mcp {action} is not known.")


def _server_lines(server: ServerStatus) -> list[str]:
    tools = f"{len(server.tools)} {'tool' if len(server.tools) == 1 else 'tools'}"
    state = f"{server.state}, {tools}" if server.state == "connected" else server.state
    lines = [f"- `{server.name}`: {state}" + (f". {server.error}" if server.error else "")]
    if server.n_resources:
        lines[0] += f", {server.n_resources} {'resource' if server.n_resources == 1 else 'resources'}"
    return [*lines, *(f"  - `{name}`" for name in server.tools), *(f"  - `/{name}`" for name in server.prompts)]


async def _skills(call: CommandCall) -> str:
    found = await call.facts.skills()
    if not found:
        return "There are no skills. A skill is a folder with a `SKILL.md`: see `docs/skills.md`."
    return "\n".join(
        f"- `{each.name}` ({each.source}): "
        + (f"cannot be used: {each.problem} (`{each.folder}`)" if each.problem else each.description)
        for each in found
    )


async def _memory(call: CommandCall) -> str:
    notes = call.session.services.environment.notes
    if notes is None:
        return "Notes are not available here."
    text = (await notes.read()).strip()
    if not text:
        return f"There are no notes about this workspace. They would be in `{notes.path}`."
    return f"The notes in `{notes.path}`:\n\n{text}"


async def _map(call: CommandCall) -> str:
    services = call.session.services
    kept = services.memory.repository_map.text
    if kept and not call.words:
        return f"The map in the system prompt of this session:\n\n{fenced(kept, '')}"
    tokens = services.environment.prompt_map_tokens or DEFAULT_TOKENS
    text = await repository_map(looking_around(services), MapRequest(focus=call.words[:MAX_FOCUS], max_tokens=tokens))
    return fenced(text or NOTHING, "")


COMMANDS = (
    Command(
        name="help", takes="[COMMAND]", description="list commands, or show how to use one", run=_help, complete=_names
    ),
    Command(name="cost", description="show tokens and cost of the last turn and the session", run=_cost),
    Command(name="memory", description="show the notes about this workspace, and their file", run=_memory),
    Command(
        name="map",
        takes="[FILE|NAME …]",
        description="show the map of the workspace as the model sees it, around these files and names",
        run=_map,
        takes_files=True,
        can_be_cancelled=True,
    ),
    Command(name="skills", description="list the skills that the model can read", run=_skills),
    Command(
        name="mcp",
        takes="[restart|log|login|logout NAME]",
        description="list the MCP servers with their tools and prompts, start one again, show its log, or sign in",
        run=_mcp,
        can_be_cancelled=True,
    ),
)
