"""What goes out: lists, and what the daemon says of itself."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from pygent_ls.agent.permissions import Mode


class AcceptedOut(TypedDict):
    """The result of `pygent/turn/steer` and `pygent/turn/retry`: false where it comes too late, or for another turn."""

    accepted: bool


class QueuedTurnOut(TypedDict):
    """A turn that waits: for the turn before it, or, where `held`, until `pygent/turn/resume` or `pygent/turn/dequeue`,
    since the daemon that accepted its prompt ended before the turn began."""

    turnId: str
    prompt: str
    held: NotRequired[Literal[True]]


class QueueOut(TypedDict):
    """The result of `pygent/turn/queue`."""

    items: list[QueuedTurnOut]


class RemovedOut(TypedDict):
    """The result of `pygent/turn/dequeue`."""

    removed: bool


class BackgroundCommandOut(TypedDict):
    """A background command of a session. `id` is the model's `shell_id`; `exitCode` is null while the command runs, and
    negative for a signal. `ending` says in words how it ended, or that it runs. `lastOutput` is the end of what it
    wrote, at most 4000 characters, whether the model has read it or not."""

    id: str
    command: str
    startedAt: str
    running: bool
    exitCode: int | None
    stoppedByUser: bool
    ending: str
    lastOutput: str


class BackgroundCommandsOut(TypedDict):
    """The result of `pygent/background/list`, the oldest first; the last 32 that ended are among them."""

    commands: list[BackgroundCommandOut]


class StoppedOut(TypedDict):
    """The result of `pygent/background/stop`: false if the command had ended already."""

    stopped: bool


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


class ToolOut(TypedDict):
    """A tool that the model is offered."""

    name: str
    description: str
    risk: Literal["low", "medium", "high"]
    readOnly: bool
    schema: dict[str, Any]


class ToolsOut(TypedDict):
    """The result of `pygent/tools/list`."""

    tools: list[ToolOut]


class AgentOut(TypedDict):
    """A variant of the agent. `model` and `mode` are its own; null where the session's or the settings' count."""

    name: str
    description: str
    model: str | None
    mode: Mode | None


class AgentsOut(TypedDict):
    """The result of `pygent/agents/list`."""

    agents: list[AgentOut]


class ModelOut(TypedDict):
    """A model that can be named. `reason` says what it lacks where it is not `available`, as far as can be told;
    `keyVariable` is where the key of its provider is looked for, and `lacksKey` says that this is what it lacks."""

    name: str
    available: bool
    reason: NotRequired[str]
    keyVariable: NotRequired[str]
    lacksKey: NotRequired[Literal[True]]


class ModelsOut(TypedDict):
    """The result of `pygent/models/list`."""

    models: list[ModelOut]


class DefaultsOut(TypedDict):
    """What a session has for which nothing is chosen, as the settings are now; those of a workspace that is not trusted
    do not count."""

    model: str
    agent: str
    mode: Mode


class KeysOut(TypedDict):
    """The result of `pygent/keys/set`: the variables that hold a key of the editor's now."""

    variables: list[str]


class ModelsChangedOut(TypedDict):
    """`pygent/models/changed`, for clients with `chatPanel`: another model is the default one, or others can be called.
    What `pygent/models/list` and `pygent/status` said is no longer true."""


class StatusOut(TypedDict):
    """The result of `pygent/status`. `model` is as the last turn found it, `defaults` are what a session has that is
    made now, and `modes` those that may be set: `bypass` where the user's own file allows it, only `plan` where the
    workspace is restricted. `needsModel`: no model is named and no key is found, so a prompt is answered with the offer
    to set one up."""

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
