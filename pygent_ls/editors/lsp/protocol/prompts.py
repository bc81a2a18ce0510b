"""Prompts for the user, sent to clients that can show more than a message with buttons."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from pygent_ls.agent.kinds import ToolKind
from pygent_ls.agent.ports.approver import PermissionOutcome
from pygent_ls.editors.lsp.protocol.results import LocationOut, RiskOut


class ChoiceOut(TypedDict):
    """An answer that the user can choose."""

    title: str
    description: NotRequired[str]


class QuestionRequestOut(TypedDict):
    """A question of the model. With `allowText`, the user may also answer in their own words, in addition to a choice
    or instead of one.

    If `sessionId` is empty, the daemon itself asks, outside any conversation. With `secret`, the answer is a key: do
    not show its characters, and do not store it. With `setup`, no model is set up: the first choice continues if one
    has been set up meanwhile; otherwise the daemon asks for one."""

    questionId: str
    sessionId: str
    question: str
    choices: list[ChoiceOut]
    allowText: bool
    secret: NotRequired[bool]
    setup: NotRequired[bool]


class QuestionCancelledOut(TypedDict):
    """The question is no longer valid. Close it."""

    questionId: str


class AskedCallOut(TypedDict):
    """The call that waits for permission; see the event `tool_call`."""

    toolId: str
    toolName: str
    input: dict[str, Any]
    title: str
    kind: ToolKind
    readOnly: bool
    locations: list[LocationOut]


class DiffOut(TypedDict):
    """A file before and after the edit. Both texts are empty if the file is not text. `patch` is a unified diff."""

    uri: str
    oldText: str
    newText: str
    patch: str


class PermissionOptionOut(TypedDict):
    """An option of the user. `key` is its shortcut letter, and `appliesTo` says what it covers. `rules` lists the rules
    that it stores, and `rule` is the first of them."""

    optionId: str
    kind: PermissionOutcome
    title: str
    key: str
    appliesTo: str
    rule: NotRequired[str]
    rules: NotRequired[list[str]]


class RuleSuggestionOut(TypedDict):
    """A wider rule that the user can store instead of the rules of an option: `rules` of the answer then has this rule
    only. `appliesTo` has, by `optionId`, what each option that stores rules then covers."""

    rule: str
    title: str
    appliesTo: dict[str, str]


class PermissionRequestOut(TypedDict):
    """A tool call needs the user's permission.

    Show, in this order: `description` (the model's words); `diff`, or without one `message` (command line, path and
    lines, or URL) in monospace; `confinement` (such as `sandboxed, no network`; empty for changes of files); the
    options; what the selected option applies to. `source` says who asks, if it is not the main conversation. `risk` is
    the risk of the tool, `severity` how serious the call should look. The option `accept_edits` sets the mode of the
    session. `ruleSuggestions` are rules for the first words of the command.
    """

    permissionId: str
    sessionId: str
    turnId: str
    toolCall: AskedCallOut
    title: str
    message: str
    description: str
    confinement: str
    risk: RiskOut
    severity: RiskOut
    diff: NotRequired[list[DiffOut]]
    options: list[PermissionOptionOut]
    ruleSuggestions: list[RuleSuggestionOut]
    source: str


class PermissionCancelledOut(TypedDict):
    """The prompt is no longer valid, because the turn was cancelled or a mode that was set meanwhile decides. Close
    it."""

    permissionId: str


class SaveRequestOut(TypedDict):
    """Documents that the agent changed and that the client should save, because a program is about to read the
    files."""

    uris: list[str]
