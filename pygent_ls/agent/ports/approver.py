"""The approver port: asks for permission before something happens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from msgspec import Struct

from pygent_ls.agent.kinds import ToolKind, ToolRisk
from pygent_ls.agent.ports.workspace import FileChange

PermissionOutcome = Literal["allow_once", "allow_session", "allow_always", "reject_once", "reject_always", "cancelled"]


class PermissionRequest(Struct, frozen=True, kw_only=True):
    """Request for the user's permission."""

    permission_id: str
    session_id: str
    turn_id: str
    tool_id: str
    tool_name: str
    input: Mapping[str, Any]
    risk: ToolRisk
    action: str
    """What the call will do: the command line, the path and ±lines, or the URL."""
    rules: tuple[str, ...]
    """Rules that `allow_always` would store, and `reject_always` as denials; empty if no rule could express them."""
    source: str = ""
    """Who asks if it is not the main conversation: `subagent …`."""
    changes: tuple[FileChange, ...] = ()
    title: str = ""
    """The call in one line, shortened."""
    kind: ToolKind = "other"
    read_only: bool = False
    paths: tuple[Path, ...] = ()
    """Paths that the call names."""
    description: str = ""
    """Purpose that the model states; empty if it states none."""
    confinement: str = ""
    """How the call is confined, such as `sandboxed, no network`; empty for file changes."""
    severity: ToolRisk = ToolRisk.HIGH
    """How dangerous the call looks; `risk` only decides whether to ask."""
    prefix_rules: tuple[str, ...] = ()
    """Wider rules by the first words of the command; the user may choose one of them in place of `rules`."""
    covers_session: str = ""
    """What `allow_session` covers if `rules` is empty; empty if it would cover nothing."""
    offers_accept_edits: bool = False
    """Whether the mode `accept_edits` would allow the call."""
    needs_person: bool = False
    """Whether a rule of the administrator asks: an approver that does not ask a person rejects the call."""


class PermissionAnswer(Struct, frozen=True, kw_only=True):
    """The user's answer; the model reads `feedback` whatever the outcome."""

    outcome: PermissionOutcome
    feedback: str = ""
    by: Literal["user", "mode", "rule", "hook"] = "user"
    """Who decided: `mode` if no user could be asked, `mode` or `rule` if a change of settings settled the question
    meanwhile, `hook` if a hook answered. `feedback` then says why."""
    rules: tuple[str, ...] | None = None
    """Rules to store in place of the request's; None if the user did not change them."""
    accepts_edits: bool = False
    """Whether the session's mode becomes `accept_edits`."""
    input: Mapping[str, Any] | None = None
    """Input with which an allowed call runs; None for the requested input."""

    @property
    def allowed(self) -> bool:
        """Whether the call may run."""
        match self.outcome:
            case "allow_once" | "allow_session" | "allow_always":
                return True
            case "reject_once" | "reject_always" | "cancelled":
                return False


class Approver(Protocol):
    """Asks the user for permission."""

    async def approve(self, request: PermissionRequest) -> PermissionAnswer:
        """Return the user's answer. Every invalid answer (none, unknown, an error, a client that disconnected) is a
        `reject_once`. Cancelling withdraws the prompt."""
        ...
