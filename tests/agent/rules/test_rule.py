"""Parsing of rules, valid and invalid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.rules.matcher import Match, allows, concerns, matches
from pygent_ls.agent.rules.rule import (
    AnyCall,
    CommandPrefix,
    Domain,
    PathGlob,
    Pattern,
    Rule,
    RuleDecision,
    WholeCommand,
    host_of,
    parse,
    whole_command,
)
from pygent_ls.agent.rules.rule_settings import rule_from
from pygent_ls.errors import SettingError
from pygent_ls.shell.parser import read_line
from pygent_ls.shell.words import HOME


def allowing(*texts: str) -> list[Rule]:
    return [Rule(text=text, decision="allow", origin="user") for text in texts]


def denying(text: str) -> Rule:
    return Rule(text=text, decision="deny", origin="user")


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("edit_file", AnyCall()),
        ("mcp__docs__search", AnyCall()),
        ("edit_file(src/**)", PathGlob("src/**")),
        ("edit_file(./src/**)", PathGlob("src/**")),
        ("read_file(a(1).txt)", PathGlob("a(1).txt")),
        ("shell(git status:*)", CommandPrefix(("git", "status"))),
        ("shell(git  'status':*)", CommandPrefix(("git", "status"))),
        ("shell(ls ~/x:*)", CommandPrefix(("ls", f"{HOME}/x"))),
        ("shell(git status)", WholeCommand("git status")),
        ("shell( ls )", WholeCommand(" ls ")),
        ("shell(echo (a))", WholeCommand("echo (a)")),
        ("shell(echo a:\\*)", WholeCommand("echo a:*")),
        ("shell(echo a:\\\\*)", WholeCommand("echo a:\\*")),
        ("web_fetch(domain:Docs.Python.org.)", Domain("docs.python.org")),
        ("web_fetch(domain:*.python.org)", Domain("*.python.org")),
        ("web_fetch(domain:[::1])", Domain("::1")),
    ],
)
def test_a_rule_is_a_tool_or_a_tool_with_a_pattern(text: str, pattern: Pattern) -> None:
    assert parse(text) == pattern


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a rule is the name of a tool"),
        ("two words", "a rule is the name of a tool"),
        ("(src/**)", "a rule is the name of a tool"),
        ("edit_file(src/**", "the closing bracket at the end is missing"),
        ("edit_file(src/**) ", "the closing bracket at the end is missing"),
        ("edit_file()", "write edit_file for every call"),
        ("shell(*)", "write shell for every command"),
        ("shell(:*)", "write shell for every command"),
        ("shell(  :*)", "the first words of one plain command"),
        ("shell(git status; rm:*)", "the first words of one plain command"),
        ("shell(echo 'a:*)", "the first words of one plain command"),
        ("shell($X:*)", "the first words of one plain command"),
        ("web_fetch(docs.python.org)", "domain:HOST"),
        ("web_fetch(domain:)", "domain:HOST"),
        ("web_fetch(domain:https://a.b/c)", "domain:HOST"),
        ("mcp__docs__search(x)", "take no pattern; write mcp__docs__search"),
    ],
)
def test_what_is_no_rule_is_told_why_and_matches_nothing(text: str, problem: str) -> None:
    with pytest.raises(SettingError, match=r"is not a valid rule") as caught:
        parse(text)
    assert problem in str(caught.value)
    assert not allows(allowing(text), ["ls"])
    assert concerns(denying(text), ["ls"]) is Match.NO


# Whole commands: "Always allow" never becomes wider than what was seen

commands = st.text(alphabet="ab :*\\()[]'\"$;|&\n>", min_size=1, max_size=14).filter(lambda command: command != "*")


@given(commands)
def test_the_rule_of_a_whole_command_is_that_command_again(command: str) -> None:
    assert parse(whole_command(command)) == WholeCommand(command)


@given(commands, commands)
def test_the_rule_of_a_whole_command_allows_no_other(command: str, other: str) -> None:
    rules = allowing(whole_command(command))
    assert not allows(rules, [other]) or other == command


@pytest.mark.parametrize("command", ["echo a:*", "echo :\\*", "make a:*", "ls:*"])
def test_a_command_that_ends_like_a_prefix_stays_one_command(command: str) -> None:
    rules = allowing(whole_command(command))
    assert allows(rules, [command])
    assert not allows(rules, [command.removesuffix(":*") + " b"])
    assert not allows(rules, [command + "; touch z"])


# Prefixes

words = st.lists(st.text(alphabet="abc-./", min_size=1, max_size=4).filter(lambda word: "-" not in word), min_size=1)


@given(words, words)
def test_a_prefix_matches_commands_that_begin_with_its_words(prefix: list[str], command: list[str]) -> None:
    rules = allowing(f"shell({' '.join(prefix)}:*)")
    assert allows(rules, [" ".join(command)]) is (command[: len(prefix)] == prefix)


@pytest.mark.parametrize(
    ("rule", "command", "allowed"),
    [
        ("shell(sudo:*)", "sudo ls", False),
        ("shell(sudo ls:*)", "sudo ls -l", True),
        ("shell(sudo ls:*)", "sudo ls; ls", False),
        ("shell(sudo env:*)", "sudo env rm x", False),
        ("shell(sudo env rm:*)", "sudo env rm x", True),
        ("shell(bash:*)", "bash -c 'touch z'", False),
        ("shell(find . -delete:*)", "find . -delete -name x", True),
        ("shell(find:*)", "find . -delete", False),
        ("shell(ls:*)", "/bin/ls", False),
        ("shell(/bin/ls:*)", "/bin/ls", True),
        ("shell(ls:*)", "LS", False),
        ("shell", "touch a > b; X=1 rm c", True),
        ("shell", "echo 'unclosed", False),
    ],
)
def test_an_allow_rule_covers_what_it_names_and_what_that_runs(*, rule: str, command: str, allowed: bool) -> None:
    assert allows(allowing(rule), [command]) is allowed


def test_words_for_a_script_of_npm_are_no_command() -> None:
    def allowed(rule: str, line: str) -> bool:
        return allows([Rule(text=rule, decision="allow", origin="user")], [line])

    assert allowed("shell(npm test:*)", "npm test -- --watch=false")
    assert allowed("shell(npm run lint:*)", "npm run lint -- src")
    assert not allowed("shell(npm:*)", "npm exec -- rm -rf src")
    assert not allowed("shell(npm:*)", "npm --prefix test exec -- rm -rf src")


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("echo x >$\nrm -rf src", Match.YES),
        ("[ a || rm x ]", Match.YES),
        ('echo \'unclosed; r""m x', Match.YES),
        ("$'\\x72m' x >$\ny", Match.YES),
        ("$X -rf src 'unclosed", Match.YES),
        ("echo 'unclosed", Match.MAYBE),
        ("echo rm", Match.NO),
        ("$X -rf src", Match.MAYBE),
    ],
)
def test_a_line_that_is_not_parsed_is_denied_where_a_deny_rule_could_match(line: str, match: Match) -> None:
    assert concerns(denying("shell(rm:*)"), [line]) is match
    assert allows(allowing("shell", "shell(echo:*)", "shell(rm:*)"), [line]) is read_line(line).is_parsed


def test_several_rules_cover_a_line_together() -> None:
    rules = allowing("shell(ls:*)", "shell(sort:*)", "shell(sudo:*)")
    assert allows(rules, ["ls -l | sort && sudo ls"])
    assert not allows(rules, ["ls -l | sort && sudo rm x"])


# Addresses


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://docs.python.org/3/", "docs.python.org"),
        ("HTTPS://Docs.Python.ORG./3/", "docs.python.org"),
        ("http://[::1]:80/", "::1"),
        ("https://docs.python.org@evil.example/", ""),
        ("https://evil.example\\@docs.python.org/", ""),
        ("https://docs.python.org\n.evil.example/", ""),
        ("ftp://docs.python.org/", ""),
        ("docs.python.org", ""),
        ("http://[", ""),
    ],
)
def test_the_host_of_an_address_is_told_only_where_all_would_read_it_alike(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://docs.python.org/x", True),
        ("https://docs.python.org.evil.example/", False),
        ("https://evil.example/docs.python.org", False),
        ("https://a.docs.python.org/", False),
        ("https://docs.python.org@evil.example/", False),
    ],
)
def test_a_domain_is_that_host_alone(*, url: str, allowed: bool) -> None:
    assert allows(allowing("web_fetch(domain:docs.python.org)"), [url]) is allowed


def test_a_star_before_a_domain_means_the_hosts_below_it() -> None:
    rules = allowing("web_fetch(domain:*.python.org)")
    assert allows(rules, ["https://docs.python.org/"])
    assert not allows(rules, ["https://python.org/"])
    assert not allows(rules, ["https://evilpython.org/"])


# Examples


def test_a_rule_may_carry_examples_that_are_checked_when_it_loads() -> None:
    table = {"rule": "shell(git status:*)", "match": ["git status -s"], "not_match": ["git push", "git status > a"]}
    assert rule_from(table, "allow", "user") == allowing("shell(git status:*)")[0]


@pytest.mark.parametrize(
    ("table", "decision", "problem"),
    [
        ({"rule": "edit_file(src/*)", "match": ["src/a/b"]}, "allow", "does not match its example 'src/a/b'"),
        ({"rule": "edit_file(src/**)", "not_match": ["src/a"]}, "allow", "matches its example 'src/a'"),
        ({"rule": "shell(curl:*)", "not_match": ["echo $(curl x)"]}, "deny", "matches its example"),
        ({"rule": "edit_file", "match": "a"}, "allow", "must be a list of strings"),
        ({"rule": "edit_file", "matches": ["a"]}, "allow", "must have `rule` (a string)"),
        ({"match": ["a"]}, "allow", "must have `rule` (a string)"),
        (7, "allow", "a rule must be a string, or a table"),
    ],
)
def test_an_example_that_a_rule_does_not_keep_is_a_problem(table: object, decision: RuleDecision, problem: str) -> None:
    with pytest.raises(SettingError) as caught:
        rule_from(table, decision, "user")
    assert problem in str(caught.value)


def test_a_deny_rule_counts_for_any_subject_and_an_allow_rule_for_all() -> None:
    assert matches(denying("read_file(**/.env)"), "a/.env")
    assert concerns(denying("read_file(**/.env)"), ["a.py", "a/.env"]) is Match.YES
    assert not allows(allowing("read_file(*.py)"), ["a.py", "a/.env"])
