"""The order in which a call is decided, for every combination of rules, hooks, mode and risk."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.kinds import Mode, ToolCategory, ToolRisk
from pygent_ls.agent.permissions.permissions import Permissions, Places, Policy
from pygent_ls.agent.permissions.refusals import Protected
from pygent_ls.agent.ports.hooks import HookDecision, HookOutcome
from pygent_ls.agent.rules.rule import Rule, RuleDecision, RuleOrigin
from pygent_ls.agent.tools.tool import Tool, ToolContext, tool
from tests.fakes import MemoryRules

PASSED_BY_ACCEPT_EDITS = ("edit_file", "multi_edit", "edit_notebook", "apply_patch", "create_file", "copy_file")
NAMES = (
    *PASSED_BY_ACCEPT_EDITS,
    "move_file",
    "delete_file",
    "git_commit",
    "plan",
    "ask_user",
    "read_file",
    "mcp__a__b",
)
GIT_HOOK = "/w/.git/hooks/pre-commit"


def named(name: str, risk: ToolRisk, *, read_only: bool) -> Tool:
    async def run(context: ToolContext, path: str = ".") -> str:
        return path

    run.__name__ = name
    return tool(risk=risk, category=ToolCategory.AGENT, kind="other", title=name, read_only=read_only)(run)


tools = st.builds(named, st.sampled_from(NAMES), st.sampled_from(ToolRisk), read_only=st.booleans())
modes = st.sampled_from(["default", "accept_edits", "plan", "trust", "bypass"])
hook_decisions = st.sampled_from([None, "allow", "ask", "deny"])
decisions = st.sampled_from(["allow", "ask", "deny"])
origins = st.sampled_from(["user", "workspace", "command_line", "editor", "environment"])
rules = st.lists(
    st.tuples(decisions, st.sampled_from(["", "(a.py)", "(b.py)", "(**)"]), origins, st.booleans()), max_size=5
)


def expected(
    asked: Tool, mode: Mode, counting: set[RuleDecision], said: HookDecision | None, *, is_git_hook: bool
) -> tuple[str, str]:
    """The eight steps, as they are written down."""
    plans = asked.name in ("plan", "ask_user")
    accepted = mode == "accept_edits" and asked.name in PASSED_BY_ACCEPT_EDITS
    steps: list[tuple[bool, tuple[str, str]]] = [
        (is_git_hook and not asked.read_only, ("deny", "rule")),
        ("deny" in counting, ("deny", "rule")),
        (mode == "plan" and not asked.read_only and not plans, ("deny", "mode")),
        (said == "deny", ("deny", "hook")),
        (said == "ask", ("ask", "hook")),
        ("ask" in counting, ("ask", "rule")),
        ("allow" in counting, ("allow", "rule")),
        (said == "allow", ("allow", "hook")),
        (accepted or (mode == "trust" and asked.risk is ToolRisk.MEDIUM) or mode == "bypass", ("allow", "mode")),
        (asked.risk is ToolRisk.LOW, ("allow", "mode")),
        (True, ("ask", "mode")),
    ]
    return next(verdict for holds, verdict in steps if holds)


@given(tools, modes, rules, st.booleans(), hook_decisions)
def test_the_first_step_that_has_an_answer_decides(
    asked: Tool,
    mode: Mode,
    given_rules: list[tuple[RuleDecision, str, RuleOrigin, bool]],
    is_git_hook: bool,
    said: HookDecision | None,
) -> None:
    every = [
        Rule(text=(asked.name if is_own else "other_tool") + pattern, decision=decision, origin=origin)
        for decision, pattern, origin, is_own in given_rules
    ]
    counting: set[RuleDecision] = {
        decision
        for decision, pattern, _, is_own in given_rules
        if is_own and pattern != "(b.py)" and not (asked.name.startswith("mcp__") and pattern)
    }
    policy = Policy(rules=tuple(every[::2]), may_bypass=True, protected=Protected(home="/home/me"))
    permissions = Permissions(mode, MemoryRules(*every[1::2]), policy)

    hook = HookOutcome(decision=said, reason="why")

    verdict = permissions.decide(asked, ["a.py"], Places(paths=(GIT_HOOK if is_git_hook else "/w/a.py",)), hook)

    assert (verdict.decision, verdict.by) == expected(asked, mode, counting, said, is_git_hook=is_git_hook)
