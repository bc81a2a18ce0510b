"""The `Approver` port on an editor: the client's own permission dialog if it has one, else a message with buttons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from pygent_ls.agent.display_text import capitalized, on_one_line, visible
from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.permissions.choices import TITLES, PermissionChoice, choices_for, prefix_shown
from pygent_ls.agent.ports.approver import PermissionAnswer, PermissionOutcome, PermissionRequest
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.editors.lsp.capabilities import ClientFeatures
from pygent_ls.editors.lsp.ports.dialogs import ask_in_its_form, chosen_title
from pygent_ls.editors.lsp.ports.side_document import document_beside
from pygent_ls.editors.lsp.protocol.permissions import (
    PermissionCancelledOut,
    PermissionOptionOut,
    PermissionRequestOut,
    PermissionResult,
    RuleSuggestionOut,
)
from pygent_ls.editors.lsp.protocol.validation import InvalidValueError, valid
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
from pygent_ls.editors.lsp.standard import MessageType

PERMISSION_REQUEST = "pygent/permission/request"
PERMISSION_CANCELLED = "pygent/permission/cancelled"

ACTIONS: Sequence[PermissionOutcome] = ("allow_once", "allow_session", "allow_always", "reject_once")
"""Actions of the message, in order."""

ACTIONS_OF_HIGH_RISK: Sequence[PermissionOutcome] = ("reject_once", "allow_once", "allow_session", "allow_always")
"""The same actions with `Reject` first, because some clients can choose only the first action."""

OUTCOMES: Mapping[str, PermissionOutcome] = {TITLES[outcome]: outcome for outcome in ACTIONS}

MAX_DIFF_LINES = 12
MAX_DIFF_CHARS = 600
"""Maximum length of the changed lines in a message; VS Code cuts a message at 1,000 characters."""


class LspApprover(Struct, frozen=True, kw_only=True):
    """Asks the user, without a time limit."""

    endpoint: RpcEndpoint
    uri_of: Callable[[Path], str]
    features: ClientFeatures
    state_folder: Callable[[], Path]

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """Ask the user. An answer that was not offered is a `reject_once`."""
        if not self.features.permission_request:
            return await self._approve_in_a_message(request)
        asked = permission_out(request, self.uri_of)
        withdrawn: PermissionCancelledOut = {"permissionId": request.permission_id}
        answer = await ask_in_its_form(
            self.endpoint, PERMISSION_REQUEST, asked, withdrawal=(PERMISSION_CANCELLED, withdrawn)
        )
        return read_answer(answer, choices_for(request))

    async def _approve_in_a_message(self, request: PermissionRequest) -> PermissionAnswer:
        """Ask with `window/showMessageRequest`. A diff that is too long for it is shown in a separate document."""
        lines = _changed_lines(request.changes)
        if len(lines) <= MAX_DIFF_LINES and sum(map(len, lines)) <= MAX_DIFF_CHARS:
            title = await chosen_title(self.endpoint, permission_prompt(request, "\n".join(lines)))
            return _answered(title)
        patch = "".join(visible(change.patch) for change in request.changes)
        folder = self.state_folder() / "permission"
        async with document_beside(self.endpoint, self.features, folder, patch, suffix=".diff") as is_shown:
            diff = "The diff is shown in the opened document." if is_shown else _beginning(lines)
            return _answered(await chosen_title(self.endpoint, permission_prompt(request, diff)))


def _answered(title: str | None) -> PermissionAnswer:
    return PermissionAnswer(outcome=OUTCOMES[title] if title else "reject_once")


def _changed_lines(changes: Sequence[FileChange]) -> list[str]:
    """Return the removed and added lines, below the file names if several files changed."""
    lines: list[str] = []
    for change in changes:
        hunks = visible(change.patch).split("\n@@")[1:]
        lines += [change.path.name] if len(changes) > 1 and hunks else []
        lines += [line for hunk in hunks for line in hunk.split("\n") if line.startswith(("+", "-"))]
    return lines


def _beginning(lines: Sequence[str]) -> str:
    """Return the first lines of a diff, for a client that cannot show documents, and the number of lines left out."""
    shown = [line[: MAX_DIFF_CHARS // MAX_DIFF_LINES] for line in lines[:MAX_DIFF_LINES]]
    return "\n".join([*shown, f"[… {len(lines)} changed lines in total]"])


def permission_prompt(request: PermissionRequest, diff: str = "") -> dict[str, Any]:
    """Return the parameters of `window/showMessageRequest`: question, changes, confinement, and the rule that would be
    stored."""
    description = f"{request.description}\n    " if request.description else ""
    lines = [f"{request.tool_name}: {description}{_message(request)}", diff, capitalized(request.confinement)]
    lines += [f"Always allow adds: {', '.join(map(on_one_line, request.rules))}"] if request.rules else []
    is_high = request.risk is ToolRisk.HIGH
    actions = ACTIONS_OF_HIGH_RISK if is_high else ACTIONS
    offered: list[PermissionOutcome] = [each for each in actions if request.rules or each != "allow_always"]
    return {
        "type": int(MessageType.WARNING if is_high else MessageType.INFO),
        "message": "\n".join(filter(None, lines)),
        "actions": [{"title": TITLES[each]} for each in offered],
    }


def permission_out(request: PermissionRequest, uri_of: Callable[[Path], str]) -> PermissionRequestOut:
    """Return the parameters of `pygent/permission/request`."""
    out: PermissionRequestOut = {
        "permissionId": request.permission_id,
        "sessionId": request.session_id,
        "turnId": request.turn_id,
        "toolCall": {
            "toolId": request.tool_id,
            "toolName": request.tool_name,
            "input": dict(request.input),
            "title": request.title,
            "kind": request.kind,
            "readOnly": request.read_only,
            "locations": [{"uri": uri_of(path)} for path in request.paths],
        },
        "title": request.title,
        "message": _message(request),
        "description": request.description,
        "confinement": request.confinement,
        "risk": request.risk.value,
        "severity": request.severity.value,
        "options": list(map(_option, choices_for(request))),
        "ruleSuggestions": [_suggestion(request, rule) for rule in request.prefix_rules],
        "source": request.source,
    }
    if request.changes:
        out["diff"] = [
            {
                "uri": uri_of(change.path),
                "oldText": change.old_text,
                "newText": change.new_text,
                "patch": change.patch,
            }
            for change in request.changes
        ]
    return out


def read_answer(answer: object, choices: Sequence[PermissionChoice]) -> PermissionAnswer:
    """Return the user's choice and feedback."""
    try:
        given = valid(PermissionResult, answer)
    except InvalidValueError:
        return PermissionAnswer(outcome="reject_once")
    chosen = next((each for each in choices if each.id == given.option_id), None)
    feedback = (given.feedback or "").strip()
    rules = None if given.rules is None else tuple(given.rules)
    if chosen is None:
        return PermissionAnswer(outcome="reject_once", feedback=feedback)
    return chosen.answer(feedback=feedback, rules=rules)


def _message(request: PermissionRequest) -> str:
    """Return what the call will do, and who asks."""
    return request.action + (f" ({request.source})" if request.source else "")


def _option(choice: PermissionChoice) -> PermissionOptionOut:
    option: PermissionOptionOut = {
        "optionId": choice.id,
        "kind": choice.outcome,
        "title": choice.title,
        "key": choice.key,
        "appliesTo": choice.applies_to,
    }
    if choice.rules:
        option["rule"] = choice.rules[0]
        option["rules"] = list(choice.rules)
    return option


def _suggestion(request: PermissionRequest, rule: str) -> RuleSuggestionOut:
    storing = [each for each in choices_for(request, [rule]) if each.rules]
    return {"rule": rule, "title": prefix_shown(rule), "appliesTo": {each.id: each.applies_to for each in storing}}
