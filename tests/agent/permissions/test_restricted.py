"""A workspace that the editor does not trust: whatever is configured, nothing runs there but what reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.permissions.permissions import Permissions, Places, Policy
from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionOutcome
from pygent_ls.agent.ports.hooks import HookDecision, HookOutcome
from pygent_ls.agent.rules.rule import Rule, RuleDecision, RuleOrigin
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.errors import SessionError
from pygent_ls.tools.catalog import offered_tools
from tests.fakes import MemoryRules

TOOLS = {each.name: each for each in offered_tools(has_folder=True, shell_timeout_s=1.0)}

READING = {
    "diagnostics",
    "find_definition",
    "repo_map",
    "find_files",
    "git_branch",
    "git_diff",
    "git_log",
    "git_status",
    "grep_search",
    "list_components",
    "list_files",
    "list_templates",
    "read_file",
    "shell_output",
    "web_fetch",
    "web_search",
}
"""Each was looked at: it changes nothing, and runs nothing that the workspace brings along."""

CONVERSING = {"plan", "ask_user"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """All that could have a say."""

    mode: Mode
    ceiling: Mode | None
    stored: list[Rule]
    own: list[Rule]
    answers: list[tuple[str, PermissionOutcome]]
    hook: HookDecision | None


def rule(name: str, pattern: str, decision: RuleDecision, origin: RuleOrigin) -> Rule:
    return Rule(text=name + pattern, decision=decision, origin=origin)


modes = st.sampled_from(["default", "accept_edits", "plan", "trust", "bypass"])
names = st.sampled_from(sorted(TOOLS))
rules = st.lists(
    st.builds(
        rule,
        names,
        st.sampled_from(["", "(**)", "(ls)", "(git status:*)", "(domain:a.example)", "(default)"]),
        st.sampled_from(["allow", "ask", "deny"]),
        st.sampled_from(["user", "workspace", "always_allow", "command_line", "editor", "environment"]),
    ),
    max_size=6,
)
outcomes = st.sampled_from(["allow_once", "allow_session", "allow_always", "reject_always"])
configured = st.builds(
    Configured,
    mode=modes,
    ceiling=st.none() | modes,
    stored=rules,
    own=rules,
    answers=st.lists(st.tuples(names, outcomes), max_size=4),
    hook=st.sampled_from([None, "allow", "ask", "deny"]),
)
tools = st.sampled_from([TOOLS[name] for name in sorted(TOOLS)])
subjects = st.sampled_from(["a.py", "ls", "git status", "https://a.example/b", "plan", "default", "", "origin main"])


def restricted(mode: Mode = "default", *stored: Rule, own: tuple[Rule, ...] = ()) -> Permissions:
    policy = Policy(rules=own, may_bypass=True, is_restricted=True)
    return Permissions(mode, MemoryRules(*stored), policy)


def test_what_is_marked_as_reading_only_is_what_was_looked_at() -> None:
    assert {name for name, each in TOOLS.items() if each.read_only} == READING


@given(configured, tools, subjects)
def test_whatever_is_configured_nothing_runs_but_what_reads_and_nobody_is_asked_about_the_rest(
    given_all: Configured, asked: Tool, subject: str
) -> None:
    permissions = restricted(given_all.mode, *given_all.stored, own=tuple(given_all.own))
    for name, outcome in given_all.answers:
        permissions.remember([name], PermissionAnswer(outcome=outcome))
    permissions.inherit_mode(given_all.mode)
    said = HookOutcome(decision=given_all.hook, reason="")

    verdict = permissions.decide(asked, [subject], Places(are_held=True), said, given_all.ceiling)

    assert permissions.mode == "plan"
    plans = asked.name == "task" and subject in ("", "plan", "review")
    if asked.name not in READING | CONVERSING and not plans:
        assert verdict.decision == "deny"
    if asked.name in ("web_fetch", "web_search"):
        assert verdict.decision != "allow"


@given(modes, st.lists(modes), modes)
def test_no_mode_that_was_set_before_or_is_set_later_lifts_it(before: Mode, later: list[Mode], turn: Mode) -> None:
    permissions = Permissions(before, MemoryRules(), Policy(may_bypass=True))
    permissions.set_mode(before)
    permissions.set_turn_mode(turn)
    permissions.take(Policy(may_bypass=True, is_restricted=True), before)
    for mode in later:
        permissions.inherit_mode(mode)

    assert permissions.mode == "plan"
    assert permissions.decide(TOOLS["shell"], ["ls"]).decision == "deny"
    assert permissions.decide(TOOLS["edit_file"], ["a.py"]).decision == "deny"


def test_another_mode_is_refused_and_it_is_said_what_would_change_that() -> None:
    permissions = restricted()
    attempts: list[Callable[[Mode], object]] = [permissions.set_mode, permissions.set_turn_mode, permissions.check_mode]
    for attempt in attempts:
        with pytest.raises(SessionError, match="Trust the workspace in the editor") as caught:
            attempt("trust")
        assert caught.value.kind == "restricted"
        attempt("plan")


def test_what_counted_before_counts_again_when_the_workspace_is_trusted() -> None:
    permissions = restricted("trust")

    permissions.take(Policy(), "trust")

    assert permissions.mode == "trust"
    assert permissions.decide(TOOLS["edit_file"], ["a.py"]).decision == "allow"


@pytest.mark.parametrize("word", ["stored", "own", "always", "session", "hook", "nobody"])
def test_an_address_is_asked_about_each_time_whoever_allows_it(word: str) -> None:
    allowing = (rule("web_fetch", "", "allow", "user"),)
    permissions = restricted("trust", *(allowing if word == "stored" else ()), own=allowing if word == "own" else ())
    if word in ("always", "session"):
        outcome: PermissionOutcome = "allow_always" if word == "always" else "allow_session"
        permissions.remember(["web_fetch"], PermissionAnswer(outcome=outcome))
    said = HookOutcome(decision="allow" if word == "hook" else None, reason="")

    assert permissions.decide(TOOLS["web_fetch"], ["https://a.example/b"], hook=said).decision == "ask"
