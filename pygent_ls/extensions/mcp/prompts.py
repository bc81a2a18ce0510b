"""Prompts of MCP servers as slash commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from pygent_ls.agent.display_text import on_one_line
from pygent_ls.agent.messages import ImageBlock
from pygent_ls.errors import ToolError
from pygent_ls.extensions.mcp.tools import PREFIX, model_text

if TYPE_CHECKING:
    from mcp_types import GetPromptResult, Prompt

MAX_DESCRIPTION_CHARS = 200

GetPrompt = Callable[[str, Mapping[str, str]], Awaitable["GetPromptResult"]]
"""Returns the server's prompt of that name with these arguments. Raises `ToolError`."""

_NAMED = re.compile(r"([\w-]+)=(.*)", re.DOTALL)


class PromptArgument(Struct, frozen=True, kw_only=True):
    """Argument of a prompt."""

    name: str
    description: str
    is_required: bool


class FilledPrompt(Struct, frozen=True, kw_only=True):
    """Prompt with its arguments, for the model."""

    text: str
    images: tuple[ImageBlock, ...] = ()


class ServerPrompt(Struct, frozen=True, kw_only=True):
    """Prompt that a server offers."""

    command: str
    """Name of its slash command: `mcp__SERVER__PROMPT` in lower case."""
    description: str
    arguments: tuple[PromptArgument, ...]
    name: str
    """Its own name."""
    get: GetPrompt

    @property
    def takes(self) -> str:
        """Arguments as the usage of a command shows them."""
        return " ".join(each.name.upper() if each.is_required else f"[{each.name.upper()}]" for each in self.arguments)

    async def filled(self, text: str) -> FilledPrompt:
        """Return the prompt with the arguments of a command line: words in the order of the arguments, or `NAME=VALUE`;
        quotes group words, and the last argument takes all further words. Raises `ToolError`."""
        result = await self.get(self.name, self._arguments(text))
        texts: list[str] = []
        images: list[ImageBlock] = []
        for message in result.messages:
            said, seen = model_text([message.content])
            texts.append(said if message.role == "user" else f"You answered: {said}")
            images += seen
        return FilledPrompt(text="\n\n".join(texts), images=tuple(images))

    def _arguments(self, text: str) -> dict[str, str]:
        try:
            words = shlex.split(text)
        except ValueError:  # an unclosed quote
            words = text.split()
        names = [each.name for each in self.arguments]
        given: dict[str, str] = {}
        last = ""
        for word in words:
            found = _NAMED.fullmatch(word)
            if found and found[1] in names:
                given[found[1]] = found[2]
                continue
            free = next((name for name in names if name not in given), last)
            if not free:
                raise ToolError(f"/{self.command} takes no arguments.")
            given[free] = f"{given[free]} {word}" if free in given else word
            last = free
        missing = [each.name for each in self.arguments if each.is_required and each.name not in given]
        if missing:
            lines = [f"- `{each.name}`: {each.description}" for each in self.arguments]
            raise ToolError("\n".join([f"/{self.command} requires {', '.join(missing)}. It takes:", *lines]))
        return given


def prompts_of(server: str, listed: Sequence[Prompt], get: GetPrompt) -> list[ServerPrompt]:
    """Return a server's prompts; of several that would have one command, the first."""
    found: dict[str, ServerPrompt] = {}
    for each in listed:
        parts = [re.sub(r"[^A-Za-z0-9_-]", "_", part) for part in (server, each.name)]
        command = (PREFIX + "__".join(parts)).lower()
        description = on_one_line(each.description or each.title or f"prompt {each.name} of the MCP server {server}")
        arguments = tuple(
            PromptArgument(
                name=given.name, description=on_one_line(given.description or ""), is_required=bool(given.required)
            )
            for given in each.arguments or ()
        )
        prompt = ServerPrompt(
            command=command,
            description=description[:MAX_DESCRIPTION_CHARS],
            arguments=arguments,
            name=each.name,
            get=get,
        )
        found.setdefault(command, prompt)
    return list(found.values())
