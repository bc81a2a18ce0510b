"""What the administrator's rules and modes keep everyone else from."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.admin_limits import STRICTEST_FIRST, AdminLimits
from pygent_ls.agent.kinds import Mode
from pygent_ls.agent.permissions.permissions import Permissions, Places, Policy
from pygent_ls.agent.ports.approver import PermissionAnswer
from pygent_ls.agent.ports.hooks import HookOutcome
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.editors.terminal.approver import NEEDS_PERSON, AllowingApprover
from pygent_ls.errors import SessionError
from tests.agent.abilities import FILE_TOOLS
from tests.agent.calls.test_call_hooks import ALLOW, ASK, Hooked
from tests.agent.permissions.test_restricted import Configured, configured, subjects, tools
from tests.fakes import FakeApprover, MemoryRules, make_rig

FILE = "/etc/pygent-ls/config.toml"


def admins(text: str, decision: str) -> Rule:
    return Rule(text=text, decision="deny" if decision == "deny" else "ask", origin="admin")


def permissions_of(
    given_all: Configured, *rules: Rule, modes: tuple[Mode, ...] | None = None, usual: Mode = "default"
) -> Permissions:
    policy = Policy(rules=(*given_all.own, *rules), may_bypass=True, admin=AdminLimits(file=FILE, modes=modes))
    permissions = Permissions(usual, MemoryRules(*given_all.stored), policy)
    for name, outcome in given_all.answers:
        permissions.remember([name], PermissionAnswer(outcome=outcome))
    permissions.inherit_mode(given_all.mode)
    return permissions


@given(configured, tools, subjects, st.sampled_from(["deny", "ask"]))
def test_whatever_is_configured_a_rule_of_the_administrator_is_not_weakened(
    given_all: Configured, asked: Tool, subject: str, decision: str
) -> None:
    permissions = permissions_of(given_all, admins(asked.name, decision))
    said = HookOutcome(decision=given_all.hook, reason="")

    verdict = permissions.decide(asked, [subject], Places(are_held=True), said, given_all.ceiling)

    assert verdict.decision != "allow"
    if decision == "deny":
        assert verdict.decision == "deny"
    if verdict.decision == "ask":
        assert verdict.needs_person


@given(configured, st.lists(st.sampled_from(STRICTEST_FIRST), min_size=1, max_size=3, unique=True))
def test_whatever_is_chosen_no_other_mode_than_the_administrators_is_in_effect(
    given_all: Configured, allowed: Sequence[Mode]
) -> None:
    permissions = permissions_of(given_all, modes=tuple(allowed), usual=allowed[0])

    assert permissions.mode in (*allowed, "plan")
    assert {each for each in STRICTEST_FIRST if permissions.is_mode_allowed(each)} == {*allowed, "plan"}


def test_a_mode_that_is_not_allowed_is_refused_and_the_file_is_named() -> None:
    policy = Policy(may_bypass=True, admin=AdminLimits(file=FILE, modes=("default",)))
    permissions = Permissions("default", MemoryRules(), policy)
    for attempt in (permissions.set_mode, permissions.set_turn_mode, permissions.check_mode):
        with pytest.raises(
            SessionError, match=f"mode: trust is locked by {FILE}, which allows only plan, default"
        ) as no:
            attempt("trust")
        assert no.value.kind == "locked_by_admin"
    permissions.set_mode("plan")
    assert permissions.mode == "plan"


def test_a_mode_that_is_no_longer_allowed_ends_with_the_next_turn() -> None:
    loose = Policy(may_bypass=True)
    permissions = Permissions("default", MemoryRules(), loose)
    permissions.set_mode("trust")

    permissions.take(replace(loose, admin=AdminLimits(file=FILE, modes=("default", "accept_edits"))), "accept_edits")

    assert permissions.mode == "accept_edits"


def test_bypass_that_the_administrator_locks_names_the_file() -> None:
    policy = Policy(admin=AdminLimits(file=FILE, locked=frozenset({"allow_bypass"})))
    with pytest.raises(SessionError, match=f"allow_bypass: locked by {FILE}"):
        Permissions("default", MemoryRules(), policy).set_mode("bypass")


def test_the_reason_of_a_denial_names_the_file() -> None:
    rules = (Rule(text="shell", decision="deny", origin="user"), admins("shell(rm:*)", "deny"))
    policy = Policy(rules=rules, admin=AdminLimits(file=FILE))
    shell = next(each for each in make_rig(*FILE_TOOLS).services.tools.list_all() if each.name == "shell")

    reason = Permissions("default", MemoryRules(), policy).decide(shell, ["rm x"]).reason

    assert reason == f"the rule shell(rm:*) denies it, locked by {FILE}"


@pytest.mark.parametrize("mode", ["default", "accept_edits", "trust", "bypass"])
async def test_yes_does_not_answer_what_a_rule_of_the_administrator_asks(mode: Mode) -> None:
    """Nor does a hook, by allowing the call or by asking in place of the rule."""
    for said in (HookOutcome(), ALLOW, ASK):
        rig = make_rig(*FILE_TOOLS, files={"a.txt": "one\n"})
        policy = Policy(rules=(admins("edit_file", "ask"),), may_bypass=True)
        rig.use(approver=AllowingApprover(), permissions=Permissions(mode, rig.rules, policy))
        made = Hooked({"pre_tool_use": said, "permission_request": ALLOW}, rig)

        told = await made.run("edit_file", path="a.txt", old="one", new="two")

        assert told.is_error
        assert NEEDS_PERSON.rstrip(".") in told.content


async def test_yes_answers_what_a_rule_of_the_user_asks() -> None:
    rule = Rule(text="edit_file", decision="ask", origin="user")
    rig = make_rig(*FILE_TOOLS, files={"a.txt": "one\n"}, rules=[rule])
    made = Hooked({}, rig.use(approver=AllowingApprover()))

    assert not (await made.run("edit_file", path="a.txt", old="one", new="two")).is_error


async def test_accepting_edits_is_not_offered_and_not_taken_where_the_mode_is_not_allowed() -> None:
    approver = FakeApprover(PermissionAnswer(outcome="allow_session", accepts_edits=True))
    rig = make_rig(*FILE_TOOLS, files={"a.txt": "one\n"}, approver=approver)
    policy = Policy(admin=AdminLimits(file=FILE, modes=("default",)))
    rig.use(permissions=Permissions("default", rig.rules, policy))
    made = Hooked({}, rig)

    assert not (await made.run("edit_file", path="a.txt", old="one", new="two")).is_error
    assert not approver.requests[0].offers_accept_edits
    assert made.rig.services.memory.permissions.mode == "default"
