"""The command line of `pygent-ls run`: its options, and what they come to."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from pygent_ls.agent.permissions import Mode
    from pygent_ls.config_sources import CommandLine, SettingSource

OWN_MODES: tuple[Mode, ...] = ("default", "accept_edits", "plan", "trust", "bypass")
"""The permission modes, spelled again (a test compares them)."""

MODES: Mapping[str, Mode] = {
    **{mode: mode for mode in OWN_MODES},
    "acceptEdits": "accept_edits",
    "bypassPermissions": "bypass",
}
"""And as scripts for Claude Code write them."""

OUTPUT_FORMATS = ("text", "json", "stream-json")

MOST = 1_000_000_000
"""No limit is higher (a test compares it with the settings')."""

PIPE_WAIT_S = 3.0
"""Until the first byte of a pipe beside a prompt: whoever starts us may hold one open and never write."""

EXIT_CODES = """\
exit codes:
  0    the turn came to its end
  1    an error, a limit or a refusal ended it, or the answer could not be written
  2    bad usage: nothing was begun
  130  it was cancelled, by Ctrl-C, a signal or an interrupt
With several turns (--input-format stream-json) it is the last one's.
docs/scripts.md has the formats and examples.
"""


def add_run(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to those of `pygent-ls`."""
    import argparse

    run = add_parser(
        "run",
        help="one turn in the terminal or a script, without an editor",
        description="One turn in the terminal or a script, without an editor. The answer goes to standard output, "
        "everything else to standard error. What needs your permission is asked on the terminal; where there is "
        "none, it is refused and listed at the end.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument(
        "prompt",
        nargs="?",
        metavar="PROMPT",
        help="what to do; what comes through a pipe stands behind it. - or nothing: the pipe alone",
    )
    run.add_argument("--cwd", metavar="DIR", default=".", help="the folder to work in (default: this one)")
    _add_session_options(run)
    _add_format_options(run)
    _add_limits(run)
    _add_permission_options(run)
    _add_setting_options(run)
    run.set_defaults(refuse=run.error, act=run_command)


def _add_session_options(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("the session")
    which = group.add_mutually_exclusive_group()
    which.add_argument("-r", "--resume", metavar="ID", help="go on with the session of that id")
    which.add_argument(
        "-c", "--continue", dest="goes_on", action="store_true", help="go on with this folder's newest session"
    )
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
    group.add_argument(
        "--yes",
        action="store_true",
        help="allow once whatever would be asked; it does not trust the folder's own settings (see pygent-ls trust)",
    )


def _add_setting_options(run: argparse.ArgumentParser) -> None:
    group = run.add_argument_group("settings")
    group.add_argument("--model", metavar="MODEL", help="the model, in place of the one that the settings name")
    group.add_argument("--agent", metavar="AGENT", help="the agent, in place of the one that the settings name")
    group.add_argument("--append-system-prompt", metavar="TEXT", help="added to the system prompt")
    group.add_argument(
        "--setting-sources", metavar="LIST", help='the files of settings that count: user, project, both, or ""'
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


def run_command(given: argparse.Namespace) -> int:
    """Run it; returns the exit code. Ends the process with 2 where it cannot be begun."""
    folder = Path(given.cwd)
    if not folder.is_dir():
        given.refuse(f"--cwd: there is no folder {given.cwd}")
    if problem := _odd_together(given):
        given.refuse(problem)
    settings = _settings(given)
    tools = _tools(given)
    prompt = _prompt(given)

    from pygent_ls.app import read_settings
    from pygent_ls.editors.headless import Errand, run
    from pygent_ls.log import set_up

    set_up(os.environ)
    folder = folder.resolve()
    blueprint = read_settings({}, [folder], settings)
    if wrong := [each.text for each in blueprint.taken.loaded.problems if each.layer == "command line"]:
        given.refuse("; ".join(wrong))
    errand = Errand(
        prompt=prompt,
        folder=folder,
        resumed=given.resume,
        goes_on=given.goes_on,
        agent=given.agent,
        model=given.model,
        mode=MODES.get(given.permission_mode),
        yes=given.yes,
        tools=tools,
        max_iterations=given.max_turns,
        max_tokens=given.max_tokens,
        max_budget_usd=given.max_budget_usd,
        output=given.output_format,
        shows_partial_messages=given.include_partial_messages,
        asks_on_stdio=given.permission_prompt_tool is not None,
    )
    return run(blueprint, errand)


def _odd_together(given: argparse.Namespace) -> str:
    """What is wrong with options that are right one by one; empty where nothing is."""
    reads_lines, writes_lines = given.input_format == "stream-json", given.output_format == "stream-json"
    if reads_lines and not writes_lines:
        return "--input-format stream-json needs --output-format stream-json"
    if reads_lines and given.prompt not in (None, "-"):
        return "with --input-format stream-json the prompts come on standard input, and not as an argument"
    if given.include_partial_messages and not writes_lines:
        return "--include-partial-messages needs --output-format stream-json"
    if given.permission_prompt_tool and not reads_lines:
        return "--permission-prompt-tool stdio needs --input-format stream-json, by which the answers come"
    if given.permission_prompt_tool and given.yes:
        return "--yes and --permission-prompt-tool: with the first nobody is asked"
    if given.no_session_persistence and (given.resume or given.goes_on):
        return "--no-session-persistence keeps nothing, so it goes on with no session either"
    return ""


# Settings


def _settings(given: argparse.Namespace) -> CommandLine:
    """What the options say about settings. Refuses what is none."""
    from pygent_ls.config_sources import CommandLine

    allowed, denied = _rules(given, "allowed_tools"), _rules(given, "disallowed_tools")
    whole = tuple(each for each in denied if "(" not in each)
    rules = {"allow": list(allowed), "deny": [each for each in denied if each not in whole]}
    folders = tuple(_folder(given, named) for named in given.add_dir or ())
    added: dict[str, object] = {"additional_dirs": folders} if folders else {}
    if given.append_system_prompt:
        added["system_prompt"] = given.append_system_prompt
    return CommandLine(
        values={
            "model": given.model,
            "context.max_chars": given.max_chars,
            "context.max_words": given.max_words,
            "permissions": rules if any(rules.values()) else None,
            "disallowed_tools": list(whole) or None,
            "persist_sessions": "false" if given.no_session_persistence else None,
        },
        added=added,
        sources=_sources(given),
    )


def _sources(given: argparse.Namespace) -> frozenset[SettingSource]:
    from pygent_ls.config_sources import SETTING_SOURCES

    if given.setting_sources is None:
        return SETTING_SOURCES
    named = [each.strip() for each in given.setting_sources.split(",") if each.strip()]
    if wrong := [each for each in named if each not in SETTING_SOURCES]:
        given.refuse(f"--setting-sources: {wrong[0]!r} is none of user and project")
    return frozenset(each for each in SETTING_SOURCES if each in named)


def _folder(given: argparse.Namespace, named: str) -> str:
    folder = Path(named).expanduser()
    if not folder.is_dir():
        given.refuse(f"--add-dir: there is no folder {named}")
    return str(folder.resolve())


# Tools


def _rules(given: argparse.Namespace, option: str) -> list[str]:
    """The rules of an option. Refuses what is none, and a tool that there is not: nobody would notice that nothing is
    denied."""
    from pygent_ls.agent.rules import parse
    from pygent_ls.errors import SettingError

    rules = [rule for each in getattr(given, option) or () for rule in split_rules(each)]
    spelled = f"--{option.replace('_', '-')}"
    for rule in rules:
        name = rule.partition("(")[0]
        if option == "allowed_tools" or "(" in rule:
            try:
                parse(rule)
            except SettingError as error:
                given.refuse(f"{spelled}: {error}")
        _check_tool(given, spelled, name)
    return rules


def split_rules(text: str) -> list[str]:
    """Rules with commas or white space between them; neither counts within brackets."""
    rules, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")" and depth > 0)
        if depth == 0 and (character == "," or character.isspace()):
            rules.append("")
        else:
            rules[-1] += character
    return [each for each in rules if each]


def _tools(given: argparse.Namespace) -> tuple[str, ...] | None:
    """The only tools that are offered; None: all of them."""
    if given.tools is None:
        return None
    named = [name for each in given.tools for name in split_rules(each)]
    if "default" in named:
        return None
    for name in named:
        _check_tool(given, "--tools", name)
    return tuple(dict.fromkeys(named))


def _check_tool(given: argparse.Namespace, option: str, name: str) -> None:
    from fnmatch import fnmatchcase

    from pygent_ls.tools.offered import offered_tools

    if name.startswith("mcp__"):  # which there are is known when their servers have started
        return
    known = [each.name for each in offered_tools(has_folder=True, shell_timeout_s=1.0)]
    if not any(fnmatchcase(each, name) for each in known):
        given.refuse(f"{option}: there is no tool {name!r}; the tools are {', '.join(known)}")


# The prompt


def _prompt(given: argparse.Namespace) -> str | None:
    """The argument, and behind it what is piped in; None where the lines of standard input say."""
    if given.input_format == "stream-json":
        return None
    said = "" if given.prompt in (None, "-") else str(given.prompt)
    parts = [said, _piped(is_asked_for=given.prompt == "-", has_prompt=bool(said))]
    prompt = "\n\n".join(part for part in parts if part.strip())
    if not prompt:
        given.refuse("there is no prompt; give it as an argument, or in a pipe")
    return prompt


def _piped(*, is_asked_for: bool, has_prompt: bool) -> str:
    """All of standard input, where it is no terminal, or is asked for; nothing of a pipe that nobody writes to."""
    if sys.stdin.closed or (sys.stdin.isatty() and not is_asked_for):
        return ""
    source = sys.stdin.buffer
    if has_prompt and not _speaks(source.fileno()):
        sys.stderr.write(f"Nothing came through the pipe in {PIPE_WAIT_S:g} s: going on with the prompt alone.\n")
        return ""
    return source.read().decode("utf-8", "replace")


def _speaks(descriptor: int) -> bool:
    """Whether there is something to read, or the end of it, within a few seconds."""
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return True
    return bool(select.select([descriptor], [], [], PIPE_WAIT_S)[0])
