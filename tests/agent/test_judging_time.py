"""Judging a command takes a moment, whatever stands in it: the model writes it, and the editor waits for the daemon."""

from __future__ import annotations

import time

import pytest

from pygent_ls.agent.permissions import Permissions, Policy
from pygent_ls.agent.reading_rules import can_meet
from pygent_ls.agent.refusals import Protected
from pygent_ls.agent.rules import Rule
from pygent_ls.shell.parser import read_line
from pygent_ls.shell.words import ANY
from tests.agent.abilities import shell
from tests.fakes import MemoryRules

MOST_S = 5.0
"""Most of these took minutes once, or had no end; now they take below 0.5 s, on a machine that does nothing else."""

RULES = (
    *(Rule(text=f"shell({name}:*)", decision="allow", origin="user") for name in ("sed", "awk", "jq", "git", "tar")),
    Rule(text="shell(git push origin:*)", decision="deny", origin="user"),
)


def judged(command: str) -> str:
    policy = Policy(rules=RULES, may_bypass=True, protected=Protected(home="/home/me"))
    return Permissions("bypass", MemoryRules(), policy).decide(shell, [command]).decision


@pytest.mark.parametrize(
    "command",
    [
        "cat > f.b64 <<'EOF'\n" + "a" * 100_000 + "\nEOF",
        "f(){" * 50_000,
        "a=x; " + "a=$a$a; " * 60 + "echo $a",
        "env -S 'env -S x' " * 100,
        "unbuffer " * 200 + "ls",
        "find . " + "-exec sh " * 2_000,
        "sed " + "s" * 3_000,
        "sed '" + " " * 15_000 + "'",
        "awk '@" + "a" * 15_000 + "'",
        "jq '" + "import" * 3_000 + "'",
        "echo ' {" + "," * 19_000,
        "git " + "*" * 60 + "Z" + "*" * 60 + "Y",
    ],
    ids=lambda command: str(command)[:20],
)
def test_no_command_holds_the_daemon_up(command: str) -> None:
    read_line.cache_clear()
    started = time.perf_counter()
    judged(command)
    assert time.perf_counter() - started < MOST_S


def test_no_rule_about_reading_holds_the_daemon_up() -> None:
    started = time.perf_counter()
    assert can_meet("**/" + "a*" * 500, (ANY + "/b") * 3_000)
    assert time.perf_counter() - started < MOST_S


def test_a_line_that_is_too_long_to_be_parsed_is_still_looked_through_for_what_is_always_refused() -> None:
    assert judged("rm -rf / # " + "x" * 30_000) == "deny"
    assert judged("f(){ f|f& };f # " + "x" * 30_000) == "deny"
    assert judged("cat > f <<'EOF'\n" + "x\n" * 30_000 + "EOF") == "ask"  # by the deny rule, which it may be about


def test_more_commands_within_others_than_are_followed_are_not_understood() -> None:
    assert read_line("find . " + "-exec ls ';' " * 20).is_parsed
    assert not read_line("find . " + "-exec ls ';' " * 1_000).is_parsed
    assert not read_line("a=x; " + "a=$a$a; " * 12 + "$a").is_parsed
