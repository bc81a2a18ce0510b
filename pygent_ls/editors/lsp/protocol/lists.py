"""Results of the list and status requests."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from pygent_ls.agent.kinds import Mode


class AcceptedOut(TypedDict):
    """The result of `pygent/turn/steer` and `pygent/turn/retry`. `accepted` is false if the request came too late or is
    for another turn."""

    accepted: bool


class QueuedTurnOut(TypedDict):
    """A waiting turn. Without `held`, it waits for the turn before it. With `held`, the daemon that accepted its prompt
    ended before the turn began: it waits for `pygent/turn/resume` or `pygent/turn/dequeue`."""

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
    """A background command of a session. `id` is the model's `shell_id`. `exitCode` is null while the command runs, and
    negative for a signal. `ending` describes how the command ended, or that it still runs. `lastOutput` is the end of
    its output, at most 4000 characters, whether or not the model has read it."""

    id: str
    command: str
    startedAt: str
    running: bool
    exitCode: int | None
    stoppedByUser: bool
    ending: str
    lastOutput: str


class BackgroundCommandsOut(TypedDict):
    """The result of `pygent/background/list`, oldest first, including the last 32 commands that ended."""

    commands: list[BackgroundCommandOut]


class StoppedOut(TypedDict):
    """The result of `pygent/background/stop`. `stopped` is false if the command had already ended."""

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
    """A tool that is offered to the model."""

    name: str
    description: str
    risk: Literal["low", "medium", "high"]
    readOnly: bool
    schema: dict[str, Any]


class ToolsOut(TypedDict):
    """The result of `pygent/tools/list`."""

    tools: list[ToolOut]


class AgentOut(TypedDict):
    """A variant of the agent. `model` and `mode` are its own; if null, those of the session or the settings apply."""

    name: str
    description: str
    model: str | None
    mode: Mode | None


class AgentsOut(TypedDict):
    """The result of `pygent/agents/list`."""

    agents: list[AgentOut]


class ModelOut(TypedDict):
    """A model that can be selected. If it is not `available`, `reason` says what is missing, as far as this is known.
    `keyVariable` is the environment variable of its provider's key; `lacksKey` is set if only this key is missing."""

    name: str
    available: bool
    reason: NotRequired[str]
    keyVariable: NotRequired[str]
    lacksKey: NotRequired[Literal[True]]


class ModelsOut(TypedDict):
    """The result of `pygent/models/list`."""

    models: list[ModelOut]


class DefaultsOut(TypedDict):
    """What a session uses if it chooses nothing, by the current settings. Settings of an untrusted workspace do not
    apply."""

    model: str
    agent: str
    mode: Mode


class KeysOut(TypedDict):
    """The result of `pygent/keys/set`: the variables that now have a key from the editor."""

    variables: list[str]


class ModelsChangedOut(TypedDict):
    """The notification `pygent/models/changed`, for clients with `chatPanel`: the default model or the available models
    have changed. Earlier results of `pygent/models/list` and `pygent/status` are out of date."""


class StatusOut(TypedDict):
    """The result of `pygent/status`. `model` is the default model as of the last turn, `defaults` what a new session
    uses now. `modes` lists the modes that can be set: `bypass` only if the user's own file allows it, and only `plan`
    if the workspace is restricted. `needsModel` is true if no model is configured and no key is found: the daemon
    answers a prompt with the offer to set up a model."""

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
