"""Judging a command takes a moment, whatever stands in it: the model writes it, and the editor waits for the daemon."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from pygent_ls.agent.permissions.permissions import Permissions, Places, Policy, Verdict
from pygent_ls.agent.permissions.refusals import Protected
from pygent_ls.agent.permissions.shell_reads import reads_of
from pygent_ls.agent.rules.matcher import allows
from pygent_ls.agent.rules.read_rules import FileRead, can_meet
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.shell.parser import MAX_CHARS, read_line
from pygent_ls.shell.words import ANY
from tests.agent.abilities import edit_file, shell
from tests.fakes import FOLDER, FakeWorkspace, MemoryRules
from tests.house.growth import grows_too_fast

MOST_CALLS = 4_000_000
"""Calls of functions that one judgement may take, whatever the line and the rules are; they take less than a second."""


def calls_of(work: Callable[[], object]) -> int:
    """How many functions, those of C among them, are called meanwhile: the same number on every machine."""
    n_calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return n_calls


def filled(before: str, fragment: str, after: str = "") -> Callable[[int], str]:
    """Makes a command of about that many characters."""
    return lambda length: before + fragment * (length // len(fragment)) + after


def holds_up(run: Callable[[str], object], make: Callable[[int], str]) -> bool:
    """Whether ten times the command takes much more than ten times as long, or the longest one too many calls."""

    def judge(command: str) -> None:
        read_line.cache_clear()
        run(command)

    judge("ls")  # what is imported with the first command
    longest = make(LENGTH * 10)
    return calls_of(lambda: judge(longest)) > MOST_CALLS or grows_too_fast(
        judge, make, length=LENGTH, times=10, floor_s=0.05
    )


LENGTH = MAX_CHARS // 11
"""Ten times it is the longest that is taken apart, whatever stands around it."""


RULES = (
    *(Rule(text=f"shell({name}:*)", decision="allow", origin="user") for name in ("sed", "awk", "jq", "git", "tar")),
    Rule(text="shell(git push origin:*)", decision="deny", origin="user"),
)


def judged(command: str) -> str:
    policy = Policy(rules=RULES, may_bypass=True, protected=Protected(home="/home/me"))
    return Permissions("bypass", MemoryRules(), policy).decide(shell, [command]).decision


@pytest.mark.parametrize(
    "make",
    [
        filled("cat > f.b64 <<'EOF'\n", "a", "\nEOF"),
        filled("", "f(){"),
        filled("a=x; ", "a=$a$a; ", "echo $a"),
        filled("", "env -S 'env -S x' "),
        filled("", "unbuffer ", "ls"),
        filled("find . ", "-exec sh "),
        filled("sed ", "s"),
        filled("sed '", " ", "'"),
        filled("awk '@", "a", "'"),
        filled("jq '", "import", "'"),
        filled("echo ' {", ","),
        filled("git ", "*", "Z" + "*" * 60 + "Y"),
        filled("", "$(echo "),
        filled("", 'echo "$(', ""),
        filled("", "a=$(echo $a); "),
        filled("((", "a[$(b)]+", "0))"),
        filled("echo '$(", '"', ")'; ((a))"),
        filled("eval '", "$(a", "'"),
        filled("", "cat <<E\n$(a)\nE\n"),
        filled("", "\0"),
        filled("", "a\0"),
        filled("", "|"),
        filled("", "a=("),
    ],
    ids=lambda make: make(30)[:30],
)
def test_no_command_holds_the_daemon_up(make: Callable[[int], str]) -> None:
    assert not holds_up(judged, make)


@pytest.mark.parametrize("length", [100_000, 1_000_000])
def test_no_long_command_holds_the_daemon_up(length: int) -> None:
    for make in (filled("cat > f.b64 <<'EOF'\n", "a", "\nEOF"), filled("", "f(){"), filled("", "$("), filled("", "a;")):
        read_line.cache_clear()
        assert calls_of(lambda make=make: judged(make(length))) < MOST_CALLS
        assert not grows_too_fast(lambda text: judged(text + "\n"), make, length=length // 10, times=10, floor_s=0.1)


@pytest.mark.parametrize(
    "make",
    [
        filled("sed 's/", "[]a]", "[/x/' a"),
        filled("sed '", "/a/{s/", "' a"),
        filled("awk '", "(/a", "' a"),
        filled("awk '", "((", "' a"),
        filled("git log ", "-n "),
        filled("git diff ", "a "),
        filled("tar xf" + "C" * 900, " a"),
        filled("tar xf", "C", " a" * 900),
        filled("find . ", "-exec ls {} + "),
        filled("", "xargs ", "sed 1p"),
        filled("cat ", "-abcdefghijklm "),
        filled("python3 -c '", "a(", "'"),
    ],
    ids=lambda make: make(30)[:30],
)
def test_no_words_of_a_program_hold_the_daemon_up(make: Callable[[int], str]) -> None:
    rules = [*RULES, Rule(text="shell(xargs:*)", decision="allow", origin="user")]
    assert not holds_up(lambda command: allows(rules, [command]), make)
    assert not holds_up(lambda command: reads_of(command, FOLDER, FakeWorkspace()), make)


def test_no_rule_about_reading_holds_the_daemon_up() -> None:
    glob = "**/" + "a*" * 500
    assert not grows_too_fast(
        lambda path: can_meet(glob, path), filled("", ANY + "/b"), length=3_000, times=10, floor_s=0.02
    )
    assert not grows_too_fast(
        lambda glob: can_meet(glob, (ANY + "/b") * 3_000), filled("**/", "a*"), length=400, times=10, floor_s=0.02
    )


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("shell(rm{} -rf x:*)", "find . -exec ls {} \\; " * 60),
        ("shell(a{} b c d e f:*)", " && ".join(f"a{i} -x y -z w" for i in range(400))),
        ("shell(a b c d e f g{}:*)", " && ".join("a -x y -z w" for _ in range(1_400))),
        ("shell(git push origin{}:*)", "$X " * 2_000),
        ("shell(git -abc{} push:*)", "git -a -b " * 2_000),
        ("shell(a{} b:*)", " ".join(f"$X {i};" for i in range(2_000))),
        ("shell(a{} b:*)", " ".join(f"$X{i};" for i in range(2_000))),
        ("shell(echo " + "x;" * 5_000 + "{})", "ls"),
        ("read_file", "cat " + " ".join(f"{i}*" for i in range(3_000))),
        ("read_file({}*)", "cat " + " ".join(f"{i}*" for i in range(3_000))),
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

    decide()  # the line is read, and the rules are
    assert calls_of(decide) < MOST_CALLS
    assert permissions.decide(shell, [f"curl x; {line}"], Places(reads=reads)).decision == "deny"


def test_a_thousand_rules_about_files_do_not_hold_the_daemon_up() -> None:
    rules = tuple(Rule(text=f"edit_file({'a*' * 500}{i})", decision="deny", origin="workspace") for i in range(1_000))
    permissions = Permissions("bypass", MemoryRules(), Policy(rules=rules, may_bypass=True))
    paths = ["a/" * 2_000] * 20
    permissions.decide(edit_file, paths)
    assert calls_of(lambda: permissions.decide(edit_file, paths)) < MOST_CALLS


def test_what_a_rule_costs_is_little_once_the_budget_of_a_judgement_is_used_up() -> None:
    """Else as many rules as there are files that a line reads take their product."""
    reads = tuple(FileRead(path=f"{ANY}/a{i}", is_sure=False) for i in range(3_000))

    def cost(n_rules: int) -> int:
        rules = [
            Rule(text=text, decision="deny", origin="workspace") for text in ("read_file(**/a*.b)", "shell(a b:*)")
        ]
        policy = Policy(rules=tuple(rules * n_rules), may_bypass=True)
        permissions = Permissions("bypass", MemoryRules(), policy)
        line = " ".join(f"$X {i};" for i in range(2_000))
        return calls_of(lambda: permissions.decide(shell, [line], Places(reads=reads)))

    cost(1)
    assert cost(4_000) - cost(2_000) < 2_000 * 100


def test_a_line_that_is_too_long_to_be_parsed_is_still_looked_through_for_what_is_always_refused() -> None:
    assert judged("rm -rf / # " + "x" * 30_000) == "deny"
    assert judged("f(){ f|f& };f # " + "x" * 30_000) == "deny"
    assert judged("env -S 'env -S x' " * 900 + "; eval 'rm -rf /'") == "deny"
    assert judged("cat > f <<'EOF'\n" + "x\n" * 30_000 + "EOF") == "ask"  # by the deny rule, which it may be about


def test_more_commands_within_others_than_are_followed_are_not_understood() -> None:
    assert read_line("find . " + "-exec ls ';' " * 20).is_parsed
    assert not read_line("find . " + "-exec ls ';' " * 1_000).is_parsed
    assert not read_line("a=x; " + "a=$a$a; " * 12 + "$a").is_parsed
