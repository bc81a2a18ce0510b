"""Choices of a permission prompt: the same order, letters and words in every client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from pygent_ls.agent.display_text import on_one_line
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.permissions.prefix_rules import prefix_rules
from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionOutcome, PermissionRequest
from pygent_ls.agent.rules.rule import AnyCall, CommandPrefix, Domain, PathGlob, Rule, WholeCommand, host_of
from pygent_ls.agent.tools.tool import Tool

ACCEPT_EDITS = "accept_edits"
"""Id of the choice that sets the session's mode; the id of any other choice is its outcome."""

TITLES: Mapping[PermissionOutcome, str] = {
    "allow_once": "Allow once",
    "allow_session": "Allow for this session",
    "allow_always": "Always allow",
    "reject_once": "Reject",
    "reject_always": "Always reject",
}

ACCEPT_EDITS_TITLE = "Accept all edits in this session"


class PermissionChoice(Struct, frozen=True, kw_only=True):
    """One offered choice."""

    id: str
    key: str
    """Letter that selects it."""
    title: str
    outcome: PermissionOutcome
    applies_to: str
    """Description of what the answer covers, to follow `Applies to:`."""
    rules: tuple[str, ...] = ()
    """Rules that it stores."""

    def answer(self, *, feedback: str = "", rules: tuple[str, ...] | None = None) -> PermissionAnswer:
        """Return the answer for this choice; `rules` are the user's own in place of the choice's."""
        if self.id == ACCEPT_EDITS:
            return PermissionAnswer(outcome=self.outcome, feedback=feedback, rules=(), accepts_edits=True)
        return PermissionAnswer(outcome=self.outcome, feedback=feedback, rules=rules or self.rules or None)


def choices_for(request: PermissionRequest, rules: Sequence[str] | None = None) -> list[PermissionChoice]:
    """Return the choices to offer, in order. `rules` replace the request's own, as a prefix rule does."""
    return list(_choices(request, tuple(request.rules if rules is None else rules)))


def _choices(request: PermissionRequest, rules: tuple[str, ...]) -> Iterator[PermissionChoice]:
    yield _choice("allow_once", "o", "this call only.")
    what = ", ".join(map(covered_by, rules))
    if rules:
        yield _choice("allow_session", "s", f"{what}, until this session ends.", rules)
        yield _choice("allow_always", "a", f"{what}, in this workspace, until you revoke it.", rules)
    elif request.covers_session:
        yield _choice("allow_session", "s", f"{request.covers_session}, until this session ends.")
    if request.offers_accept_edits:
        yield PermissionChoice(
            id=ACCEPT_EDITS,
            key="e",
            title=ACCEPT_EDITS_TITLE,
            outcome="allow_session",
            applies_to="this edit and all later edits in this session; moves, deletions and commands still ask.",
        )
    yield _choice("reject_once", "r", "this call only.")
    if rules:
        yield _choice("reject_always", "n", f"{what}, in this workspace, until you revoke it.", rules)


def _choice(outcome: PermissionOutcome, key: str, applies_to: str, rules: tuple[str, ...] = ()) -> PermissionChoice:
    return PermissionChoice(
        id=outcome, key=key, title=TITLES[outcome], outcome=outcome, applies_to=applies_to, rules=rules
    )


def covered_by(rule_text: str) -> str:
    """Describe in words what a rule covers."""
    rule = Rule(text=rule_text, decision="allow", origin="session")
    match rule.pattern:
        case CommandPrefix(words=words):
            return f"every command that starts with `{on_one_line(' '.join(words))}`"
        case WholeCommand():
            return "this exact command"
        case Domain(host=host):
            return f"every page on {on_one_line(host)}"
        case PathGlob():
            return on_one_line(rule_text)
        case AnyCall() | None:
            return f"every call to {on_one_line(rule.tool_name)}"


def prefix_shown(rule_text: str) -> str:
    """Return the pattern of a `shell` rule: `npm test:*`."""
    return on_one_line(rule_text.removeprefix("shell(").removesuffix(")"))


def graded_risk(tool: Tool, subjects: Sequence[str]) -> ToolRisk:
    """Return the risk of a call as shown to the user. `Tool.risk` decides whether a call asks; among those that do,
    reading is shown as less risky than an edit, and the project's own checks as less risky than `rm`."""
    if tool.risk is not ToolRisk.HIGH:
        return tool.risk
    if tool.name == "web_fetch" and all(host_of(url) and not urlsplit(url).query for url in subjects):
        return ToolRisk.LOW  # a query may exfiltrate what was read elsewhere
    return ToolRisk.MEDIUM if tool.read_only or prefix_rules(tool, subjects) else ToolRisk.HIGH
