"""Command `pygent-ls mcp`: manages the MCP servers in the user's settings file, and serves other agents."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygent_ls.agent.display_text import visible
from pygent_ls.cli.run_options import MODES, OWN_MODES
from pygent_ls.errors import SettingError, ToolError

if TYPE_CHECKING:
    from pygent_ls.config.entries import McpServerTable
    from pygent_ls.config.settings import Settings
    from pygent_ls.extensions.mcp.servers import McpServers


def add_parser(commands: Any) -> None:
    """Add the command and its actions."""
    mcp = commands.add_parser(
        "mcp",
        help="manage MCP servers, or be one for another agent",
        description="MCP servers in your settings file. Those of a workspace are listed once you trust its settings.",
    )
    actions = mcp.add_subparsers(metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the servers")
    listing.set_defaults(act=run_command, do=_list)
    adding = actions.add_parser("add", help="add a server, or replace the one of that name")
    adding.add_argument("name", metavar="NAME")
    adding.add_argument("--url", default="", help="address of a server that is reached by HTTP")
    adding.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="variable of the program")
    adding.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="header of each request")
    adding.add_argument("command", nargs="*", metavar="-- COMMAND", help="program and its arguments")
    adding.set_defaults(act=run_command, do=_add, refuse=adding.error)
    for action, does, act in (
        ("remove", "remove a server", _remove),
        ("test", "connect to a server and list its tools", _test),
        ("login", "sign in to a server with your browser", _login),
        ("logout", "forget the tokens of a server", _logout),
    ):
        parser = actions.add_parser(action, help=does)
        parser.add_argument("name", metavar="NAME")
        parser.set_defaults(act=run_command, do=act)
    serving = actions.add_parser(
        "serve",
        help="be an MCP server for another agent, on standard input and output",
        description="Be an MCP server: another agent asks questions about the folder and gives tasks in it.",
    )
    serving.add_argument("--cwd", metavar="DIR", default=".", help="workspace folder (default: current)")
    serving.add_argument("--model", metavar="MODEL", help="model to use instead of the one in the settings")
    serving.add_argument("--permission-mode", metavar="MODE", choices=MODES, help=f"one of {', '.join(OWN_MODES)}")
    serving.set_defaults(act=serve_command, refuse=serving.error)


def serve_command(given: argparse.Namespace) -> int:
    """Serve until standard input ends; return the exit code. Exits with 2 if an option is invalid."""
    folder = Path(given.cwd)
    if not folder.is_dir():
        given.refuse(f"--cwd: the folder {given.cwd} does not exist")

    from pygent_ls.app.blueprint import read_settings
    from pygent_ls.app.run_log import Logged
    from pygent_ls.config.sources import CommandLine, user_file
    from pygent_ls.editors.mcp.server import serve

    logged = Logged("mcp serve")
    folder = folder.resolve()
    blueprint = read_settings({}, [folder], CommandLine(values={"model": given.model}))
    mode = MODES.get(given.permission_mode)
    if mode == "bypass" and not blueprint.taken.loaded.settings.allow_bypass:
        given.refuse(f"--permission-mode: {given.permission_mode} needs `allow_bypass = true` in {user_file()}")
    for problem in blueprint.problems:
        sys.stderr.write(f"Settings: {visible(problem)}\n")
    return logged.ended(serve(blueprint, folder, mode))


def with_command_last(arguments: list[str]) -> list[str]:
    """Return the arguments of `add` with options before the name, so that argparse takes `-- COMMAND` behind both."""
    if arguments[:2] != ["mcp", "add"] or "--" not in arguments:
        return arguments
    end = arguments.index("--")
    before, options = arguments[2:end], list[str]()
    names = list[str]()
    while before:
        word = before.pop(0)
        if word in ("--env", "--header", "--url") and before:
            options += [word, before.pop(0)]
        elif word.startswith("-"):
            options.append(word)
        else:
            names.append(word)
    return ["mcp", "add", *options, *names, *arguments[end:]]


def run_command(given: argparse.Namespace) -> int:
    """Do what was asked, and say so; return the exit code."""
    text, code = given.do(given)
    (sys.stderr if code else sys.stdout).write(f"{visible(text)}\n")
    return code


def _settings() -> Settings:
    """Return the settings in the current folder, with those of the workspace if it is trusted."""
    from pygent_ls.app.blueprint import read_settings

    return read_settings({}, [Path.cwd()]).taken.loaded.settings


def _list(_given: argparse.Namespace) -> tuple[str, int]:
    lines = [
        f"{name}: {table.url or shlex.join([table.command, *table.args])}{'' if table.enabled else '  (disabled)'}"
        for name, table in _settings().mcp_servers.items()
    ]
    return "\n".join(lines) or "No MCP servers are configured. Add one: pygent-ls mcp add NAME -- COMMAND", 0


def _add(given: argparse.Namespace) -> tuple[str, int]:
    from pygent_ls.config.sources import user_file
    from pygent_ls.config.user_file import save_mcp_server

    command, *args = given.command or [""]
    table = {
        "command": command,
        "args": args,
        "env": _pairs(given, given.env, "--env"),
        "url": given.url,
        "headers": _pairs(given, given.header, "--header"),
    }
    try:
        save_mcp_server(user_file(), given.name, {key: value for key, value in table.items() if value})
    except SettingError as error:
        return str(error), 1
    return f"Saved in {user_file()}. To try it: pygent-ls mcp test {given.name}", 0


def _pairs(given: argparse.Namespace, written: list[str], option: str) -> dict[str, str]:
    pairs = [each.partition("=") for each in written]
    if wrong := next((each for each in pairs if not each[0] or not each[1]), None):
        given.refuse(f"{option}: {wrong[0]!r} is not NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _remove(given: argparse.Namespace) -> tuple[str, int]:
    from pygent_ls.config.sources import user_file
    from pygent_ls.config.user_file import remove_mcp_server

    try:
        is_removed = remove_mcp_server(user_file(), given.name)
    except SettingError as error:
        return str(error), 1
    return (f"Removed {given.name}.", 0) if is_removed else (f"{user_file()} has no MCP server {given.name}.", 1)


def _test(given: argparse.Namespace) -> tuple[str, int]:
    servers = _settings().mcp_servers
    table = servers.get(given.name)
    if table is None:
        return f"There is no MCP server {given.name}. The servers are: {', '.join(servers) or 'none'}.", 1
    return asyncio.run(_tried(given.name, table))


def _login(given: argparse.Namespace) -> tuple[str, int]:
    async def sign_in(servers: McpServers) -> str:
        await servers.sign_in(given.name)
        return f"You are signed in to {given.name}."

    return asyncio.run(_with_server(given.name, sign_in))


def _logout(given: argparse.Namespace) -> tuple[str, int]:
    async def sign_out(servers: McpServers) -> str:
        is_forgotten = await servers.sign_out(given.name)
        return f"You are signed out of {given.name}." if is_forgotten else "You were not signed in."

    return asyncio.run(_with_server(given.name, sign_out))


async def _with_server(name: str, do: Callable[[McpServers], Awaitable[str]]) -> tuple[str, int]:
    table = _settings().mcp_servers.get(name)
    servers = _servers({} if table is None else {name: table.changed(enabled=False)})
    try:
        return await do(servers), 0
    except ToolError as error:
        return str(error), 1
    finally:
        await servers.close()


async def _open(address: str) -> None:
    """Open the address in the user's browser, and show it too: the browser may be on another machine."""
    import webbrowser

    sys.stderr.write(f"Open this address in your browser:\n{visible(address)}\n")
    await asyncio.to_thread(webbrowser.open, address)


