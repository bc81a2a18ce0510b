"""The options of `run`: what they come to, and what is said to those that cannot be."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.ports import model
from pygent_ls.cli.run import add_run, command_line_of, split_rules, tools_of
from pygent_ls.cli.run_options import EFFORTS, MODES, MOST, OUTPUT_FORMATS, OWN_MODES
from pygent_ls.config.sources import SETTING_SOURCES, CommandLine
from pygent_ls.config.tables import MOST as MOST_OF_SETTINGS
from pygent_ls.editors.run_options import OutputFormat
from pygent_ls.editors.scripts import conversation


def parsed(*arguments: str) -> argparse.Namespace:
    """The options as they were typed."""
    parser = argparse.ArgumentParser()
    add_run(parser.add_subparsers().add_parser)
    return parser.parse_args(["run", *arguments])


def begin(*arguments: str) -> None:
    """Run the command."""
    options = parsed(*arguments)
    options.act(options)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Why a run with these is not begun."""
    with pytest.raises(SystemExit) as ended:
        begin(*arguments)
    assert ended.value.code == 2
    return capsys.readouterr().err.partition("error: ")[2].strip()


# What they come to


def test_without_options_nothing_is_said_about_settings() -> None:
    said = command_line_of(parsed("go"))

    assert {each for each in said.values.values() if each is not None} == set()
    assert (said.added, said.sources) == ({}, SETTING_SOURCES)
    assert tools_of(parsed("go")) is None


def test_options_are_settings(tmp_path: Path) -> None:
    said = command_line_of(
        parsed(
            *("go", "--model", "m/x", "--max-chars", "500", "--max-words", "90", "--setting-sources", "user"),
            *("--allowed-tools", "shell(git status:*),edit_file(src/**) read_file", "--allowedTools", "git_add"),
            *("--disallowed-tools", "shell(rm:*) git_push,web_*", "--add-dir", str(tmp_path)),
            *("--append-system-prompt", "Be brief.", "--no-session-persistence", "--system-prompt", "You are a poet."),
            *("--fallback-model", "m/y, m/z", "--max-thinking-tokens", "0"),
            *("--agents", '{"poet": {"prompt": "Rhyme.", "tools": ["read_file"], "model": "inherit", "maxTurns": 3}}'),
        )
    )

    assert said == CommandLine(
        values={
            "model": "m/x",
            "fallback_models": ["m/y", "m/z"],
            "max_thinking_tokens": 0,
            "agents": {"poet": {"prompt": "Rhyme.", "tools": ["read_file"], "max_iterations": 3}},
            "context.max_chars": 500,
            "context.max_words": 90,
            "permissions": {
                "allow": ["shell(git status:*)", "edit_file(src/**)", "read_file", "git_add"],
                "deny": ["shell(rm:*)"],
            },
            "disallowed_tools": ["git_push", "web_*"],
            "persist_sessions": "false",
        },
        added={"additional_dirs": (str(tmp_path.resolve()),), "system_prompt": "Be brief."},
        sources=frozenset({"user"}),
        system_prompt="You are a poet.",
    )


@pytest.mark.parametrize(
    ("given_tools", "offered"),
    [
        (("read_file,shell",), ("read_file", "shell")),
        (("git_* read_file", "shell"), ("git_*", "read_file", "shell")),
        (("",), ()),
        (("default",), None),
        (("mcp__docs__search",), ("mcp__docs__search",)),
    ],
)
def test_only_the_tools_that_are_named(given_tools: tuple[str, ...], offered: tuple[str, ...] | None) -> None:
    options = [part for each in given_tools for part in ("--tools", each)]

    assert tools_of(parsed("go", *options)) == offered


def test_what_is_spelled_again_is_spelled_alike() -> None:
    assert get_args(Mode) == OWN_MODES
    assert MODES == conversation.MODES
    assert model.EFFORTS == EFFORTS
    assert get_args(OutputFormat) == OUTPUT_FORMATS
    assert MOST == MOST_OF_SETTINGS


# Lists of rules


NAME = st.sampled_from(["shell", "edit_file", "mcp__a__b"])
INSIDE = st.recursive(
    st.text(alphabet="ab*/:, .", max_size=4),
    lambda inner: st.lists(inner, max_size=3).map(lambda each: f"({''.join(each)})"),
    max_leaves=4,
)
RULE = st.tuples(NAME, INSIDE).map(lambda each: f"{each[0]}({each[1]})") | NAME


