"""`pygent/background/…`: parameters and results."""

from typing import Literal, TypedDict

from pygent_ls.editors.lsp.protocol.shapes import Params


class BackgroundStopParams(Params, frozen=True, kw_only=True):
    """Parameters of `pygent/background/stop`, which stops a background command and all processes that it started. It
    also works while a turn runs."""

    session_id: str
    id: str


class BackgroundCommandOut(TypedDict):
    """A background command of a session, or a subagent in the background (`kind`), whose `command` is its task in a few
    words, and whose output is what it does, and its report. `id` is the model's `shell_id`. `exitCode` is null while
    the command runs, and negative for a signal. `ending` describes how the command ended, or that it still runs.
    `lastOutput` is the end of its output, at most 4000 characters, whether or not the model has read it."""

    id: str
    kind: Literal["command", "agent"]
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
