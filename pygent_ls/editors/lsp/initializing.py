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
    chatPanel: bool
    """It shows conversations itself: commands write no chat document."""


class ServerCapabilities(TypedDict):
    """What the daemon answers: the requests and the events that it has, and the model of sessions that choose none."""

    protocolVersion: int
    methods: list[str]
    events: list[str]
    model: str
