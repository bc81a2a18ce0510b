"""Options of `pygent-ls sessions`; `sessions.py` implements them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

FORMATS = ("markdown", "json", "xml", "plain", "html")
"""Export formats, duplicated here (a test compares them)."""

DEFAULT_LIMIT = 50

EXIT_CODES = """\
exit codes:
  0    done
  1    no such session, nothing found, or the action failed
  2    bad usage; nothing was started
  130  Ctrl-C
ID is a session's id, the start of an id, or a name, if it matches only one session. Running daemons need not be
stopped: their sessions can be read, but not changed. docs/sessions.md has more.
"""


def add_sessions(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to `pygent-ls`."""
    import argparse

    sessions = add_parser(
        "sessions",
        help="list, show, search, export, import, delete and restore saved sessions",
        description="Manage the sessions that are saved on this machine.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = sessions.add_subparsers(dest="action", metavar="ACTION", required=True)
    sessions.set_defaults(refuse=sessions.error, act=_run)

    listing = actions.add_parser("list", help="list sessions, most recently used first", description="List sessions.")
    _add_place(listing)
    listing.add_argument(
        "--limit",
        metavar="N",
        type=_count,
        default=DEFAULT_LIMIT,
        help=(f"maximum number (default: {DEFAULT_LIMIT}; 0: all)"),
    )
    listing.add_argument("--trash", action="store_true", help="list deleted sessions in the trash, of all folders")
    _add_json(listing)

    show = actions.add_parser("show", help="show a conversation in the terminal", description="Show a session.")
    show.add_argument("id", metavar="ID")
    _add_json(show)

    search = actions.add_parser(
        "search",
        help="find turns that contain all words",
        description="Finds find turns that contain all words, the best first; '\"two words\"' is found as it stands.",
    )
    search.add_argument("words", metavar="WORD", nargs="+")
    search.add_argument("--limit", metavar="N", type=_count, default=20, help="maximum number (default: 20; 0: all)")
    _add_json(search)

    export = actions.add_parser("export", help="export a session as text or to a file", description="Export a session.")
    export.add_argument("id", metavar="ID")
    export.add_argument("--format", choices=FORMATS, default="markdown", help="default: markdown")
    export.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of standard output")
    export.add_argument("--force", action="store_true", help="replace FILE if it exists")

    importing = actions.add_parser(
        "import",
        help="create a session from a file written by export --format json",
        description="Create a session from a saved one (export --format json, /save). Secrets are masked.",
    )
    importing.add_argument("file", metavar="FILE", help="the file, or - for standard input")
    importing.add_argument(
        "--cwd",
        metavar="DIR",
        help="folder of the session (default: its own folder if it exists, else the current one)",
    )

    delete = actions.add_parser(
        "delete", help="move sessions to the trash", description="Move sessions to the trash for 30 days."
    )
    delete.add_argument("ids", metavar="ID", nargs="+")
    restore = actions.add_parser(
        "restore", help="restore a session from the trash", description="Restore a session from the trash."
    )
    restore.add_argument("id", metavar="ID")
    for each in actions.choices.values():
        each.set_defaults(refuse=each.error)


def _add_place(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--cwd", metavar="DIR", default=".", help="sessions of this folder (default: current)")
    where.add_argument("--all", action="store_true", help="sessions of all folders")


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def _count(text: str) -> int:
    import argparse

    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _run(given: argparse.Namespace) -> int:
    from pygent_ls.cli.sessions import run_command

    return run_command(given)
