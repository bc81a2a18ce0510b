"""Registry of commands, and which one a prompt calls."""

from __future__ import annotations

import asyncio
import difflib
import os
import re
from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pygent_ls.agent.display_text import one_line
from pygent_ls.errors import SessionError, ToolError
from pygent_ls.sessions.commands.command import (
    Command,
    CommandCall,
    CommandList,
    UnknownCommandError,
    UsageError,
    first_word,
    usage_of,
)
from pygent_ls.sessions.commands.ports import Alone, CommandFacts, SessionShelf
from pygent_ls.sessions.commands.template import filled
from pygent_ls.sessions.commands.user_commands import agent_command, own_command, server_command
from pygent_ls.sessions.turns.command_turn import CommandAnswer, ModelPrompt, failing

if TYPE_CHECKING:
    from pygent_ls.extensions.commands import OwnCommand
    from pygent_ls.sessions.turns.ports import SessionOfCommands

_COMMAND = re.compile(r"/(?P<name>[A-Za-z][\w-]*(?::[\w-]+)*)(?P<text>\s.*)?", re.DOTALL)


@cache
def built_in() -> Mapping[str, Command]:
    """Return the built-in commands by name, in the order in which they are listed. Imports them: most prompts call
    none."""
    from pygent_ls.sessions.commands import (
        background,
        checkpoints,
        code_review,
        conversation,
        information,
        selection,
        sessions,
        voice,
        worktrees,
    )

    found = (
        *background.COMMANDS,
        *code_review.COMMANDS,
        *information.COMMANDS,
        *conversation.COMMANDS,
        *selection.COMMANDS,
        *checkpoints.COMMANDS,
        *sessions.COMMANDS,
        *voice.COMMANDS,
        *worktrees.COMMANDS,
    )
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}


class SlashCommands:
    """Commands of a session: the built-in ones, the user's and the workspace's own, aliases from the settings, and
    prompts of MCP servers.

    Built-in names cannot be redefined. The user's own commands take precedence over the workspace's, and both over
    aliases.
    """

    def __init__(self, shelf: SessionShelf | None = None, facts: CommandFacts | None = None) -> None:
        self._shelf = shelf or Alone()
        self.facts = facts or CommandFacts()

    async def listing(self) -> CommandList:
        """Return all commands, as the files and settings are now."""
        listing, _ = await self._read()
        return listing

    async def _read(self) -> tuple[CommandList, Mapping[str, str]]:
        """Return the listing, and what its aliases expand to."""
        commands = dict(built_in())
        problems: list[str] = []
        for own in await asyncio.to_thread(self._own):
            if own.name in commands:
                problems.append(_hidden(f"The {own.source}'s own command", commands[own.name]))
            else:
                commands[own.name] = own_command(own)
        aliases: dict[str, str] = {}
        for given, text in (await self.facts.aliases()).items():
            name = given.removeprefix("/").lower()
            if name in commands:
                problems.append(_hidden("The alias", commands[name]))
            else:
                aliases[name] = text
                commands[name] = Command(
                    name=name, description=f"alias for `{one_line(text)}`", takes="[…]", source="alias"
                )
        for prompt in self.facts.mcp().prompts:
            if prompt.command not in commands:
                commands[prompt.command] = server_command(prompt)
        for offered in self.facts.agent_commands():
            if offered.name not in commands:
                commands[offered.name] = agent_command(offered)
        return CommandList(commands=commands, problems=tuple(problems)), aliases

    def _own(self) -> list[OwnCommand]:
        return [command for folder in self.facts.own() for command in folder.read()]

    async def asked_in(
        self, prompt: str, session: SessionOfCommands, *, has_attachments: bool = False
    ) -> CommandAnswer | ModelPrompt | None:
        """Return the prompt's pending answer or its prompt for a model; None if the model is to read it unchanged. That
        is the case for prose, paths such as `/tmp`, and a command that answers itself if something is attached."""
        found = _COMMAND.fullmatch(prompt.strip())
        if found is None:
            return None
        listing, aliases = await self._read()
        name, text = _parts_of(found)
        if name not in listing.commands:
            if text or await asyncio.to_thread(os.path.lexists, prompt.strip()):
                return None
            return failing(_unknown(name, listing))
        try:
            expanded = _expanded(name, text, aliases)
            if isinstance(expanded, ModelPrompt):
                return expanded
            name, text = expanded
            if name not in listing.commands:
                raise _unknown(name, listing)
            call = CommandCall(session=session, shelf=self._shelf, facts=self.facts, listing=listing, text=text)
            return await _asked(listing.commands[name], call, has_attachments=has_attachments)
        except (SessionError, ToolError) as error:
            return failing(error)

    def call(self, session: SessionOfCommands, listing: CommandList, text: str) -> CommandCall:
        """Return the call of a command that is being typed."""
        return CommandCall(session=session, shelf=self._shelf, facts=self.facts, listing=listing, text=text)


