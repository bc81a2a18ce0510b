"""Hierarchy of the exceptions that are raised on purpose.

Each branch has one audience: `ToolError` is for the model, `ModelError` for the user, `SessionError` and `SettingError`
for the caller, `SocketError` for the user who starts the command. Messages say what was wrong and what would work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

ModelErrorType = Literal[
    "rate_limit",
    "overloaded",
    "network",
    "timeout",
    "auth",
    "invalid_request",
    "context_window",
    "content_filter",
    "server",
    "unknown",
]

RETRYABLE: frozenset[ModelErrorType] = frozenset({"rate_limit", "overloaded", "network", "timeout", "server"})
"""Error types after which the same request may succeed when sent again."""


class PygentError(Exception):
    """Base class; `str()` of every instance is suitable for users."""


class Quote(NamedTuple):
    """Complete text that an error quotes; its message holds an excerpt."""

    text: str
    path: str
    """Path of the file that contains, or contained, the text."""


class ToolError(PygentError):
    """Failure of a tool call; the text is sent to the model."""

    def __init__(self, message: str = "", quotes: Sequence[Quote] = ()) -> None:
        super().__init__(message)
        self.quotes = tuple(quotes)


class OutsideWorkspaceError(ToolError):
    """Raised for a path that leads out of the workspace folders."""


class FileTooLargeError(ToolError):
    """Raised for a file that is too large to be read whole."""


class NotTextError(ToolError):
    """Raised for a file that is not text."""

    def __init__(self, message: str, *, mime_type: str | None = None) -> None:
        super().__init__(message)
        self.mime_type = mime_type
        """Type of an image in a format that models accept; None for anything else."""


class StaleDocumentError(ToolError):
    """Raised if a document changed since the model last read it; the text quotes the current content."""


class RefusedEditError(ToolError):
    """Raised if the editor refused an edit and none of it was applied."""


class UnprovenEditError(ToolError):
    """Raised if an edit was started but may have been applied only in part, or completely without confirmation."""


class ModelError(PygentError):
    """Failure of a model call. `message` is for the user and contains neither keys nor tracebacks."""

    def __init__(
        self,
        message: str,
        *,
        type: ModelErrorType = "unknown",
        provider: str = "",
        status: int | None = None,
        retry_after_s: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.type: ModelErrorType = type
        self.provider = provider
        self.status = status
        self.retry_after_s = retry_after_s
        """Seconds to wait before the next request, as given by the provider; None if it gave no time."""
        self.request_id = request_id
        """Provider's request id; empty if it gave none."""

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.type in RETRYABLE


class ExhaustedError(ModelError):
    """Raised if the account's credit is used up: waiting does not help, whatever the type."""

    @property
    def retryable(self) -> bool:
        """Always False."""
        return False


class NoToolsError(ModelError):
    """Raised if the model or its server does not support tools: they can be offered and called as text."""

    @property
    def retryable(self) -> bool:
        """Always False: the same tools would be refused again."""
        return False


class SessionError(PygentError):
    """Failure of a request about a session; `kind` is the protocol's `data.kind`."""

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class WorktreeUnavailableError(SessionError):
    """Raised if the worktree of a session cannot be used; the text tells the user why."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="worktree_unavailable")


class SnapshotError(PygentError):
    """Raised if the workspace state cannot be saved or a saved state cannot be read; the text tells the user why."""


class SettingError(PygentError):
    """Invalid setting; the text names the layer, the key and the problem."""


class KeyStoreError(PygentError):
    """Raised if a saved key cannot be read, stored or removed; the text contains no key."""


class KeyringError(KeyStoreError):
    """Raised if the system keyring failed or did not answer; a file may still store the key."""


class SetupError(PygentError):
    """Raised if model setup is not possible here; the text says what would work."""


class SocketError(PygentError):
    """Raised if a daemon's socket cannot be created or reached."""

    def __init__(self, message: str, *, is_misuse: bool = False) -> None:
        super().__init__(message)
        self.is_misuse = is_misuse
        """Whether the path can never hold a socket; otherwise the problem is which process listens there now."""


class FleetError(PygentError):
    """Raised if a fleet cannot start or go on; the text tells the user why."""
