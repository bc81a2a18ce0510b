"""Capabilities of both sides in `initialize`, each in its `capabilities.experimental.pygent`."""

from __future__ import annotations

from typing_extensions import TypedDict


class ClientCapabilities(TypedDict, total=False):
    """Capabilities of a client beyond LSP. A missing capability is false."""

    saveDocuments: bool
    """The client answers `pygent/client/save`."""
    questionRequest: bool
    """The client answers `pygent/question/request`."""
    permissionRequest: bool
    """The client answers `pygent/permission/request`."""
    reviewRequest: bool
    """The client answers `pygent/review/request`."""
    contextUpdates: bool
    """The client sends `pygent/context/didChange`."""
    textDigests: bool
    """The client applies an edit without a document version only if the document has the text of the `digest`."""
    chatPanel: bool
    """The client shows conversations itself; commands do not write a chat document."""
    restricted: bool
    """The user does not trust the workspace; only tools that read run there until the next `initialize`."""
    windowId: str
    """The client's id of its window, kept across reloads. On a socket with `--linger`, its turns continue meanwhile."""


class ServerCapabilities(TypedDict):
    """Capabilities of the daemon: its requests and events, the model of sessions that choose none, whether the
    workspace is restricted, its process id, and the sessions whose turns continued while the client's window was
    disconnected."""

    protocolVersion: int
    methods: list[str]
    events: list[str]
    model: str
    restricted: bool
    processId: int
    resumed: list[str]
    """The sessions whose turns continued while the client's window was disconnected."""