def _parts_of(found: re.Match[str]) -> tuple[str, str]:
    return found["name"].lower(), (found["text"] or "").strip()


def _expanded(name: str, text: str, aliases: Mapping[str, str]) -> tuple[str, str] | ModelPrompt:
    """Return the command that an alias expands to and its arguments, or the prompt. Raises `UsageError`."""
    chain: list[str] = []
    while name in aliases:
        if name in chain:
            circle = " → ".join(f"`/{each}`" for each in [*chain, name])
            raise UsageError(f"The aliases in the settings form a cycle: {circle}.")
        chain.append(name)
        whole = _with(aliases[name], text)
        found = _COMMAND.fullmatch(whole)
        if found is None:
            return ModelPrompt(text=whole)
        name, text = _parts_of(found)
    return name, text


def _with(alias: str, text: str) -> str:
    """Return an alias's expansion with the arguments on the same line, as a command takes them."""
    has_place = filled(alias, "") != filled(alias, "x").removesuffix("\n\nx")
    return filled(alias, text).strip() if has_place else f"{alias.strip()} {text}".strip()


async def _asked(command: Command, call: CommandCall, *, has_attachments: bool) -> CommandAnswer | ModelPrompt | None:
    """Return what the command does. Raises `UsageError`, and the command's own errors for the user."""
    path = command.name
    if command.parts:
        first, rest = first_word(call.text)
        part = next((each for each in command.parts if each.name == (first or command.parts[0].name)), None)
        if part is not None:
            command, call = part, replace(call, text=rest)
        elif command.run is None:
            raise UsageError(f"`/{path}` has no subcommand `{first}`.\n{usage_of(command)}")
    if call.text and not command.takes:
        name = path if path == command.name else f"{path} {command.name}"
        raise UsageError(f"`/{name}` does not accept arguments.")
    if not call.text and command.takes and not command.takes.startswith("["):
        raise UsageError(f"An argument is missing.\n{usage_of(command, '' if path == command.name else path)}")
    if command.prompt is not None and (prompt := await command.prompt(call)) is not None:
        return prompt
    if command.run is None or has_attachments:
        return None
    make = partial(_answered, command, call, "" if path == command.name else path)
    return CommandAnswer(make=make, can_be_cancelled=command.can_be_cancelled)


async def _answered(command: Command, call: CommandCall, path: str) -> str:
    assert command.run is not None
    try:
        return await command.run(call)
    except UsageError as error:
        raise UsageError(f"{error}\n{usage_of(command, path)}") from None


def _unknown(name: str, listing: CommandList) -> UnknownCommandError:
    from pygent_ls.sessions.commands.information import list_of

    near = difflib.get_close_matches(name, listing.commands, n=1)
    hint = f" Did you mean `/{near[0]}`?" if near else ""
    return UnknownCommandError(f"There is no command `/{name}`.{hint}\n\n{list_of(listing)}")


def _hidden(what: str, by: Command) -> str:
    owner = "is built in" if by.source == "built-in" else f"is defined by the {by.source}"
    return f"{what} `{by.name}` is ignored: `/{by.name}` {owner}."
