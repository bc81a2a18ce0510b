"""What the two sides say of themselves in `initialize`, each in its `capabilities.experimental.pygent`."""

from __future__ import annotations

from typing_extensions import TypedDict


class ClientCapabilities(TypedDict, total=False):
    """What a client has beyond LSP; what is missing is false."""

    saveDocuments: bool
    """It answers `pygent/client/save`."""
    questionRequest: bool
    """It answers `pygent/question/request`."""
    permissionRequest: bool
    """It answers `pygent/permission/request`."""
    reviewRequest: bool
    """It answers `pygent/review/request`."""
    contextUpdates: bool
    """It sends `pygent/context/didChange`."""
    textDigests: bool
    """It makes an edit of a document without a version only where that holds the text of its `digest`."""
    chatPanel: bool
    """It shows conversations itself: commands write no chat document."""
    restricted: bool
    """It does not trust the workspace: until the next `initialize` only tools that read run there."""
    windowId: str
    """Its own name for the window, the same when that is loaded anew: at a socket with `--linger` its turns go on."""


class ServerCapabilities(TypedDict):
    """What the daemon answers: the requests and the events that it has, the model of sessions that choose none,
    whether the workspace is restricted, its process, and the sessions whose turns went on while the window was away."""

    protocolVersion: int
    methods: list[str]
    events: list[str]
    model: str
    restricted: bool
    processId: int
    resumed: list[str]
    """The sessions whose turns went on while the window was away."""
