"""Options of `pygent-ls run` and `pygent-ls chat`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from pygent_ls.agent.kinds import Mode

OWN_MODES: tuple[Mode, ...] = ("default", "accept_edits", "plan", "trust", "bypass")
"""Permission modes, duplicated here (a test compares them)."""

MODES: Mapping[str, Mode] = {
    **{mode: mode for mode in OWN_MODES},
    "acceptEdits": "accept_edits",
    "bypassPermissions": "bypass",
}
"""Permission modes, also under the names that Claude Code scripts use."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Effort levels of the core, duplicated here (a test compares them) because importing its module slows the start."""

OUTPUT_FORMATS = ("text", "json", "stream-json")

MOST = 1_000_000_000
"""Maximum of every limit (a test compares it with that of the settings)."""

EXIT_CODES = """\
exit codes:
  0    the turn finished
  1    an error, a limit or a refusal ended the turn, or the answer could not be written
  2    bad usage; nothing was started
  130  cancelled by Ctrl-C, a signal or an interrupt
With several turns (--input-format stream-json), the exit code is that of the last turn.
docs/scripts.md has the formats and examples.
"""


def add_options(run: argparse.ArgumentParser) -> None:
    """Add the options to a command."""
    run.add_argument(
        "prompt",
        nargs="?",
        metavar="PROMPT",
        help="the prompt; piped input is appended. - or no prompt: only the piped input",
    )
    _add_format_options(run)
    _add_shared_options(run)
    add_yes(run)


def add_yes(command: argparse.ArgumentParser) -> None:
    """Add the option that answers every question."""
    command.add_argument(
        "--yes",
        action="store_true",
        help="allow everything that needs permission once; does not trust the folder's settings (see pygent-ls trust)",
    )


def add_chat_options(chat: argparse.ArgumentParser) -> None:
    """Add the options that apply to a conversation, not only to a single turn's prompt and answer."""
    _add_shared_options(chat)
    chat.set_defaults(
        yes=False, output_format="text", include_partial_messages=False, permission_prompt_tool=None, json_schema=None
    )


def _add_shared_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--cwd", metavar="DIR", default=".", help="working folder (default: current)")
    command.add_argument(
        "--worktree",
        metavar="NAME",
        help="work in the git worktree NAME, on the branch pygent/NAME; it is created from HEAD if it does not exist",
    )
    _add_session_options(command)
    add_agent_options(command)


def add_agent_options(command: argparse.ArgumentParser) -> None:
    """Add the options about the agent of a turn: limits, permissions and settings."""
    _add_limits(command)
    _add_permission_options(command)
    _add_setting_options(command)


def _add_session_options(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("session")
    which = group.add_mutually_exclusive_group()
    which.add_argument("-r", "--resume", metavar="ID", help="continue a session, by id, start of an id, or name")
    which.add_argument(
        "-c", "--continue", dest="goes_on", action="store_true", help="continue this folder's newest session"
    )
    which.add_argument("--session-id", metavar="UUID", help="id of the new session")
    group.add_argument("--no-session-persistence", action="store_true", help="do not save the session")


def _add_format_options(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("formats")
    group.add_argument(
        "--output-format",
        choices=OUTPUT_FORMATS,
        default="text",
        help="text: the answer; json: one object at the end; stream-json: one JSON object per line as events occur",
    )
    group.add_argument(
        "--input-format",
        choices=("text", "stream-json"),
        default="text",
        help=(
            "stream-json: each line of standard input is a message, a request or an answer; requires stream-json output"
        ),
    )
    group.add_argument(
        "--include-partial-messages",
        action="store_true",
        help="with stream-json: also stream text, thinking and tool output",
    )
    group.add_argument(
        "--permission-prompt-tool",
        choices=("stdio",),
        help=(
            "ask for permission on standard output and read the answer from standard input (requires stream-json "
            "for both)"
        ),
    )
    group.add_argument(
        "--json-schema",
        metavar="SCHEMA",
        help="JSON Schema or its file (@FILE); the answer is a value that matches it",
    )
    group.add_argument("--verbose", action="store_true", help="accepted for compatibility; has no effect")


def _add_limits(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("limits (0: no limit)")
    group.add_argument("--max-turns", metavar="N", type=count, help="maximum number of model calls")
    group.add_argument(
        "--max-tokens", metavar="N", type=count, help="maximum number of input and output tokens of the turn"
    )
    group.add_argument("--max-budget-usd", metavar="USD", type=amount, help="maximum cost of the turn in US dollars")
    group.add_argument(
        "--max-chars", metavar="N", type=count, help="maximum number of characters of the conversation to send"
    )
    group.add_argument(
        "--max-words", metavar="N", type=count, help="maximum number of words of the conversation to send"
    )


def _add_permission_options(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("tools and permissions")
    group.add_argument("--tools", action="append", metavar="TOOLS", help='tools to offer; "" for none (default: all)')
    group.add_argument(
        "--allowed-tools",
        "--allowedTools",
        action="append",
        metavar="RULES",
        help='rules to allow without asking, such as "shell(git status:*),edit_file(src/**)"',
    )
    group.add_argument(
        "--disallowed-tools",
        "--disallowedTools",
        action="append",
        metavar="RULES",
        help="rules to deny; a bare tool name disables the tool",
    )
    group.add_argument("--permission-mode", metavar="MODE", choices=MODES, help=f"one of {', '.join(OWN_MODES)}")
    group.add_argument("--add-dir", action="append", metavar="DIR", help="additional folder that tools can use")


def _add_setting_options(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("settings")
    group.add_argument("--model", metavar="MODEL", help="model to use instead of the one in the settings")
    group.add_argument(
        "--fallback-model", metavar="MODELS", help="models to use if the model fails, separated by commas"
    )
    group.add_argument(
        "--max-thinking-tokens", metavar="N", type=count, help="maximum number of thinking tokens per model call"
    )
    group.add_argument("--effort", choices=EFFORTS, help="reasoning effort of the model")
    group.add_argument("--agent", metavar="AGENT", help="agent to use instead of the one in the settings")
    group.add_argument(
        "--agents",
        metavar="JSON",
        help='custom agents for this run: {"reviewer": {"description": "…", "prompt": "…", "tools": ["read_file"]}}',
    )
    group.add_argument(
        "--system-prompt", metavar="TEXT", help="replace the system prompt and the project's instructions"
    )
    group.add_argument("--append-system-prompt", metavar="TEXT", help="add text to the system prompt")
    group.add_argument(
        "--setting-sources", metavar="LIST", help='settings files to use: any of user, project and local, or ""'
    )
    group.add_argument("--debug-file", metavar="FILE", help="write debug log to this file, without keys")


def count(text: str) -> int:
    """Return a limit. Raises ValueError."""
    number = int(text)
    if not 0 <= number <= MOST:
        raise ValueError(text)
    return number


def amount(text: str) -> float:
    """Return an amount of money or time. Raises ValueError."""
    number = float(text)
    if not 0 <= number <= MOST:  # nan fails both comparisons
        raise ValueError(text)
    return number


count.__name__ = "whole number"
amount.__name__ = "amount"
"""Shown by argparse as `invalid whole number value: 'x'`."""
