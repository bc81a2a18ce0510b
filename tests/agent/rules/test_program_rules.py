"""What a rule that allows a program covers: its safe options, in any spelling, and no others (program_rules.toml)."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from pygent_ls.agent.rules.matcher import allows
from pygent_ls.agent.rules.rule import Rule

RULES: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("program_rules.toml").read_text("utf-8")
)


def covered(rule: str, line: str, *others: str) -> bool:
    return allows([Rule(text=f"shell({each})", decision="allow", origin="user") for each in (rule, *others)], [line])


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_for_a_program_covers_what_its_name_says_and_no_more(rule: str) -> None:
    wanted = {line: expected for expected, lines in RULES[rule].items() for line in lines}
    assert {line: "covers" if covered(rule, line) else "asks" for line in wanted} == wanted


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("make --eval:*", "make --eval '$(info x)' test"),
        ("make -f other.mk:*", "make -f other.mk test -j4"),
        ("sort -o:*", "sort -o out.txt in.txt"),
        ("git -C docs status:*", "git -C docs status -s"),
        ("git -c core.pager=cat log:*", "git -c core.pager=cat log -p"),
        ("psql -c:*", "psql -c 'select 1'"),
        ("tar -I zstd:*", "tar -I zstd -xf a.tar.zst"),
        ("docker run -v:*", "docker run -v /w:/w alpine"),
        ("ssh -o ProxyCommand=x:*", "ssh -o ProxyCommand=x host"),
    ],
)
def test_a_rule_that_names_an_option_covers_it(rule: str, line: str) -> None:
    assert covered(rule, line)
    assert not covered(rule.partition(" ")[0] + ":*", line)


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        (("find:*", "grep:*"), "find . -name '*.py' -exec grep -n foo {} +"),
        (("find:*", "sed:*"), "find . -exec sed -n 1p {} \\;"),
        (("xargs:*", "cat:*"), "xargs -I{} cat {}"),
        (("xargs:*", "grep:*", "find:*"), "find . -type f -print0 | xargs -0 grep -l foo"),
        (("timeout:*", "make test:*"), "timeout -k 5 60 make test"),
        (("nice:*", "cargo build:*"), "nice -n 5 cargo build --release"),
        (("ssh:*", "ls:*"), "ssh host ls -l"),
        (("parallel:*", "ls:*"), "parallel -j4 ls ::: a b"),
        (("find:*", "ls:*"), "find . -name '*.py' -exec ls -l {} + -print"),
    ],
)
def test_rules_for_a_wrapper_and_for_what_it_runs_cover_both(rules: tuple[str, ...], line: str) -> None:
    assert covered(rules[0], line, *rules[1:])
    assert not any(covered(rule, line) for rule in rules)


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        (("find:*", "sed:*"), "find . -exec sed {} \\;"),
        (("find:*", "sed:*"), "find . -exec sed -i s/a/b/ {} +"),
        (("xargs:*", "sort:*"), "echo -oz | xargs sort"),
        (("xargs:*", "sed:*"), "echo 1wz | xargs -I{} sed {} a"),
        (("xargs:*", "env:*", "sort:*"), "xargs env sort a"),
        (("parallel:*", "echo:*"), "echo touch z | parallel"),
        (("timeout:*", "sed:*"), "timeout 5 sed 1wz a"),
        (("nice:*", "ls:*"), "nice -n ls touch z"),
        (("xargs:*", "ls:*"), "xargs -rI ls touch z"),
        (("find:*", "sort:*"), "find . -exec sort + -o -name \\;"),
        (("find:*", "ls:*"), "find . -ok ls {} + -fprint \\;"),
        (("parallel:*", "ls:*"), "parallel ls '{= system \"touch z\" =}' ::: a"),
        (("parallel:*", "ls:*"), "parallel ls '{1= system \"touch z\" =}' ::: a"),
        (("parallel:*", "ls:*"), "parallel -- ls 'touch z'"),
    ],
)
def test_words_that_a_wrapper_puts_in_may_be_options_and_scripts(rules: tuple[str, ...], line: str) -> None:
    assert not covered(rules[0], line, "echo:*", *rules[1:])