def _servers(tables: Mapping[str, McpServerTable]) -> McpServers:
    """Return these servers, which ask nothing."""
    from pygent_ls.agent.ports.questioner import NobodyToAsk
    from pygent_ls.app.factories import mcp_server_of
    from pygent_ls.app.keys import server_tokens
    from pygent_ls.errors import ModelError
    from pygent_ls.extensions.mcp.server import McpHost, Sample, SampleRequest
    from pygent_ls.extensions.mcp.servers import McpServers
    from pygent_ls.workspace.processes.local_processes import processes_in

    async def refuse(request: SampleRequest) -> Sample:
        del request
        raise ModelError("A test of a server calls no model.")

    folder = Path.cwd()
    processes = processes_in(folder)
    host = McpHost(
        run=processes.serve,
        find=processes.find,
        folders=lambda: [folder],
        tell=lambda _: None,
        ask=NobodyToAsk().ask,
        sample=refuse,
        tokens=server_tokens(),
        open_url=_open,
        on_change=lambda: None,
    )
    servers = McpServers(host)
    servers.apply([mcp_server_of(name, table, folder) for name, table in tables.items()])
    return servers


async def _tried(name: str, table: McpServerTable) -> tuple[str, int]:
    servers = _servers({name: table.changed(enabled=True)})
    try:
        await servers.until_started(table.startup_timeout_s * 2)
        [status] = servers.statuses
        tools = servers.tools
    finally:
        await servers.close()
    if status.state != "connected":
        return f"{name} is not connected: {status.error or 'it did not answer in time.'}", 1
    lines = [f"  {each.name}  ({each.risk.value}{', read-only' if each.read_only else ''})" for each in tools]
    return "\n".join([f"{name} is connected, with {len(tools)} tools:", *lines]), 0
