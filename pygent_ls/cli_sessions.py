"""The options of `pygent-ls sessions`; `sessions_command.py` does what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

FORMATS = ("markdown", "json", "xml", "plain", "html")
"""Of an export, spelled again (a test compares them)."""

DEFAULT_LIMIT = 50

EXIT_CODES = """\
exit codes:
  0    done
  1    there is no such session, nothing was found, or it could not be done
  2    bad usage: nothing was begun
  130  Ctrl-C
ID is a session's id, the beginning of one, or a name, as long as it is one session's alone. Daemons that run need not
be ended: what they have can be read, and what would change under them is refused. docs/sessions.md has more.
"""


def add_sessions(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to those of `pygent-ls`."""
    import argparse

    sessions = add_parser(
        "sessions",
        help="the conversations that are kept: list, show, search, export, import, delete, restore",
        description="The conversations that are kept on this machine.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = sessions.add_subparsers(dest="action", metavar="ACTION", required=True)
    sessions.set_defaults(refuse=sessions.error, act=_run)

    listing = actions.add_parser("list", help="the last one used first", description="Lists sessions.")
    _add_place(listing)
    listing.add_argument(
        "--limit", metavar="N", type=_count, default=DEFAULT_LIMIT, help=f"how many (default: {DEFAULT_LIMIT}; 0: all)"
    )
    listing.add_argument("--trash", action="store_true", help="those that were deleted and are in the trash, wherever")
    _add_json(listing)

    show = actions.add_parser("show", help="a conversation, to read in the terminal", description="Shows a session.")
    show.add_argument("id", metavar="ID")
    _add_json(show)

    search = actions.add_parser(
        "search",
        help="turns that hold all the words",
        description="Finds turns that hold all the words, the best first; '\"two words\"' is found as it stands.",
    )
    search.add_argument("words", metavar="WORD", nargs="+")
    search.add_argument("--limit", metavar="N", type=_count, default=20, help="how many (default: 20; 0: all)")
    _add_json(search)

    export = actions.add_parser("export", help="a session as text or a file", description="Exports a session.")
    export.add_argument("id", metavar="ID")
    export.add_argument("--format", choices=FORMATS, default="markdown", help="default: markdown")
    export.add_argument("-o", "--output", metavar="FILE", help="write it there, in place of standard output")
    export.add_argument("--force", action="store_true", help="replace FILE where it is there already")

    importing = actions.add_parser(
        "import",
        help="a new session from a file that export --format json wrote",
        description="Makes a new session of a saved one (export --format json, /save). Secrets are masked.",
    )
    importing.add_argument("file", metavar="FILE", help="the file; - is standard input")
    importing.add_argument(
        "--cwd", metavar="DIR", help="the folder that it belongs to (default: its own where that is here, else this)"
    )

    delete = actions.add_parser(
        "delete", help="put sessions into the trash", description="Puts sessions into the trash for 30 days."
    )
    delete.add_argument("ids", metavar="ID", nargs="+")
    restore = actions.add_parser(
        "restore", help="bring one back from the trash", description="Brings a session back from the trash."
    )
    restore.add_argument("id", metavar="ID")
    for each in actions.choices.values():
        each.set_defaults(refuse=each.error)


def _add_place(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--cwd", metavar="DIR", default=".", help="those of this folder (default: the current one)")
    where.add_argument("--all", action="store_true", help="those of all folders")


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def _count(text: str) -> int:
    import argparse

    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def _run(given: argparse.Namespace) -> int:
    from pygent_ls.sessions_command import run_command

    return run_command(given)
