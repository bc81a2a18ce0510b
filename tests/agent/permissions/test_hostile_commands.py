"""Command lines that got round other agents' checks, each with what must come of it (hostile_commands.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from pygent_ls.agent.kinds import Mode, ToolCategory, ToolRisk
from pygent_ls.agent.permissions.permissions import Permissions, Places, Policy, Verdict
from pygent_ls.agent.permissions.refusals import Protected
from pygent_ls.agent.rules.rule import Rule, RuleDecision, parse
from pygent_ls.agent.tools.tool import Tool, ToolContext, tool
from tests.fakes import MemoryRules

CORPUS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("hostile_commands.toml").read_text("utf-8"))

DECISIONS: tuple[RuleDecision, ...] = ("allow", "deny", "ask")

EXPECTED = ("refused", "denied", "asks", "allowed")

PROTECTED = Protected(home="/home/me", folders=("/home/me/.config/pygent-ls", "/home/me/.local/state/pygent-ls"))


def shell_tool() -> Tool:
    async def shell(context: ToolContext, command: str) -> str:
        return command

    return tool(risk=ToolRisk.HIGH, category=ToolCategory.SHELL, kind="execute", title="{command}")(shell)


SHELL = shell_tool()


def rules() -> tuple[Rule, ...]:
    return tuple(Rule(text=text, decision=each, origin="user") for each in DECISIONS for text in CORPUS[each])


def judge(command: str, mode: Mode = "default") -> Verdict:
    policy = Policy(rules=rules(), protected=PROTECTED, may_bypass=True)
    permissions = Permissions(mode, MemoryRules(), policy)
    return permissions.decide(SHELL, [command], Places(folder="/home/me/project"))


def outcome(verdict: Verdict) -> str:
    match verdict.decision:
        case "allow":
            return "allowed"
        case "ask":
            return "asks"
        case "deny":
            return "refused" if "no rule, mode or answer" in verdict.reason else "denied"


def commands(expected: str) -> Iterator[str]:
    for group in CORPUS[expected].values():
        yield from group


@pytest.mark.parametrize(
    ("expected", "group"), [(expected, group) for expected in EXPECTED for group in CORPUS[expected]]
)
def test_a_command_line_is_judged_by_its_most_dangerous_part(expected: str, group: str) -> None:
    got = {command: outcome(judge(command)) for command in CORPUS[expected][group]}
    assert got == dict.fromkeys(got, expected)


@pytest.mark.parametrize("mode", get_args(Mode))
def test_no_mode_lifts_a_refusal_or_a_deny_rule(mode: Mode) -> None:
    for command in commands("refused"):
        assert outcome(judge(command, mode)) == "refused", command
    for command in commands("denied"):
        assert outcome(judge(command, mode)) == "denied", command


def test_no_mode_but_bypass_passes_a_command_that_no_rule_allows() -> None:
    for command in commands("asks"):
        assert judge(command, "trust").decision == judge(command, "accept_edits").decision == "ask", command
        assert judge(command, "plan").decision == "deny", command


@pytest.mark.parametrize("command", ["$CMD http://e.example/", "curl() { :; }; $(x)", 'bash -c "$X"', "echo 'unclosed"])
def test_bypass_still_asks_where_a_deny_rule_may_be_meant(command: str) -> None:
    assert judge(command, "bypass").decision == "ask"
    assert judge("touch z", "bypass").decision == "allow"


@pytest.mark.parametrize("command", [*commands("refused")])
def test_a_refusal_stands_without_any_rule_and_against_allow_rules(command: str) -> None:
    allowing = tuple(
        Rule(text=text, decision="allow", origin="user") for text in ("shell", f"shell({command})", "shell(rm:*)")
    )
    policy = Policy(rules=allowing, protected=PROTECTED, may_bypass=True)
    verdict = Permissions("bypass", MemoryRules(), policy).decide(SHELL, [command], Places(folder="/home/me/project"))
    assert outcome(verdict) == "refused"


def test_the_corpus_is_as_large_as_promised_and_its_rules_are_rules() -> None:
    hostile = [command for expected in EXPECTED[:3] for command in commands(expected)]
    assert len(set(hostile)) >= 150
    assert len(set(hostile)) == len(hostile)
    for rule in rules():
        parse(rule.text)
