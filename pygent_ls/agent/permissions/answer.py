"""Rules that an answer to a permission prompt stores, and the reasons why they may be refused."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from pygent_ls.agent.ports.approver import PermissionAnswer
from pygent_ls.agent.rules.matcher import Match, allows, concerns
from pygent_ls.agent.rules.rule import Rule, parse
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.errors import SettingError


def with_rules(
    answer: PermissionAnswer, proposed: Sequence[str], tool: Tool, subjects: Sequence[str]
) -> tuple[PermissionAnswer, str]:
    """Return the answer with the rules that it stores: the proposed ones, unless the user gave their own.

    The user's rules may be wider or narrower, but each must apply to this call, and rules that allow must cover all of
    it. Otherwise the answer becomes `reject_once`, and the second value is a message for the user. If no rules were
    proposed, none can be stored.
    """
    if answer.outcome not in ("allow_session", "allow_always", "reject_always") or not proposed:
        return replace(answer, rules=()), ""
    if answer.rules is None:
        return replace(answer, rules=tuple(proposed)), ""
    problem = _problem(answer, tool, subjects)
    return (replace(answer, outcome="reject_once", rules=()), problem) if problem else (answer, "")


def _problem(answer: PermissionAnswer, tool: Tool, subjects: Sequence[str]) -> str:
    texts = answer.rules or ()
    rules = [Rule(text=text, decision="allow", origin="session") for text in texts]
    for rule in rules:
        try:
            parse(rule.text)
        except SettingError as error:
            return f"No rule was stored and {tool.name} was rejected: {error}."
        if not rule.is_about(tool.name) or concerns(rule, subjects) is not Match.YES:
            return f"No rule was stored and {tool.name} was rejected: {rule.text} does not apply to this call."
    if rules and answer.allowed and not allows(rules, subjects):
        return f"No rule was stored and {tool.name} was rejected: {', '.join(texts)} does not cover this call."
    return ""
