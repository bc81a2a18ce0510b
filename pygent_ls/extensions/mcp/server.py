"""Configured MCP servers: what starts one, and its state as users see it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from pygent_ls.agent.display_text import visible
from pygent_ls.agent.messages import Message, Usage
from pygent_ls.agent.ports.questioner import Question, QuestionAnswer
from pygent_ls.errors import ToolError
from pygent_ls.extensions.pipes import RunProgram
from pygent_ls.extensions.variables import filled

if TYPE_CHECKING:  # imports this module
    from pygent_ls.extensions.mcp.oauth import TokenStore
    from pygent_ls.extensions.mcp.prompts import ServerPrompt

MAX_LOG_LINES = 500

MAX_LOG_LINE_CHARS = 2_000

ServerState = Literal["disabled", "starting", "connected", "failed", "needs_sign_in"]

"""Reference to an environment variable, as in `.mcp.json`: `${NAME}`, `${NAME:-DEFAULT}`, and VS Code's
`${env:NAME}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """Server from the settings: a program with `command`, or an address with `url`."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path = Path()
    """Folder that the program runs in, and that a relative `command` belongs to."""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    is_enabled: bool = True
    startup_timeout_s: float
    """Maximum time until the server has listed its tools."""
    timeout_s: float
    """Maximum time of one call."""

    def expanded(self, environment: Mapping[str, str]) -> ServerSpec:
        """Return the server with the values of variables. Raises `ToolError` for a variable that is not set."""

        return replace(
            self,
            command=filled(self.command, environment),
            args=tuple(filled(each, environment) for each in self.args),
            env={name: filled(value, environment) for name, value in self.env.items()},
            url=filled(self.url, environment),
            headers={name: filled(value, environment) for name, value in self.headers.items()},
        )


class ServerLog:
    """Last lines of a server's log: what it writes to standard error, and the messages that it sends as its log."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=MAX_LOG_LINES)
        self._open = ""

    @property
    def lines(self) -> Sequence[str]:
        """The lines, oldest first."""
        return [*self._lines, *([visible(self._open)] if self._open else [])]

    def add(self, line: str) -> None:
        """Add a line."""
        self._lines.append(visible(line[:MAX_LOG_LINE_CHARS]))

    async def feed(self, text: str) -> None:
        """Add a piece of output, whose last line may be incomplete."""
        *lines, rest = (self._open + text).split("\n")
        self._open = rest[:MAX_LOG_LINE_CHARS]
        for each in lines:
            self.add(each)


class McpHost(Struct, frozen=True, kw_only=True):
    """What servers need of the program that they serve."""

    run: RunProgram
    find: Callable[[str], str | None]
    """Finds a program on the search path."""
    folders: Callable[[], Sequence[Path]]
    """Returns the workspace folders, which servers may ask for."""
    tell: Callable[[str], None]
    """Shows the user a line."""
    ask: Callable[[Question], Awaitable[QuestionAnswer]]
    """Asks the user a question."""
    sample: Callable[[SampleRequest], Awaitable[Sample]]
    """Calls the user's model for a server. Raises `ModelError`."""
    tokens: TokenStore
    """Where tokens of HTTP servers are kept."""
    open_url: Callable[[str], Awaitable[None]]
    """Shows the user an address in their browser."""
    on_change: Callable[[], None]
    """Called when the state of a server, or what it offers, has changed."""


class SampleRequest(Struct, frozen=True, kw_only=True):
    """Model call that a server asks for."""

    system: str
    messages: Sequence[Message]
    max_tokens: int
    temperature: float | None = None


class Sample(Struct, frozen=True, kw_only=True):
    """Answer of the model."""

    text: str
    model: str
    usage: Usage


class ServerStatus(Struct, frozen=True, kw_only=True):
    """State of one server."""

    name: str
    state: ServerState
    tools: Sequence[str] = ()
    """Names of its tools, as the model is offered them."""
    prompts: Sequence[str] = ()
    """Names of its prompts as slash commands."""
    n_resources: int = 0
    is_speech: bool = False
    """Whether it has the tools of a speech server."""
    error: str = ""
    """Why it is not connected, for a person; empty if it is."""


class ServerView(Protocol):
    """Configured servers as users see them. Its methods raise `ToolError` for an unknown server."""

    @property
    def statuses(self) -> Sequence[ServerStatus]:
        """State of each server, in the order of the settings."""
        ...

    @property
    def prompts(self) -> Sequence[ServerPrompt]:
        """Prompts of all servers that are connected."""
        ...

    def restart(self, name: str) -> None:
        """Start a server again. Raises `ToolError`."""
        ...

    def log(self, name: str) -> Sequence[str]:
        """Return the last lines of a server's log, oldest first. Raises `ToolError`."""
        ...

    async def sign_in(self, name: str) -> None:
        """Let the user sign in to a server, and start it again. Raises `ToolError`."""
        ...

    async def sign_out(self, name: str) -> bool:
        """Forget the tokens of a server, and start it again; False if it has no tokens. Raises `ToolError`."""
        ...


class NoServers:
    """A `ServerView` while no server is configured."""

    statuses: Sequence[ServerStatus] = ()
    prompts: Sequence[ServerPrompt] = ()

    def restart(self, name: str) -> None:
        """Raise `ToolError`."""
        raise no_server(name)

    def log(self, name: str) -> Sequence[str]:
        """Raise `ToolError`."""
        raise no_server(name)

    async def sign_in(self, name: str) -> None:
        """Raise `ToolError`."""
        raise no_server(name)

    async def sign_out(self, name: str) -> bool:
        """Raise `ToolError`."""
        raise no_server(name)


def no_server(name: str) -> ToolError:
    """Return the error for a server that the settings do not name."""
    return ToolError(f"There is no MCP server {name!r} in the settings.")


def program_of(spec: ServerSpec, find: Callable[[str], str | None]) -> str:
    """Return the path of the server's program. Raises `ToolError` if it is not found."""
    command = spec.command
    if os.sep in command:
        return os.path.join(spec.cwd, os.path.expanduser(command))  # noqa: PTH111, PTH118 - keeps `./`
    found = find(command)
    if found is None:
        raise ToolError(f"The program {command} was not found. Install it, or write its whole path.")
    return found
