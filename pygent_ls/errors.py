"""The tree of everything that is raised on purpose.

Each branch has one reader: `ToolError` speaks to the model, `ModelError` to the user, `SessionError` and
`SettingError` to the caller, `SocketError` to whoever starts the command. Messages say what was wrong and what would
work.
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
"""What may succeed when the same request is sent again."""


class PygentError(Exception):
    """The root; `str()` of any of these is fit to be read by a person."""


class Quote(NamedTuple):
    """The whole of a text that an error quotes, of which the message holds an excerpt."""

    text: str
    path: str
    """The file that it is, or was, in."""


class ToolError(PygentError):
    """A tool could not do what was asked; the text is what the model reads."""

    def __init__(self, message: str = "", quotes: Sequence[Quote] = ()) -> None:
        super().__init__(message)
        self.quotes = tuple(quotes)


class OutsideWorkspaceError(ToolError):
    """A path leads out of the workspace's folders."""


class StaleDocumentError(ToolError):
    """A document changed since the model last read it; the text quotes what it holds now."""


class RefusedEditError(ToolError):
    """The editor refused an edit, and nothing of it was made."""


class UnprovenEditError(ToolError):
    """An edit was begun and is not proven to have been made: a part of it, or all of it, may stand."""


class ModelError(PygentError):
    """A model call failed. `message` is for the user and holds no key and no traceback."""

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
        """Seconds that the provider asks to be left alone; None where it says nothing."""
        self.request_id = request_id
        """The provider's own name for the call; empty where it gave none."""

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.type in RETRYABLE


class ExhaustedError(ModelError):
    """The account has nothing left: waiting does not help, whatever the type."""

    @property
    def retryable(self) -> bool:
        """Never."""
        return False


class NoToolsError(ModelError):
    """The model, or its server, takes no tools: they can be offered and called as text."""

    @property
    def retryable(self) -> bool:
        """Never: the same tools are refused again."""
        return False


class SessionError(PygentError):
    """A request about a session cannot be met; `kind` is the wire's `data.kind`."""

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class SnapshotError(PygentError):
    """The workspace could not be kept, or a kept state not be read; the text says why, for the user."""


class SettingError(PygentError):
    """A setting is invalid; names the layer, the key and the problem."""


class KeyStoreError(PygentError):
    """A saved key cannot be read, kept or removed; the text holds no key."""


class KeyringError(KeyStoreError):
    """The system keyring failed or did not answer; a file may still keep the key."""


class SetupError(PygentError):
    """A first model cannot be set up here; the text says what would work."""


class SocketError(PygentError):
    """A daemon's socket cannot be made, or not be reached."""

    def __init__(self, message: str, *, is_misuse: bool = False) -> None:
        super().__init__(message)
        self.is_misuse = is_misuse
        """No daemon could listen at such a path; else it is a matter of who listens there now."""
