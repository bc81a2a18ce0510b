"""How a command line is taken apart; what is called harmless is held against bash itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pygent_ls.agent.matching import allows
from pygent_ls.agent.rules import Rule
from pygent_ls.shell.parser import MAX_CHARS, read_line
from pygent_ls.shell.words import ANY, HOME


def programs(text: str) -> list[str]:
    return [command.name for command in read_line(text).all()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a; b && c || d | e & f", ["a", "b", "c", "d", "e", "f"]),
        ("a $(b `c`)", ["c", "b", "a"]),
        ("a <(b) >(c)", ["b", "c", "a"]),
        ("sudo -u x env A=1 nice -n 5 b", ["sudo", "env", "nice", "b"]),
        ("bash -c 'a; b'", ["bash", "a", "b"]),
        ("find . -exec a {} \\; -exec b {} +", ["find", "a", "b"]),
        ("if a; then b; else c; fi", ["a", "b", "c"]),
        ("f() { a; }", ["a"]),
    ],
)
def test_every_program_of_a_line_is_found(text: str, expected: list[str]) -> None:
    assert programs(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 'b c' \"d e\" f\\ g", ("a", "b c", "d e", "f g")),
        ('a "$x" *.py ~ ~/b $HOME', ("a", ANY, f"{ANY}.py", HOME, f"{HOME}/b", HOME)),
        ("a '~' \"*\" \\*", ("a", "~", "*", "*")),
        ("a\"b\"'c'", ("abc",)),
        ("$'a\\tb\\x41\\102\\u0043'", ("a\tbABC",)),
        ('a "b  $x  c"', ("a", f"b  {ANY}  c")),
    ],
)
def test_words_are_read_as_bash_reads_them(text: str, words: tuple[str, ...]) -> None:
    assert read_line(text).commands[-1].words == words


def test_words_in_any_script_stay_what_they_are() -> None:
    line = read_line("echo äöü '日本' \"\U0001f600 é\" > ñ; bash -c 'ls ж'")
    assert line.commands[0].words == ("echo", "äöü", "日本", "\U0001f600 é")
    assert [write.path for write in line.writes] == ["ñ"]
    assert list(line.all())[-1].words == ("ls", "ж")


@pytest.mark.parametrize("text", ["{\U000e187c3^||*&{{", "0${\U0010d2aa'0\t\U000b6679]#\U0001f259>]]!$|]"])
def test_a_text_that_ends_the_grammars_own_code_is_judged_like_any_other(text: str) -> None:
    assert not read_line(text).is_parsed


def test_where_a_command_runs_is_followed() -> None:
    line = read_line("a; cd b && c; (cd d; e); cd ../f; g; cd $X; h")
    folders = {command.name: command.folder for command in line.commands if command.name != "cd"}
    assert folders == {"a": "", "c": "b", "e": "b/d", "g": "b/../f", "h": f"b/../f/{ANY}"}


def test_a_redirection_into_a_file_is_told_and_one_into_nothing_is_not() -> None:
    assert [write.path for write in read_line("a > b 2>> c &> /dev/null 2>&1 < d").writes] == ["b", "c"]
    assert read_line("a 2>&1 >/dev/null").is_plain
    assert not read_line("a > b").is_plain


def test_what_is_too_long_or_too_deep_counts_as_not_parsed() -> None:
    assert not read_line("echo " + "a" * MAX_CHARS).is_parsed
    assert not read_line("sudo " * 40 + "a").is_parsed
    assert not read_line("(" * 2_000 + "a" + ")" * 2_000).is_parsed


@given(st.text(max_size=40))
def test_no_text_is_too_odd_to_be_judged(text: str) -> None:
    line = read_line(text)
    assert line.is_parsed or not line.is_plain


# Held against bash

TOKENS = [
    *("echo", "hi", "touch", "z", " ", " ", " ", "\n", ";", "&&", "||", "|", "&", "$(", ")", "`", "'", '"', "\\", "$'"),
    *(
        ">",
        "<",
        "#",
        "{",
        "}",
        "(",
        "!",
        "\\\n",
        "$X",
        "<<E\n",
        "E\n",
        "=",
        "\t",
        "*",
        "[",
        "]",
        "if ",
        "then ",
        "fi",
        ",",
    ),
]

BASH = shutil.which("bash") or "/bin/bash"


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs that holds nothing but a `touch` which leaves a mark beside itself."""
    folder = tmp_path_factory.mktemp("trap")
    program = folder / "touch"
    program.write_text(f"#!{BASH}\n: > {folder}/mark\n")
    program.chmod(0o755)
    (folder / "cwd").mkdir()
    return folder


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from(TOKENS), min_size=2, max_size=12).map(lambda rest: "echo hi" + "".join(rest)))
def test_a_line_that_a_rule_for_echo_allows_runs_nothing_else_in_bash(trap: Path, text: str) -> None:
    if not allows([Rule(text="shell(echo:*)", decision="allow", origin="user")], [text]):
        return
    subprocess.run(
        [BASH, "-c", text],
        cwd=trap / "cwd",
        env={"PATH": os.fspath(trap)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert not (trap / "mark").exists()
    assert list((trap / "cwd").iterdir()) == []
