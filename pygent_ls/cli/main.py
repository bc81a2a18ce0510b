"""Command line: selects and runs one front end."""

from __future__ import annotations

import gc
import io
import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygent_ls import __version__

if TYPE_CHECKING:
    import argparse
    import socket

    from pygent_ls.editors.lsp.transport.recording import Trace
    from pygent_ls.editors.ports import ReadSettings
    from pygent_ls.editors.shutdown import Closable

STREAMS = (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))

AGENT_COMMANDS = ("run", "chat", "acp")
"""Commands besides the daemon's own that import a whole agent."""

MAX_LINGER_S = 3600
"""Maximum time that an idle daemon is kept."""

CHAT_INSTEAD = (
    "pygent-ls is a language server that editors start (docs/editors.md). Starting a chat instead; `pygent-ls "
    "--help` lists the other commands."
)
"""Message for a user who starts the daemon at a terminal."""

CANCELLED = 130
"""Exit code that shells use for a program ended by Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code; 2 for wrong usage."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # no character in a prompt or a path aborts a command
            stream.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:  # an editor waits for the daemon, so it starts without argparse
        code = _serve() if _is_for_an_editor(given) else _run_command(_parser().parse_args(_ordered(given)))
    except KeyboardInterrupt:
        code = CANCELLED
    except BrokenPipeError:  # `| head` has read enough
        code = 1
    _leave(code)


def _is_for_an_editor(given: Sequence[str]) -> bool:
    """Return whether to speak the protocol on standard input and output, which a user at a terminal could not write."""
    if list(given) == ["--stdio"]:
        return True
    return not given and not (sys.stdin.isatty() and sys.stdout.isatty())


def _open_streams() -> None:
    """Open a replacement for each closed standard stream, else the next opened file would take its descriptor.

    The replacement for input is empty; output to a replacement fails or is discarded.
    """
    for number, (name, mode, flags) in enumerate(STREAMS):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
            setattr(sys, name, os.fdopen(number, mode))


def _run_command(given: argparse.Namespace) -> int:
    if given.command is None:
        return _daemon(given) if given.stdio or given.socket or given.trace else _chat_at_terminal(given)
    _refuse_the_daemons_own(given)
    with _cached_bytecode() if given.command in AGENT_COMMANDS else nullcontext():
        return given.act(given)


def _ordered(given: list[str]) -> list[str]:
    if given[:1] != ["mcp"]:
        return given
    from pygent_ls.cli.mcp import with_command_last

    return with_command_last(given)


def _chat_at_terminal(given: argparse.Namespace) -> int:
    """Start a chat in place of the daemon, since a user at a terminal cannot speak its protocol."""
    if given.linger is not None:
        given.refuse("--linger requires --socket: clients on standard input cannot reconnect")
    from pygent_ls.cli.run import chat_command

    with _cached_bytecode():
        return chat_command(_parser().parse_args(["chat"]), CHAT_INSTEAD)


def _refuse_the_daemons_own(given: argparse.Namespace) -> None:
    for option in ("socket", "linger", "trace"):
        if getattr(given, option) is not None:
            given.refuse(f"--{option} applies to the daemon and cannot be combined with a command")


def _leave(code: int) -> None:
    """Exit immediately: an orderly exit would wait seconds for a library that a thread is still importing."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # the reader has gone, or the disk is full
            code = code or 1
    os._exit(code)


