"""`pygent/status`, `pygent/tools/list`, `pygent/agents/list` and `pygent/mcp/*`: parameters and results."""

from typing import Any, Literal, NotRequired, TypedDict

from pygent_ls.agent.kinds import Mode
from pygent_ls.editors.lsp.protocol.shapes import Params, RiskOut


class ToolOut(TypedDict):
    """A tool that is offered to the model. `source` is `pygent` for a built-in tool, `own` for a tool of the user's
    files or of a package, `mcp:SERVER`, or `editor` for a tool that this client registered."""

    name: str
    description: str
    risk: RiskOut
    readOnly: bool
    schema: dict[str, Any]
    source: str


class ToolsOut(TypedDict):
    """The result of `pygent/tools/list`."""

    tools: list[ToolOut]


class McpServerOut(TypedDict):
    """A configured MCP server. `tools` are the names of its tools, as the model is offered them, `prompts` the names of
    its prompts as slash commands, and `resources` is the number of resources that it lists. `speech` is true if it can
    be used for voice input. `error` says why it is not connected."""

    name: str
    state: Literal["disabled", "starting", "connected", "failed", "needs_sign_in"]
    tools: list[str]
    prompts: list[str]
    resources: int
    speech: bool
    error: NotRequired[str]


class McpStatusOut(TypedDict):
    """The result of `pygent/mcp/status`."""

    servers: list[McpServerOut]


class McpServerParams(Params, frozen=True, kw_only=True):
    """`pygent/mcp/restart`, `log`, `login` and `logout`: a configured MCP server."""

    name: str


class McpRestartedOut(TypedDict):
    """The result of `pygent/mcp/restart`: the server is being started again; `pygent/mcp/changed` follows."""


class McpLoginOut(TypedDict):
    """The result of `pygent/mcp/login`, once the user has signed in with their browser, for which they have 5 minutes.
    The address is opened with `window/showDocument`, or shown as a message. The server is then started again."""


class McpLogoutOut(TypedDict):
    """The result of `pygent/mcp/logout`: whether there were tokens to forget."""

    forgotten: bool


class McpLogOut(TypedDict):
    """The result of `pygent/mcp/log`: the last 500 lines of a server's log, oldest first. It contains the server's
    standard error, the messages that it sends as its log, and changes of its state in brackets."""

    lines: list[str]


class McpChangedOut(TypedDict):
    """The notification `pygent/mcp/changed`, for clients with `chatPanel`: the state of an MCP server, or what it
    offers, has changed. Earlier results of `pygent/mcp/status` and `pygent/tools/list` are out of date."""


class AgentOut(TypedDict):
    """A variant of the agent. `model` and `mode` are its own; if null, those of the session or the settings apply."""

    name: str
    description: str
    model: str | None
    mode: Mode | None


class AgentsOut(TypedDict):
    """The result of `pygent/agents/list`."""

    agents: list[AgentOut]


class DefaultsOut(TypedDict):
    """What a session uses if it chooses nothing, by the current settings. Settings of an untrusted workspace do not
    apply."""

    model: str
    agent: str
    mode: Mode


class StatusOut(TypedDict):
    """The result of `pygent/status`. `model` is the default model as of the last turn, `defaults` what a new session
    uses now. `modes` lists the modes that can be set: `bypass` only if the user's own file allows it, only `plan` if
    the workspace is restricted, and only those that the administrator allows. `needsModel` is true if no model is
    configured and no key is found: the daemon answers a prompt with the offer to set up a model."""

    version: str
    uptimeSeconds: float
    rssBytes: int
    sessions: int
    runningTurns: int
    model: str
    modelReady: bool
    defaults: DefaultsOut
    modes: list[Mode]
    needsModel: bool
