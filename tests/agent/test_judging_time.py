"""Judging a command takes a moment, whatever stands in it: the model writes it, and the editor waits for the daemon."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from pygent_ls.agent.matching import allows
from pygent_ls.agent.permissions import Permissions, Places, Policy, Verdict
from pygent_ls.agent.reading_rules import FileRead, can_meet
from pygent_ls.agent.refusals import Protected
from pygent_ls.agent.rules import Rule
from pygent_ls.agent.shell_reads import reads_of
from pygent_ls.shell.parser import read_line
from pygent_ls.shell.words import ANY
from tests.agent.abilities import edit_file, shell
from tests.fakes import FOLDER, FakeWorkspace, MemoryRules

MOST = 40.0
"""How many times as long as counting to a million anything may take: about a second. Most took minutes once."""


def time_of(work: Callable[[], object]) -> float:
    """How long it takes, as a multiple of the time to count to a million, of this process's own time."""
    started = time.process_time()
    for _ in range(1_000_000):
        pass
    counted = time.process_time()
    work()
    return (time.process_time() - counted) / (counted - started)


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
        "\0" * 19_000,
        "a\0" * 9_000,
        "|" * 19_000,
        "a=(" * 6_000,
    ],
    ids=lambda command: str(command)[:20],
)
def test_no_command_holds_the_daemon_up(command: str) -> None:
    read_line.cache_clear()
    assert time_of(lambda: judged(command)) < MOST


@pytest.mark.parametrize(
    "command",
    [
        "sed 's/" + "[]a]" * 400 + "[/x/' a",
        "sed '" + "/a/{s/" * 300 + "' a",
        "awk '" + "(/a" * 600 + "' a",
        "awk '" + "((" * 900 + "' a",
        "git log " + "-n " * 6_000,
        "git diff " + "a " * 9_000,
        "tar xf" + "C" * 1_900 + " a" * 8_000,
        "find . " + "-exec ls {} + " * 1_300,
        "xargs " * 3_000 + "sed 1p",
        "cat " + "-abcdefghijklm " * 1_300,
        "python3 -c '" + "a(" * 9_000 + "'",
    ],
    ids=lambda command: str(command)[:20],
)
def test_no_words_of_a_program_hold_the_daemon_up(command: str) -> None:
    rules = [*RULES, Rule(text="shell(xargs:*)", decision="allow", origin="user")]
    read_line.cache_clear()
    assert time_of(lambda: allows(rules, [command])) < MOST
    assert time_of(lambda: reads_of(command, FOLDER, FakeWorkspace())) < MOST


def test_no_rule_about_reading_holds_the_daemon_up() -> None:
    assert time_of(lambda: can_meet("**/" + "a*" * 500, (ANY + "/b") * 3_000)) < MOST


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("shell(rm{} -rf x:*)", "find . -exec ls {} \\; " * 60),
        ("shell(a{} b c d e f:*)", " && ".join(f"a{i} -x y -z w" for i in range(400))),
        ("shell(a b c d e f g{}:*)", " && ".join("a -x y -z w" for _ in range(1_400))),
        ("shell(git push origin{}:*)", "$X " * 2_000),
        ("shell(git -abc{} push:*)", "git -a -b " * 2_000),
        ("shell(echo " + "x;" * 5_000 + "{})", "ls"),
        ("read_file(**/a*b*c*{}*.env)", "cat " + " ".join(f"$X/a{i}*/b" for i in range(300))),
        ("read_file(**/" + "a*" * 500 + "{}*.env)", "cat " + "a/" * 2_000 + " x*" * 3_000),
    ],
    ids=lambda text: str(text)[:30],
)
def test_a_thousand_rules_of_a_workspace_do_not_hold_the_daemon_up(rule: str, line: str) -> None:
    rules = tuple(Rule(text=rule.format(i), decision="deny", origin="workspace") for i in range(1_000))
    own = Rule(text="shell(curl:*)", decision="deny", origin="user")
    permissions = Permissions("bypass", MemoryRules(), Policy(rules=(*rules, own), may_bypass=True))
    reads = tuple(FileRead(path=f"{ANY}/{word}"[:4_000], is_sure=False) for word in line.split())

    def decide() -> Verdict:
        return permissions.decide(shell, [line], Places(reads=reads))

    assert time_of(decide) < MOST
    assert permissions.decide(shell, [f"curl x; {line}"], Places(reads=reads)).decision == "deny"


def test_a_thousand_rules_about_files_do_not_hold_the_daemon_up() -> None:
    rules = tuple(Rule(text=f"edit_file({'a*' * 500}{i})", decision="deny", origin="workspace") for i in range(1_000))
    permissions = Permissions("bypass", MemoryRules(), Policy(rules=rules, may_bypass=True))
    assert time_of(lambda: permissions.decide(edit_file, ["a/" * 2_000] * 20)) < MOST


def test_a_line_that_is_too_long_to_be_parsed_is_still_looked_through_for_what_is_always_refused() -> None:
    assert judged("rm -rf / # " + "x" * 30_000) == "deny"
    assert judged("f(){ f|f& };f # " + "x" * 30_000) == "deny"
    assert judged("cat > f <<'EOF'\n" + "x\n" * 30_000 + "EOF") == "ask"  # by the deny rule, which it may be about


def test_more_commands_within_others_than_are_followed_are_not_understood() -> None:
    assert read_line("find . " + "-exec ls ';' " * 20).is_parsed
    assert not read_line("find . " + "-exec ls ';' " * 1_000).is_parsed
    assert not read_line("a=x; " + "a=$a$a; " * 12 + "$a").is_parsed
