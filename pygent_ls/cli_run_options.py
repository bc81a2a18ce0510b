"""The options of `pygent-ls run` and `pygent-ls chat`, as a person and a script write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from pygent_ls.agent.permissions import Mode

OWN_MODES: tuple[Mode, ...] = ("default", "accept_edits", "plan", "trust", "bypass")
"""The permission modes, spelled again (a test compares them)."""

MODES: Mapping[str, Mode] = {
    **{mode: mode for mode in OWN_MODES},
    "acceptEdits": "accept_edits",
    "bypassPermissions": "bypass",
}
"""And as scripts for Claude Code write them."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""The core's efforts, spelled again (a test compares them): its module costs the start too much."""

OUTPUT_FORMATS = ("text", "json", "stream-json")

MOST = 1_000_000_000
"""No limit is higher (a test compares it with the settings')."""

EXIT_CODES = """\
exit codes:
  0    the turn came to its end
  1    an error, a limit or a refusal ended it, or the answer could not be written
  2    bad usage: nothing was begun
  130  it was cancelled, by Ctrl-C, a signal or an interrupt
With several turns (--input-format stream-json) it is the last one's.
docs/scripts.md has the formats and examples.
"""


def add_options(run: argparse.ArgumentParser) -> None:
    """Let a command take them."""
    run.add_argument(
        "prompt",
        nargs="?",
        metavar="PROMPT",
        help="what to do; what comes through a pipe stands behind it. - or nothing: the pipe alone",
    )
    _add_format_options(run)
    _add_shared_options(run)
    run.add_argument(
        "--yes",
        action="store_true",
        help="allow once whatever would be asked; it does not trust the folder's own settings (see pygent-ls trust)",
    )


def add_chat_options(chat: argparse.ArgumentParser) -> None:
    """Let a conversation take those that are not about one turn's prompt and answer."""
    _add_shared_options(chat)
    chat.set_defaults(
        yes=False, output_format="text", include_partial_messages=False, permission_prompt_tool=None, json_schema=None
    )


def _add_shared_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--cwd", metavar="DIR", default=".", help="the folder to work in (default: this one)")
    _add_session_options(command)
    _add_limits(command)
    _add_permission_options(command)
    _add_setting_options(command)


def _add_session_options(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("the session")
    which = group.add_mutually_exclusive_group()
    which.add_argument("-r", "--resume", metavar="ID", help="go on with that session: its id, its beginning, or a name")
    which.add_argument(
        "-c", "--continue", dest="goes_on", action="store_true", help="go on with this folder's newest session"
    )
    which.add_argument("--session-id", metavar="UUID", help="the id of the session that begins; it must be new")
    group.add_argument("--no-session-persistence", action="store_true", help="keep nothing of the session on the disk")


def _add_format_options(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("formats")
    group.add_argument(
        "--output-format",
        choices=OUTPUT_FORMATS,
        default="text",
        help="text: the answer; json: one object at the end; stream-json: a JSON object a line, as things happen",
    )
    group.add_argument(
        "--input-format",
        choices=("text", "stream-json"),
        default="text",
        help="stream-json: each line of standard input is a message, a request or an answer; needs that output format",
    )
    group.add_argument(
        "--include-partial-messages",
        action="store_true",
        help="with stream-json: text, thinking and tools' output as they come, too",
    )
    group.add_argument(
        "--permission-prompt-tool",
        choices=("stdio",),
        help="ask for permission on standard output, and wait for the answer on standard input (stream-json both ways)",
    )
    group.add_argument(
        "--json-schema",
        metavar="SCHEMA",
        help="a JSON Schema, or its file (@FILE): the answer is a value that is valid against it, and nothing else",
    )
    group.add_argument("--verbose", action="store_true", help="accepted for scripts that pass it; it changes nothing")


def _add_limits(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("limits (0 is none)")
    group.add_argument("--max-turns", metavar="N", type=_count, help="model calls")
    group.add_argument("--max-tokens", metavar="N", type=_count, help="tokens of the turn, in and out")
    group.add_argument("--max-budget-usd", metavar="USD", type=_amount, help="dollars that the turn may cost")
    group.add_argument("--max-chars", metavar="N", type=_count, help="characters of the conversation that are sent")
    group.add_argument("--max-words", metavar="N", type=_count, help="words of the conversation that are sent")


def _add_permission_options(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("tools and permission")
    group.add_argument("--tools", action="append", metavar="TOOLS", help='only these tools; "" is none, default is all')
    group.add_argument(
        "--allowed-tools",
        "--allowedTools",
        action="append",
        metavar="RULES",
        help='rules such as "shell(git status:*),edit_file(src/**)" that are allowed without a question',
    )
    group.add_argument(
        "--disallowed-tools",
        "--disallowedTools",
        action="append",
        metavar="RULES",
        help="rules that are denied; a tool's bare name is not offered at all",
    )
    group.add_argument("--permission-mode", metavar="MODE", choices=MODES, help=f"one of {', '.join(OWN_MODES)}")
    group.add_argument("--add-dir", action="append", metavar="DIR", help="another folder that tools may use")


def _add_setting_options(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("settings")
    group.add_argument("--model", metavar="MODEL", help="the model, in place of the one that the settings name")
    group.add_argument(
        "--fallback-model", metavar="MODELS", help="models to use when that one fails, separated by commas"
    )
    group.add_argument("--max-thinking-tokens", metavar="N", type=_count, help="thinking tokens of a model call")
    group.add_argument("--effort", choices=EFFORTS, help="how much the model reasons before it answers")
    group.add_argument("--agent", metavar="AGENT", help="the agent, in place of the one that the settings name")
    group.add_argument(
        "--agents",
        metavar="JSON",
        help='agents of this run: {"reviewer": {"description": "…", "prompt": "…", "tools": ["read_file"]}}',
    )
    group.add_argument(
        "--system-prompt", metavar="TEXT", help="replaces the system prompt and the instructions of the project"
    )
    group.add_argument("--append-system-prompt", metavar="TEXT", help="added to the system prompt")
    group.add_argument(
        "--setting-sources", metavar="LIST", help='settings files that count: any of user, project and local, or ""'
    )
    group.add_argument("--debug-file", metavar="FILE", help="write what happens inside to this file, without keys")


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number <= MOST:
        raise ValueError(text)
    return number


def _amount(text: str) -> float:
    number = float(text)
    if not 0 <= number <= MOST:  # nan is neither
        raise ValueError(text)
    return number


_count.__name__ = "whole number"
_amount.__name__ = "amount"
"""argparse says `invalid whole number value: 'x'`."""