def _parser() -> argparse.ArgumentParser:
    import argparse

    from pygent_ls.cli.fleet import add_fleet
    from pygent_ls.cli.run import add_chat, add_run
    from pygent_ls.cli.run_options import OWN_MODES
    from pygent_ls.cli.sessions_options import add_sessions
    from pygent_ls.cli.setup import add_setup
    from pygent_ls.cli.worktree import add_worktree

    class Parser(argparse.ArgumentParser):
        """Argument parser without abbreviated options: `--debug` is not `--debug-file`. Subcommands use the same
        class.
        """

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.allow_abbrev = False

    parser = Parser(
        prog="pygent-ls",
        description=(
            "An AI coding agent that runs in your editor as a language server. Without a command, it speaks the "
            "language server protocol on standard input and output."
        ),
    )
    parser.add_argument("--version", action="version", version=f"pygent-ls {__version__}")
    parser.set_defaults(refuse=parser.error)
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--stdio", action="store_true", help="use standard input and output (the default)")
    way.add_argument("--socket", metavar="PATH", help="listen on this Unix socket for several editors")
    parser.add_argument(
        "--linger",
        metavar="SECONDS",
        type=_seconds,
        help=(
            "with --socket: exit this long after the last client disconnects; until then, turns continue for "
            "windows that reconnect"
        ),
    )
    parser.add_argument("--trace", metavar="FILE", help="record all protocol messages in this file")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    add_setup(commands.add_parser)
    add_chat(commands.add_parser)
    add_run(commands.add_parser)
    add_fleet(commands.add_parser)
    add_sessions(commands.add_parser)
    add_worktree(commands.add_parser)
    connecting = commands.add_parser(
        "connect",
        help="connect an editor to the daemon at a socket",
        description=(
            "Forward standard input and output to the daemon started by `pygent-ls --socket PATH`, for editors that "
            "can only start a command. Does not start a daemon."
        ),
        epilog=(
            "Exit codes: 0 the editor ended session; 1 no daemon is listening or the connection was lost; 2 bad usage."
        ),
    )
    connecting.add_argument("path", metavar="PATH", help="the daemon's socket")
    connecting.set_defaults(act=_connect)
    demo = commands.add_parser(
        "demo", help="run one turn on a sample project, as an editor would show it; needs no key"
    )
    demo.set_defaults(act=_demo)
    doctor = commands.add_parser(
        "doctor", help="show which model would be used and why, all settings, and what is missing"
    )
    doctor.add_argument("--call", action="store_true", help="also call the model once (may cost a little)")
    doctor.set_defaults(act=_doctor)
    trust = commands.add_parser(
        "trust",
        help="trust a folder's settings",
        description=(
            "Settings in .pygent/config.toml come with a folder, so settings that loosen restrictions are ignored "
            "until you trust them. Editors ask; this command answers without an editor. If the settings change, you "
            "are asked again."
        ),
    )
    trust.add_argument("folder", nargs="?", metavar="FOLDER", default=".", help="the folder (default: current)")
    choice = trust.add_mutually_exclusive_group()
    choice.add_argument(
        "--show", action="store_true", help="only show what the settings would do and whether they are trusted"
    )
    choice.add_argument("--forget", action="store_true", help="remove all answers about the folder")
    trust.set_defaults(refuse=trust.error, act=_trust)
    from pygent_ls.cli import mcp

    mcp.add_parser(commands)
    serving = commands.add_parser(
        "acp",
        help="be an agent for clients of the Agent Client Protocol, on standard input and output",
        description="Be an agent for an editor that speaks the Agent Client Protocol, such as Zed or a JetBrains IDE.",
    )
    serving.set_defaults(act=_acp)
    prompt = commands.add_parser(
        "prompt",
        help="show the system prompt of a turn in this folder",
        description=(
            "Show the system prompt of a turn in this folder: its parts with their sizes, what was cut, and which "
            "instructions of the repository were included. No model is called."
        ),
    )
    prompt.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a file, to show the instructions that are added when a prompt names it",
    )
    prompt.add_argument("--cwd", metavar="DIR", default=".", help="working folder (default: current)")
    prompt.add_argument("--agent", metavar="NAME", help="agent to use (default: from the settings)")
    prompt.add_argument("--mode", choices=OWN_MODES, metavar="MODE", help=f"one of {', '.join(OWN_MODES)}")
    prompt.add_argument("--json", action="store_true", help="machine-readable output")
    prompt.set_defaults(refuse=prompt.error, act=_prompt)
    schema = commands.add_parser("schema", help="print the JSON Schema of the protocol")
    schema.set_defaults(act=_schema)
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= MAX_LINGER_S:  # nan fails both comparisons
        raise ValueError(text)
    return seconds


_seconds.__name__ = f"number of seconds from 0 to {MAX_LINGER_S}"


def _daemon(given: argparse.Namespace) -> int:
    if given.linger is not None and given.socket is None:
        given.refuse("--linger requires --socket: clients on standard input cannot reconnect")
    trace = None
    if given.trace is not None:
        from pygent_ls.config.sources import state_folder
        from pygent_ls.editors.lsp.transport.recording import Trace
        from pygent_ls.secrets.log_mask import hidden

        try:
            trace = Trace(Path(given.trace), state=state_folder(), environment=os.environ, hidden=hidden)
        except OSError as error:
            given.refuse(f"--trace: {given.trace} cannot be written: {error.strerror or error}")
    if given.socket is None:
        return _serve(trace=trace)
    return _at_socket(given.socket, partial(_serve_socket, trace=trace, linger_s=given.linger))


def _at_socket(path: str, work: Callable[[Path], int]) -> int:
    """Call `work` with the socket at a path, or report why it failed; 2 if the path cannot hold a socket."""
    from pygent_ls.errors import SocketError

    try:
        return work(Path(path).absolute())
    except SocketError as error:
        print(f"pygent-ls: {error}", file=sys.stderr)
        return 2 if error.is_misuse else 1


