"""`pygent/client/…` and `pygent/hooks/…`: tools and hooks that a client registers, and the requests that call them."""

from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from pygent_ls.agent.ports.hooks import HookDecision, HookEvent
from pygent_ls.editors.lsp.protocol.shapes import Params, RiskOut

MAX_TIMEOUT_S = 3_600.0
"""Maximum time limit of a call or a hook: an hour."""

Seconds = Annotated[float, Meta(gt=0, le=MAX_TIMEOUT_S)]


class ClientTool(Params, frozen=True, kw_only=True):
    """A tool of a client. The model is offered it as `editor__NAME`. `inputSchema` is the JSON Schema of its arguments,
    an object. A tool changes something, perhaps for good, unless it has `readOnly`, or `destructive: false`. The risk
    follows from these if it is not given: low, medium or high. Calls of a tool with low risk, which needs `readOnly`,
    are not asked about.

    With `runsPrograms`, changed documents are saved before a call, and changes of files belong to the undo.
    `commandArgument` names an argument with a command line that the client runs in bash: the permission rules that deny
    or ask about `shell` apply to it, and the user is asked about each command. `timeoutS` limits a call; the default is
    60 seconds, the maximum an hour."""

    name: str
    description: str
    input_schema: dict[str, Any]
    read_only: bool = False
    destructive: bool = True
    risk: RiskOut | None = None
    timeout_s: Seconds = 60.0
    runs_programs: bool = False
    command_argument: str = ""


class ClientHook(Params, frozen=True, kw_only=True):
    """A hook callback of a client. `id` is the client's own. `matcher`, a regular expression, must match the whole name
    of the tool; without it, the hook runs for every tool. The default of `timeoutS` is 60 seconds, the maximum an
    hour."""

    id: Annotated[str, Meta(min_length=1, max_length=100)]
    event: HookEvent
    matcher: Annotated[str, Meta(max_length=1_000)] = ""
    timeout_s: Seconds = 60.0


class ToolsRegisterParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/client/registerTools`. A tool replaces the client's earlier one of the same name. The
    model is offered the tools from the next turn on, in the sessions whose turns this client starts."""

    tools: Annotated[list[Any], Meta(extra={"items": ClientTool, "problem": "it must be a list"})]
    """Each is validated on its own, so that an invalid one does not affect the others."""


class RefusedOut(TypedDict):
    """A tool or hook that was not registered, with the reason. `name` is its name or id, as far as it has one."""

    name: str
    problem: str


class ToolsRegisteredOut(TypedDict):
    """The result of `pygent/client/registerTools`: the names of the tools as the model is offered them, and the tools
    that were refused."""

    registered: list[str]
    refused: list[RefusedOut]


class ToolsUnregisterParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/client/unregisterTools`: names as they were registered. A running call of one of them
    ends with an error."""

    names: list[str]


class HooksRegisterParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/hooks/register`. A hook replaces the client's earlier one of the same id. It runs in the
    sessions whose turns this client starts."""

    hooks: Annotated[list[Any], Meta(extra={"items": ClientHook, "problem": "it must be a list"})]
    """Each is validated on its own, so that an invalid one does not affect the others."""


class HooksRegisteredOut(TypedDict):
    """The result of `pygent/hooks/register`: the ids of the hooks, and the hooks that were refused."""

    registered: list[str]
    refused: list[RefusedOut]


class HooksUnregisterParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/hooks/unregister`."""

    ids: list[str]


class UnregisteredOut(TypedDict):
    """The names or ids that were registered, and no longer are."""

    removed: list[str]


class ClientToolCallOut(TypedDict):
    """A call of a client's tool. `arguments` are valid by its schema. `toolId` is the id of the call in the session's
    events, `callId` that of this request for `pygent/client/toolProgress`. `cwd` is the session's folder. The request
    is cancelled with `$/cancelRequest` if the turn is cancelled or the time is over."""

    name: str
    arguments: dict[str, Any]
    callId: str
    toolId: str
    sessionId: str
    turnId: str
    cwd: str


class ClientToolCancelledOut(TypedDict):
    """The call ends without its result: its turn was cancelled, or its time is over. `$/cancelRequest` says so, too."""

    callId: str


class ClientToolContent(Params, frozen=True, kw_only=True):
    """A part of a result: text, or an image as base64 (PNG, JPEG, GIF or WebP)."""

    type: Literal["text", "image"]
    text: str = ""
    data: str = ""


class ClientToolResult(Params, frozen=True, kw_only=True):
    """The result of a call. `isError` tells the model that the call failed. `structured`, any JSON value, is what the
    model reads if `content` has no text. Long results are cut, and kept in full for the model to read on."""

    content: list[ClientToolContent]
    is_error: bool = False
    structured: Any = None


class ClientToolProgress(Params, frozen=True, kw_only=True):
    """The notification `pygent/client/toolProgress`: output of a call that still runs, which the user is shown."""

    call_id: str
    text: str


class ClientHookCallOut(TypedDict):
    """A hook of the client has to run. `input` is the JSON object that a hook command reads (docs/hooks.md)."""

    hookId: str
    input: dict[str, Any]


class ClientHookResult(Params, frozen=True, kw_only=True, rename=None):
    """What the hook decides, as a hook command writes it (docs/hooks.md): its keys are in snake_case. `null` decides
    nothing. `tool_input` is the complete new input of the tool."""

    decision: HookDecision | None = None
    reason: str | None = None
    tool_input: dict[str, Any] | None = None
    context: str | None = None