@given(st.lists(st.tuples(RULE, st.sampled_from([",", " ", ", ", "\n", " ,, "]))))
def test_rules_are_what_stands_between_commas_and_white_space(rules: list[tuple[str, str]]) -> None:
    assert split_rules("".join(rule + between for rule, between in rules)) == [rule for rule, _ in rules]


@given(st.text())
def test_no_text_is_lost_between_rules(text: str) -> None:
    joined = "".join(split_rules(text))

    assert [each for each in joined if each not in ", " and not each.isspace()] == [
        each for each in text if each not in ", " and not each.isspace()
    ]


# What cannot be


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--cwd", "/no/such"), "--cwd: the folder /no/such does not exist"),
        (("--add-dir", "/no/such"), "--add-dir: the folder /no/such does not exist"),
        (("--max-turns", "-1"), "argument --max-turns: invalid whole number value: '-1'"),
        (("--max-tokens", "many"), "argument --max-tokens: invalid whole number value: 'many'"),
        (("--max-budget-usd", "nan"), "argument --max-budget-usd: invalid amount value: 'nan'"),
        (("--output-format", "xml"), "argument --output-format: invalid choice: 'xml'"),
        (("--permission-mode", "dontAsk"), "argument --permission-mode: invalid choice: 'dontAsk'"),
        (("--resume", "x", "--continue"), "argument -c/--continue: not allowed with argument -r/--resume"),
        (("--resume", "x", "--no-session-persistence"), "--no-session-persistence cannot be combined"),
        (("--input-format", "stream-json"), "--input-format stream-json requires --output-format stream-json"),
        (
            ("--input-format", "stream-json", "--output-format", "stream-json"),
            "prompts are read from standard input",
        ),
        (("--resume", ""), "--resume is empty; omit it, or check whether your variable is set"),
        (("--model", " "), "--model is empty"),
        (("--agent", ""), "--agent is empty"),
        (("--include-partial-messages",), "--include-partial-messages requires --output-format stream-json"),
        (("--permission-prompt-tool", "stdio"), "--permission-prompt-tool stdio requires --input-format stream-json"),
        (("--tools", "read_fil"), "--tools: there is no tool 'read_fil'; available tools: read_file, list_files"),
        (("--allowed-tools", "shel(make)"), "--allowed-tools: there is no tool 'shel'"),
        (
            ("--allowed-tools", "shell(make"),
            "'shell(make' is not a valid rule: the closing bracket at the end is missing",
        ),
        (("--disallowed-tools", "shell()"), "the brackets are empty"),
        (("--disallowed-tools", "git_pusch"), "--disallowed-tools: there is no tool 'git_pusch'"),
        (("--setting-sources", "user,home"), "--setting-sources: 'home' must be one of user, project and local"),
        (("--session-id", "mine"), "--session-id: 'mine' is not a UUID"),
        (("--session-id", "123e4567-e89b-42d3-a456-426614174000", "--continue"), "not allowed with argument"),
        (("--agents", "{"), "--agents: not valid JSON"),
        (("--agents", "[]"), "--agents: expected an object that maps names to agents"),
        (("--agents", '{"a": {"tools": ["Read"]}}'), "--agents: a.tools: there is no tool 'Read'; available tools:"),
        (("--agents", '{"a": {"skills": ["x"]}}'), "--agents: a: 'skills' is not supported"),
        (("--json-schema", "{"), "--json-schema: not valid JSON"),
        (("--json-schema", "@/no/such"), "neither a JSON object nor a readable file: /no/such"),
        (("--json-schema", '{"type": "text"}'), "--json-schema: The output schema cannot be used"),
    ],
)
def test_bad_usage_is_told_before_anything_begins(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], problem: str
) -> None:
    assert problem in refusal(capsys, "go", *arguments)


def test_a_schema_is_an_object(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text("[1]")

    assert refusal(capsys, "go", "--json-schema", str(file)) == "--json-schema: the schema must be a JSON object"


def test_who_is_asked_by_lines_is_not_told_yes(capsys: pytest.CaptureFixture[str]) -> None:
    streams = ("--input-format", "stream-json", "--output-format", "stream-json")

    assert "cannot be combined" in refusal(capsys, *streams, "--permission-prompt-tool", "stdio", "--yes")
