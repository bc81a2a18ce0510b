"""The order in which a call is decided, for every combination of rules, mode and risk."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.permissions import Mode, Permissions, Places, Policy
from pygent_ls.agent.refusals import Protected
from pygent_ls.agent.rules import Rule, RuleDecision, RuleOrigin
from pygent_ls.agent.tool import Tool, ToolCategory, ToolContext, ToolRisk, tool
from tests.fakes import MemoryRules

PASSED_BY_ACCEPT_EDITS = ("edit_file", "multi_edit", "apply_patch", "create_file", "copy_file")
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
HOOK = "/w/.git/hooks/pre-commit"


def named(name: str, risk: ToolRisk, *, read_only: bool) -> Tool:
    async def run(context: ToolContext, path: str = ".") -> str:
        return path

    run.__name__ = name
    return tool(risk=risk, category=ToolCategory.AGENT, kind="other", title=name, read_only=read_only)(run)


tools = st.builds(named, st.sampled_from(NAMES), st.sampled_from(ToolRisk), read_only=st.booleans())
modes = st.sampled_from(["default", "accept_edits", "plan", "trust", "bypass"])
decisions = st.sampled_from(["allow", "ask", "deny"])
origins = st.sampled_from(["user", "workspace", "command_line", "editor", "environment"])
rules = st.lists(
    st.tuples(decisions, st.sampled_from(["", "(a.py)", "(b.py)", "(**)"]), origins, st.booleans()), max_size=5
)


def expected(asked: Tool, mode: Mode, counting: set[RuleDecision], *, is_hook: bool) -> tuple[str, str]:
    """The eight steps, as they are written down; hooks of the user (4) are not among them here."""
    plans = asked.name in ("plan", "ask_user")
    accepted = mode == "accept_edits" and asked.name in PASSED_BY_ACCEPT_EDITS
    steps: list[tuple[bool, tuple[str, str]]] = [
        (is_hook and not asked.read_only, ("deny", "rule")),
        ("deny" in counting, ("deny", "rule")),
        (mode == "plan" and not asked.read_only and not plans, ("deny", "mode")),
        ("ask" in counting, ("ask", "rule")),
        ("allow" in counting, ("allow", "rule")),
        (accepted or (mode == "trust" and asked.risk is ToolRisk.MEDIUM) or mode == "bypass", ("allow", "mode")),
        (asked.risk is ToolRisk.LOW, ("allow", "mode")),
        (True, ("ask", "mode")),
    ]
    return next(verdict for holds, verdict in steps if holds)


@given(tools, modes, rules, st.booleans())
def test_the_first_step_that_has_an_answer_decides(
    asked: Tool,
    mode: Mode,
    given_rules: list[tuple[RuleDecision, str, RuleOrigin, bool]],
    is_hook: bool,
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

    verdict = permissions.decide(asked, ["a.py"], Places(paths=(HOOK if is_hook else "/w/a.py",)))

    assert (verdict.decision, verdict.by) == expected(asked, mode, counting, is_hook=is_hook)
