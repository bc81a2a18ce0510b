"""Configured MCP servers: what starts one, and its state as users see it."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pygent_ls.agent.ports.questioner import Question, QuestionAnswer
from pygent_ls.errors import ToolError
from pygent_ls.extensions.pipes import RunProgram

ServerState = Literal["disabled", "starting", "connected", "failed"]

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}$]*))?\}")
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

        def filled(text: str) -> str:
            return _VARIABLE.sub(lambda found: _value_of(found, environment), text)

        return replace(
            self,
            command=filled(self.command),
            args=tuple(map(filled, self.args)),
            env={name: filled(value) for name, value in self.env.items()},
            url=filled(self.url),
            headers={name: filled(value) for name, value in self.headers.items()},
        )


def _value_of(found: re.Match[str], environment: Mapping[str, str]) -> str:
    name, default = found[1], found[2]
    value = environment.get(name, "" if default is None else default)
    if not value and default is None and name not in environment:
        raise ToolError(f"The environment variable {name} is not set. Set it, or write ${{{name}:-DEFAULT}}.")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class McpHost:
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
    on_change: Callable[[], None]
    """Called when the state or the tools of a server have changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """State of one server."""

    name: str
    state: ServerState
    tools: Sequence[str] = ()
    """Names of its tools, as the model is offered them."""
    error: str = ""
    """Why it is not connected, for a person; empty if it is."""


def program_of(spec: ServerSpec, find: Callable[[str], str | None]) -> str:
    """Return the path of the server's program. Raises `ToolError` if it is not found."""
    command = spec.command
    if os.sep in command:
        return os.path.join(spec.cwd, os.path.expanduser(command))  # noqa: PTH111, PTH118 - keeps `./`
    found = find(command)
    if found is None:
        raise ToolError(f"The program {command} was not found. Install it, or write its whole path.")
    return found
