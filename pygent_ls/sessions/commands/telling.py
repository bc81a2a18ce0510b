"""Commands that tell: what commands there are, what was spent, what was set up."""

from __future__ import annotations

from collections.abc import Sequence

from pygent_ls.sessions.commands.command import Call, Choice, Command, CommandSource, Listing, UsageError, usage_of
from pygent_ls.sessions.commands.wording import spent

_TITLES: dict[CommandSource, str] = {
    "built-in": "The commands are:",
    "user": "Your own:",
    "workspace": "The workspace's:",
    "alias": "Aliases of the settings:",
}


def list_of(listing: Listing) -> str:
    """All commands, those of one source together."""
    lines: list[str] = []
    for source, title in _TITLES.items():
        of_source = [each for each in listing.commands.values() if each.source == source]
        if of_source:
            lines += ([""] if lines else []) + [title]
            lines += [f"- `/{each.name}`: {each.description}" for each in of_source]
    if listing.problems:
        lines += ["", *listing.problems]
    return "\n".join(lines)


async def _help(call: Call) -> str:
    if not call.text:
        return list_of(call.listing)
    command = call.listing.commands.get(call.text.removeprefix("/").lower())
    if command is None:
        raise UsageError(f"There is no command {call.text!r}. `/help` lists them.")
    lines = [f"`/{command.name}`: {command.description}"]
    if command.parts:
        lines += [f"- `/{command.name} {part.usages[0]}`: {part.description}" for part in command.parts]
    else:
        lines.append(usage_of(command))
    return "\n".join(lines)


async def _names(call: Call) -> Sequence[Choice]:
    if call.words:
        return ()
    return [Choice(word=each.name, detail=each.description) for each in call.listing.commands.values()]


async def _cost(call: Call) -> str:
    session, turn = call.session.usage, call.session.last_turn_usage
    if session.is_nothing:
        return "Nothing was spent: no model was asked yet."
    lines = [f"- last turn: {spent(turn)}", f"- session: {spent(session)}"]
    if session.cost_usd is None:
        lines.append(
            f'The price of a model that answered is not known; `[models."{call.session.model}"]` in the settings '
            "takes its prices."
        )
    return "\n".join(lines)


async def _mcp(call: Call) -> str:
    servers = await call.facts.mcp_servers()
    lines = [f"- `{name}`: not started; named in {origin}" for name, origin in servers.items()]
    none = "No MCP server is named in the settings (`[mcp_servers.NAME]`)."
    return "\n".join([*(lines or [none]), "This version starts no MCP server, so the tools of none are offered."])


async def _voice(_call: Call) -> str:
    return (
        "Voice input needs a microphone, a program that records it and a model that turns speech into text. This "
        "version has none of these built in: dictate with what your system or editor offers."
    )


COMMANDS = (
    Command(
        name="help", takes="[COMMAND]", description="these commands, or how one is used", run=_help, complete=_names
    ),
    Command(name="cost", description="tokens and dollars of the last turn and of the session", run=_cost),
    Command(name="mcp", description="the MCP servers of the settings, and their state", run=_mcp),
    Command(name="voice", description="what voice input needs", run=_voice),
)
