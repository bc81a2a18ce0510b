"""Commands `pygent-ls run` and `pygent-ls chat`: interpretation of their options."""

from __future__ import annotations

import json
import os
import select
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct

from pygent_ls.cli.run_options import EXIT_CODES, MODES, add_chat_options, add_options

if TYPE_CHECKING:
    import argparse

    from pygent_ls.app.run_log import Logged
    from pygent_ls.config.sources import CommandLine, SettingSource
    from pygent_ls.editors.ports import Blueprint
    from pygent_ls.editors.run_options import RunOptions

PIPE_WAIT_S = 3.0
"""Maximum wait for the first byte of a pipe given beside a prompt: a parent process may hold one open and never write.
"""


def add_run(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command to `pygent-ls`."""
    import argparse

    run = add_parser(
        "run",
        help="run one turn in the terminal or a script",
        description=(
            "Run one turn in the terminal or a script, without an editor. The answer is written to standard output, "
            "everything else to standard error. Permission is asked for on the terminal; without a terminal, it is "
            "denied and the denied actions are listed at the end."
        ),
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(run)
    run.set_defaults(refuse=run.error, act=run_command)


def run_command(given: argparse.Namespace) -> int:
    """Run the command; return the exit code. Exits with 2 if it cannot be started."""
    if problem := _odd_together(given):
        given.refuse(problem)
    command = _begun(given, "run")

    from pygent_ls.editors.headless import run

    try:
        return command.logged.ended(run(command.blueprint, command.options))
    finally:
        command.leave()


def add_chat(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add `pygent-ls chat` to the commands."""
    chat = add_parser(
        "chat",
        help="start a chat in the terminal",
        description=(
            "Start a chat in the terminal with prompts, commands (/help) and mentions of files (@path). What you "
            "send during a turn joins that turn. Ctrl-C stops the turn, Ctrl-D exits."
        ),
    )
    add_chat_options(chat)
    chat.set_defaults(refuse=chat.error, act=chat_command)


def chat_command(given: argparse.Namespace, first: str = "") -> int:
    """Run a conversation on the terminal; return the exit code. `first` is a line shown before all others."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        given.refuse("chat requires a terminal on standard input and output; use `pygent-ls run PROMPT` without one")
    command = _begun(given, "chat")

    from pygent_ls.editors.terminal.chat import chat

    try:
        return command.logged.ended(chat(command.blueprint, command.options, first))
    finally:
        command.leave()


class _Begun(Struct, frozen=True, kw_only=True):
    """Command with valid arguments."""

    blueprint: Blueprint
    options: RunOptions
    logged: Logged
    leave: Callable[[], None]
    """Ends the use of the worktree, if the command uses one."""


def _begun(given: argparse.Namespace, name: Literal["run", "chat"]) -> _Begun:
    """Read the settings and the prompt. Exits with 2 if an option is invalid."""
    folder = Path(given.cwd)
    if not folder.is_dir():
        given.refuse(f"--cwd: the folder {given.cwd} does not exist")
    settings = command_line_of(given)
    tools = tools_of(given)
    schema = _schema(given)
    session_id = _session_id(given)

    from pygent_ls.app.run_log import Logged

    logged = Logged(name)
    _write_details(given)
    prompt = _prompt(given) if name == "run" else None

    from pygent_ls.app.blueprint import read_settings
    from pygent_ls.editors.run_options import RunOptions

    folder, leave = folder.resolve(), _nothing
    if given.worktree is not None:
        from pygent_ls.cli.worktree import entered

        folder, leave = entered(given, folder)
    blueprint = read_settings({}, [folder], settings)
    if wrong := [each.text for each in blueprint.taken.loaded.problems if each.layer == "command line"]:
        given.refuse("; ".join(wrong))
    options = RunOptions(
        prompt=prompt,
        folder=folder,
        resumed=given.resume,
        goes_on=given.goes_on,
        session_id=session_id,
        agent=given.agent,
        model=given.model,
        mode=MODES.get(given.permission_mode),
        yes=given.yes,
        tools=tools,
        max_iterations=given.max_turns,
        max_tokens=given.max_tokens,
        max_budget_usd=given.max_budget_usd,
        effort=given.effort,
        output_schema=schema,
        output=given.output_format,
        shows_partial_messages=given.include_partial_messages,
        asks_on_stdio=given.permission_prompt_tool is not None,
    )
    return _Begun(blueprint=blueprint, options=options, logged=logged, leave=leave)


def _nothing() -> None:
    """Do nothing: no worktree is used."""


def _write_details(given: argparse.Namespace) -> None:
    from pygent_ls.observability.log import write_details

    if given.debug_file is None:
        return
    try:
        write_details(Path(given.debug_file).expanduser())
    except OSError as error:
        given.refuse(f"--debug-file: {given.debug_file} cannot be written: {error.strerror}")


def _odd_together(given: argparse.Namespace) -> str:
    """Return the problem with options that are valid only separately; empty if they can be combined."""
    named = {"--resume": given.resume, "--model": given.model, "--agent": given.agent}
    if empty := [option for option, value in named.items() if value is not None and not value.strip()]:
        return f"{empty[0]} is empty; omit it, or check whether your variable is set"
    return _odd_formats(given)


def _odd_formats(given: argparse.Namespace) -> str:
    reads_lines, writes_lines = given.input_format == "stream-json", given.output_format == "stream-json"
    if reads_lines and not writes_lines:
        return "--input-format stream-json requires --output-format stream-json"
    if reads_lines and given.prompt not in (None, "-"):
        return "with --input-format stream-json, prompts are read from standard input and cannot be an argument"
    if given.include_partial_messages and not writes_lines:
        return "--include-partial-messages requires --output-format stream-json"
    if given.permission_prompt_tool and not reads_lines:
        return "--permission-prompt-tool stdio requires --input-format stream-json"
    if given.permission_prompt_tool and given.yes:
        return "--yes cannot be combined with --permission-prompt-tool"
    if given.no_session_persistence and (given.resume or given.goes_on):
        return "--no-session-persistence cannot be combined with --resume or --continue"
    return ""


# Settings


def command_line_of(given: argparse.Namespace) -> CommandLine:
    """Return the settings given by the options. Rejects invalid ones."""
    from pygent_ls.config.sources import CommandLine

    allowed, denied = _rules(given, "allowed_tools"), _rules(given, "disallowed_tools")
    whole = tuple(each for each in denied if "(" not in each)
    rules = {"allow": list(allowed), "deny": [each for each in denied if each not in whole]}
    folders = tuple(_folder(given, named) for named in given.add_dir or ())
    added: dict[str, object] = {"additional_dirs": folders} if folders else {}
    if given.append_system_prompt:
        added["system_prompt"] = given.append_system_prompt
    fallbacks = [each.strip() for each in (given.fallback_model or "").split(",") if each.strip()]
    return CommandLine(
        values={
            "model": given.model,
            "fallback_models": fallbacks or None,
            "max_thinking_tokens": given.max_thinking_tokens,
            "agents": _agents(given),
            "context.max_chars": given.max_chars,
            "context.max_words": given.max_words,
            "permissions": rules if any(rules.values()) else None,
            "disallowed_tools": list(whole) or None,
            "persist_sessions": "false" if given.no_session_persistence else None,
        },
        added=added,
        sources=_sources(given),
        system_prompt=given.system_prompt,
    )


def _session_id(given: argparse.Namespace) -> str | None:
    if given.session_id is None:
        return None
    from uuid import UUID

    try:
        return str(UUID(given.session_id))
    except ValueError:
        given.refuse(f"--session-id: {given.session_id!r} is not a UUID such as 123e4567-e89b-42d3-a456-426614174000")


def _agents(given: argparse.Namespace) -> dict[str, dict[str, object]] | None:
    """Return the agents of `--agents`. Rejects invalid ones."""
    from pygent_ls.editors.scripts.agent_definitions import agent_tables
    from pygent_ls.errors import SettingError

    if given.agents is None:
        return None
    try:
        return agent_tables(json.loads(given.agents), _tool_names())
    except (ValueError, RecursionError) as error:
        given.refuse(f"--agents: not valid JSON: {error}")
    except SettingError as error:
        given.refuse(f"--agents: {error}")


def _sources(given: argparse.Namespace) -> frozenset[SettingSource]:
    from pygent_ls.config.sources import SETTING_SOURCES

    if given.setting_sources is None:
        return SETTING_SOURCES
    named = [each.strip() for each in given.setting_sources.split(",") if each.strip()]
    if wrong := [each for each in named if each not in SETTING_SOURCES]:
        given.refuse(f"--setting-sources: {wrong[0]!r} must be one of user, project and local")
    return frozenset(each for each in SETTING_SOURCES if each in named)


def _folder(given: argparse.Namespace, named: str) -> str:
    folder = Path(named).expanduser()
    if not folder.is_dir():
        given.refuse(f"--add-dir: the folder {named} does not exist")
    return str(folder.resolve())


# The structured result


def _schema(given: argparse.Namespace) -> Mapping[str, Any] | None:
    """Return the schema that the answer must match. Rejects an invalid or unsupported schema."""
    from pygent_ls.agent.tools.structured_output import OutputSchema
    from pygent_ls.errors import SessionError

    if given.json_schema is None:
        return None
    text = _schema_text(given)
    try:
        schema: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        given.refuse(f"--json-schema: not valid JSON: {error}")
        raise AssertionError from None
    if not isinstance(schema, dict):
        given.refuse("--json-schema: the schema must be a JSON object")
    try:
        return OutputSchema.of(cast("dict[str, Any]", schema)).schema
    except SessionError as error:
        given.refuse(f"--json-schema: {error}")


def _schema_text(given: argparse.Namespace) -> str:
    """Return the argument if it begins with a brace, else the text of the file that it names."""
    if given.json_schema.lstrip().startswith("{"):
        return str(given.json_schema)
    file = Path(given.json_schema.removeprefix("@")).expanduser()
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text"
        given.refuse(f"--json-schema: neither a JSON object nor a readable file: {file}: {why}")
        raise AssertionError from None


# Tools


def _rules(given: argparse.Namespace, option: str) -> list[str]:
    """Return the rules of an option. Rejects invalid rules and unknown tools: a misspelled denial would have no
    effect.
    """
    from pygent_ls.agent.rules.rule import parse
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
    """Split rules at commas and white space outside of brackets."""
    rules, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")" and depth > 0)
        if depth == 0 and (character == "," or character.isspace()):
            rules.append("")
        else:
            rules[-1] += character
    return [each for each in rules if each]


def tools_of(given: argparse.Namespace) -> tuple[str, ...] | None:
    """Return the only tools to offer; None for all of them."""
    if given.tools is None:
        return None
    named = [name for each in given.tools for name in split_rules(each)]
    if "default" in named:
        return None
    for name in named:
        _check_tool(given, "--tools", name)
    return tuple(dict.fromkeys(named))


def _tool_names() -> list[str]:
    from pygent_ls.tools.catalog import offered_tools

    return [each.name for each in offered_tools(has_folder=True, shell_timeout_s=1.0, has_skills=True)]


def _check_tool(given: argparse.Namespace, option: str, name: str) -> None:
    from pygent_ls.config.sources import user_file
    from pygent_ls.config.trust import TOOLS_FOLDER
    from pygent_ls.errors import SettingError
    from pygent_ls.extensions.own_tools.tools import may_have_tools
    from pygent_ls.tools.catalog import check_tool

    try:
        check_tool(option, name, _tool_names())
    except SettingError as error:
        if not may_have_tools(user_file().parent / "tools", Path(given.cwd) / TOOLS_FOLDER):
            given.refuse(str(error))


# The prompt


def _prompt(given: argparse.Namespace) -> str | None:
    """Return the argument followed by piped input; None if prompts are read from the lines of standard input."""
    if given.input_format == "stream-json":
        return None
    said = "" if given.prompt in (None, "-") else str(given.prompt)
    parts = [said, _piped(is_asked_for=given.prompt == "-", has_prompt=bool(said))]
    prompt = "\n\n".join(part for part in parts if part.strip())
    if not prompt:
        given.refuse("no prompt given; pass it as an argument or through a pipe")
    return prompt


def _piped(*, is_asked_for: bool, has_prompt: bool) -> str:
    """Read all of standard input if it is not a terminal or is asked for; return nothing for a silent pipe."""
    if sys.stdin.closed or (sys.stdin.isatty() and not is_asked_for):
        return ""
    source = sys.stdin.buffer
    if has_prompt and not _speaks(source.fileno()):
        sys.stderr.write(f"No input on the pipe within {PIPE_WAIT_S:g} s; continuing with only the prompt.\n")
        return ""
    return source.read().decode("utf-8-sig", "replace")


def _speaks(descriptor: int) -> bool:
    """Return whether input, or its end, arrives within a few seconds."""
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return True
    return bool(select.select([descriptor], [], [], PIPE_WAIT_S)[0])
