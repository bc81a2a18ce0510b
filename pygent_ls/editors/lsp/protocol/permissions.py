"""`pygent/permission/…`: parameters and results of clients, and the permission prompt with its answer."""

from typing import Any, Literal, NotRequired, TypedDict

from pygent_ls.agent.kinds import Mode, ToolKind
from pygent_ls.agent.ports.approver import PermissionOutcome
from pygent_ls.editors.lsp.protocol.shapes import LocationOut, Params, RiskOut


class SetModeParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/permission/setMode`."""

    session_id: str
    mode: Mode


class RulesParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/permission/rules`."""

    session_id: str | None = None


class ForgetParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/permission/forget`."""

    rule: str


class ModeOut(TypedDict):
    """The result of `pygent/permission/setMode`."""

    sessionId: str
    mode: Mode


class RuleOut(TypedDict):
    """A permission rule."""

    rule: str
    decision: Literal["allow", "ask", "deny"]
    origin: str
    stored: bool


class RulesOut(TypedDict):
    """The result of `pygent/permission/rules`."""

    rules: list[RuleOut]


class ForgottenOut(TypedDict):
    """The result of `pygent/permission/forget`."""

    forgotten: bool


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


class PermissionResult(Params, frozen=True, kw_only=True):
    """The option that the user chose. `feedback` is passed to the model. `rules` are stored instead of the option's own
    rules: each must be a rule about this call, and together they must cover it; otherwise the call is rejected."""

    option_id: str
    feedback: str | None = None
    rules: list[str] | None = None