def _serve_socket(path: Path, *, trace: Trace | None, linger_s: float | None) -> int:
    from pygent_ls.editors.lsp.transport.unix_socket import listening

    with listening(path) as listener:  # clients can connect from now on, while the rest is imported
        print(f"pygent-ls: listening at {path}", file=sys.stderr, flush=True)
        return _serve(listener, trace, linger_s)


def _serve(listener: socket.socket | None = None, trace: Trace | None = None, linger_s: float | None = None) -> int:
    gc.disable()  # `Connection` enables it; until then all objects stay alive, and scanning them takes 70 ms
    with _cached_bytecode():
        from pygent_ls.app.blueprint import read_settings
        from pygent_ls.app.run_log import Logged
        from pygent_ls.editors.lsp.daemon.stdio_server import serve

        logged = Logged("the daemon")
        if listener is None:
            code = serve(read_settings, trace)
        else:
            from pygent_ls.app.shared import Shared
            from pygent_ls.editors.lsp.daemon.socket_server import serve_socket

            shared = Shared(socket=Path(listener.getsockname()))
            code = serve_socket(listener, partial(read_settings, shared=shared), shared, trace, linger_s=linger_s)
    return logged.ended(code)


@contextmanager
def _cached_bytecode() -> Generator[None]:
    """Import from the caches of compiled code, and store at the end what they lacked."""
    from pygent_ls.startup.bytecode_bundle import BytecodeBundle
    from pygent_ls.startup.code_cache import GeneratedCode, beside_the_bytecode

    caches = GeneratedCode(beside_the_bytecode(".generated")), BytecodeBundle(beside_the_bytecode(".modules"))
    for cache in caches:
        cache.install()
    yield
    for cache in caches:
        cache.save()


def _acp(_given: argparse.Namespace) -> int:
    from pygent_ls.app.run_log import Logged
    from pygent_ls.editors.acp.serve import serve

    return Logged("acp").ended(serve(_load_shared))


def _load_shared() -> tuple[ReadSettings, Closable]:
    """Return the reader of settings for several cores in one process, and what they share."""
    from pygent_ls.app.blueprint import read_settings
    from pygent_ls.app.shared import Shared

    shared = Shared()
    return partial(read_settings, shared=shared), shared


def _demo(_given: argparse.Namespace) -> int:
    from pygent_ls.cli.demo.story import play

    return play()


def _doctor(given: argparse.Namespace) -> int:
    from pygent_ls.app.agents import variants_of
    from pygent_ls.app.blueprint import read_settings
    from pygent_ls.app.keys import saved_keys
    from pygent_ls.app.run_log import log_path
    from pygent_ls.cli.doctor import Surveyed, doctor
    from pygent_ls.config.sources import state_folder, user_file
    from pygent_ls.workspace.processes.local_processes import processes_in

    blueprint = read_settings({}, [Path.cwd()])
    agent = variants_of(blueprint.taken).usual(blueprint.taken.loaded.settings.agent)
    report, code = doctor(
        Surveyed(
            loaded=blueprint.taken.loaded,
            model=agent.model or blueprint.model,
            model_reason=f"set by the agent {agent.name}" if agent.model else blueprint.model_reason,
            main=blueprint.model,
            agent_base=agent.api_base,
            environment=os.environ,
            find=processes_in(Path.cwd()).find,
            user_file=user_file(),
            state_folder=state_folder(),
            log_file=log_path(),
            saved=saved_keys(),
            calls=given.call,
        )
    )
    print(report, end="")
    return code


def _trust(given: argparse.Namespace) -> int:
    folder = Path(given.folder)
    if not folder.is_dir():
        given.refuse(f"the folder {given.folder} does not exist")

    from pygent_ls.app.blueprint import read_settings
    from pygent_ls.cli.trust import trust

    blueprint = read_settings({}, [folder.resolve()])
    action = "show" if given.show else "forget" if given.forget else "trust"
    said, code = trust(blueprint.taken, blueprint.trust, action)
    print(said, end="")
    return code


def _prompt(given: argparse.Namespace) -> int:
    from pygent_ls.cli.prompt import run_command

    return run_command(given)


def _connect(given: argparse.Namespace) -> int:
    from pygent_ls.cli.connect import connect

    return _at_socket(given.path, connect)


def _schema(_given: argparse.Namespace) -> int:
    from pygent_ls.editors.lsp.protocol.schema import wire_schema

    print(json.dumps(wire_schema(), indent=2))
    return 0
