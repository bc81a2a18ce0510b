"""What goes out where the user is asked something, to clients that have more for it than a message with buttons."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

from pygent_ls.agent.approver import PermissionOutcome
from pygent_ls.agent.tool import ToolKind
from pygent_ls.editors.lsp.outgoing import LocationOut, RiskOut


class ChoiceOut(TypedDict):
    """An answer that the user may choose."""

    title: str
    description: NotRequired[str]


class QuestionRequestOut(TypedDict):
    """A question of the model. `allowText`: the user may answer in their own words, too, or instead of choosing.

    An empty `sessionId`: the daemon itself asks, outside of any conversation. `secret`: the answer is a key; show no
    character of it, and keep it nowhere. `setup`: no model is set up; the first choice goes on once one is, and has the
    daemon ask for one otherwise."""

    questionId: str
    sessionId: str
    question: str
    choices: list[ChoiceOut]
    allowText: bool
    secret: NotRequired[bool]
    setup: NotRequired[bool]


class QuestionCancelledOut(TypedDict):
    """The question no longer counts: close it."""

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
    """A file as it is and as it would be; both texts are empty for what is not text. `patch` is a unified diff."""

    uri: str
    oldText: str
    newText: str
    patch: str


class PermissionOptionOut(TypedDict):
    """What the user may choose: `key` is its letter, `appliesTo` says what it covers. `rules` is what choosing it
    stores, `rule` the first of them."""

    optionId: str
    kind: PermissionOutcome
    title: str
    key: str
    appliesTo: str
    rule: NotRequired[str]
    rules: NotRequired[list[str]]


class RuleSuggestionOut(TypedDict):
    """A wider rule, which the user may have stored in place of those of the options: `rules` of the answer is then this
    one alone. `appliesTo` says what each option that stores rules covers with it, by its `optionId`."""

    rule: str
    title: str
    appliesTo: dict[str, str]


class PermissionRequestOut(TypedDict):
    """Something is about to happen, and the user is asked.

    To be shown in this order: `description` (the model's words), then `diff` or else `message` (the command line, the
    path with its lines, the URL) in monospace, `confinement` (such as `sandboxed, no network`; empty for a change of
    files), the options, and what the chosen one applies to. `source` is who asks, where it is not the main
    conversation. `risk` is that of the tool, `severity` how grave the call should look. The option `accept_edits` sets
    the mode of the session. `ruleSuggestions` are rules by the first words of the command.
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
    """The prompt is no longer valid: the turn was cancelled, or the mode that was set meanwhile decides. Close it."""

    permissionId: str


class SaveRequestOut(TypedDict):
    """Documents that the agent changed, to be saved: a program is about to read the files."""

    uris: list[str]
